"""The plugin behind `jsondir:///path`."""

from __future__ import annotations

import pluggy

from zidane_core.opening import StoreURL
from zidane_core.store import Capabilities, SessionStore

from .store import CAPABILITIES, JsonDirStore

ZIDANE_STORE_API = 1

hookimpl = pluggy.HookimplMarker("zidane")


@hookimpl
def zidane_store_capabilities(url: StoreURL) -> Capabilities:
    return CAPABILITIES


@hookimpl
def zidane_open_store(url: StoreURL) -> SessionStore:
    return JsonDirStore(url.file_path)
