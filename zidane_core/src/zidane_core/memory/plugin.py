"""`memory://`, private to the one who opens it, and `memory://name`, shared within the process."""

from __future__ import annotations

from msgspec.structs import replace

from zidane_core.errors import StoreURLError
from zidane_core.opening import StoreURL, hookimpl
from zidane_core.store import Capabilities

from .data import MemoryData
from .store import MEMORY_CAPABILITIES, MemoryStore

ZIDANE_STORE_API = 1

_named: dict[str, MemoryData] = {}
"""What the named stores hold. It stays for the life of the process, as data does that others may open again."""


@hookimpl
def zidane_store_capabilities(url: StoreURL) -> Capabilities:
    return replace(MEMORY_CAPABILITIES, shared="process" if url.host else "instance")


@hookimpl
def zidane_open_store(url: StoreURL) -> MemoryStore:
    if url.username or url.password or url.port or url.path or len(url.hosts) > 1:
        raise StoreURLError(f"{url}: a memory store has a name or none, as in memory://name")
    if url.host is None:
        return MemoryStore()
    return MemoryStore(data=_named.setdefault(url.host, MemoryData()), name=f"memory://{url.host}")
