"""`sqlite:///relative/path.db`, `sqlite:////absolute/path.db` and `sqlite:///:memory:`."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from zidane_core.opening import Seconds, StoreURL, hookimpl
from zidane_core.store import Capabilities

from .store import SqliteStore, capabilities_of

ZIDANE_STORE_API = 1


class SqliteOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The store's own parameters; see `SqliteStore`."""

    synchronous: Literal["full", "normal"] = "full"
    busy_timeout: Seconds = Seconds(5)
    readers: Annotated[int, msgspec.Meta(ge=0)] = 2
    any_file_system: bool = False


@hookimpl
def zidane_store_options() -> type[SqliteOptions]:
    return SqliteOptions


@hookimpl
def zidane_store_capabilities(url: StoreURL) -> Capabilities:
    asked = url.query.get("synchronous", "full")
    path = url.file_path if url.path else "any.db"  # a listing asks about `sqlite://`
    return capabilities_of(path, "normal" if asked == "normal" else "full")


@hookimpl
def zidane_open_store(url: StoreURL, options: SqliteOptions) -> SqliteStore:
    return SqliteStore(
        url.file_path,
        synchronous=options.synchronous,
        busy_timeout=options.busy_timeout,
        readers=options.readers,
        any_file_system=options.any_file_system,
    )
