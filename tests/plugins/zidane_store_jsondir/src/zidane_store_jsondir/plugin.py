"""The plugin behind `jsondir:///path`."""

from __future__ import annotations

import msgspec
import pluggy

from zidane_core.opening import StoreURL
from zidane_core.store import Capabilities, SessionStore, full_capabilities

from .store import JsonDirStore

ZIDANE_STORE_API = 1

hookimpl = pluggy.HookimplMarker("zidane")


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a `jsondir:///` URL. `?fsync=false` is faster, and survives no power cut."""

    fsync: bool = True


@hookimpl
def zidane_store_options() -> type[msgspec.Struct]:
    return Options


@hookimpl
def zidane_store_capabilities(url: StoreURL) -> Capabilities:
    return full_capabilities(durable="power", shared="host")


@hookimpl
def zidane_open_store(url: StoreURL, options: Options) -> SessionStore:
    return JsonDirStore(url.file_path, fsync=options.fsync)
