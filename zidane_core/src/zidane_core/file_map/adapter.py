"""What a host hands to a file map store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import msgspec


class FileMapAdapter(Protocol):
    """Where a host keeps a map of file names to texts. One store at a time uses it, one call at a time.

    An adapter may say what its `save` survives in an attribute `durable`, as in `Capabilities.durable`; without one
    the store promises nothing.
    """

    async def get(self) -> Mapping[str, str]:
        """The whole map; empty when nothing was saved. A failure to read it raises: it is not an empty map."""
        ...

    async def save(self, files: Mapping[str, str], /) -> None:
        """Replace the whole map: when it raises or is cancelled, the old map or the new one is there, never a mix."""
        ...

    async def delete(self) -> None:
        """Remove the whole map. For the host: the store itself never calls it, since revisions outlive a session."""
        ...


class FileMapStoreOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The names of the files that the store uses; it leaves all others in the map as they are."""

    meta_file: str = "meta.json"
    """Header, metadata, runs, artifacts and the revision counter, as JSON."""
    turns_file: str = "turns.jsonl"
    """A turn on each line, as JSON."""
    send_requests_file: str = "send-requests.json"
    """Claimed send requests, as JSON."""
