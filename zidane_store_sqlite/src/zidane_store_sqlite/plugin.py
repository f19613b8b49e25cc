"""The plugin behind `sqlite://` URLs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec
import pluggy

from zidane_core.store import Capabilities, SessionStore

if TYPE_CHECKING:
    from zidane_core.opening.url import StoreURL

ZIDANE_STORE_API = 1

hookimpl = pluggy.HookimplMarker("zidane")


class SqliteOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a `sqlite://` URL; `busy_timeout` is in seconds."""

    synchronous: Literal["full", "normal"] = "full"
    busy_timeout: float = 5.0
    readers: int = 2
    any_file_system: bool = False


@hookimpl
def zidane_store_options() -> type[msgspec.Struct]:
    return SqliteOptions


@hookimpl
def zidane_store_capabilities(url: StoreURL) -> Capabilities:
    from .store import capabilities_of

    return capabilities_of(url.file_path, "full")


@hookimpl
def zidane_open_store(url: StoreURL, options: SqliteOptions) -> SessionStore:
    from .store import SqliteStore

    return SqliteStore(
        url.file_path,
        synchronous=options.synchronous,
        busy_timeout=options.busy_timeout,
        readers=options.readers,
        any_file_system=options.any_file_system,
    )
