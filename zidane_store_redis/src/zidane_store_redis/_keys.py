"""The names of all keys, made here and nowhere else.

Everything of a session, and the index that lists it, lies in one slot of a cluster: the part in braces is what Redis
hashes. Ids are written so that no two share a key, whatever characters they hold.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64encode
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple
from zlib import crc32

_PLAIN = re.compile(r"[A-Za-z0-9_.-]+")

NO_PROJECT = bytes(16)
"""The place of sessions without a project root."""


class SessionKeys(NamedTuple):
    """In the order in which the scripts take them, but for `operations` of the scope."""

    operations: bytes
    operations_before: bytes
    head: bytes
    turns: bytes
    digests: bytes
    runs: bytes
    metadata: bytes
    artifacts: bytes
    sends: bytes
    revision: bytes
    listing: bytes
    expiry: bytes
    places: bytes


class ScopeKeys(NamedTuple):
    """What one tenant has in one shard besides its sessions."""

    operations: bytes
    operations_before: bytes
    listing: bytes
    expiry: bytes
    places: bytes
    schedules: bytes


class Keys:
    """The keys of one store."""

    def __init__(self, prefix: str, shards: int) -> None:
        self.layout = f"{{{prefix}}}:layout".encode()
        self.shards = shards
        self._tags = [f"{{{prefix}:{shard}}}:" for shard in range(shards)]
        self.session = lru_cache(maxsize=1024)(self._session)

    def _session(self, scope: str, session_id: str) -> SessionKeys:
        tag = self._tags[shard_of(session_id, self.shards)]
        tenant = tag + written(scope)
        own = f"{tenant}:s:{written(session_id)}:"
        names = ("ops", "ops-before", "head", "turns", "digests", "runs", "metadata", "artifacts", "sends")
        shared = (f"{tag}rev", f"{tenant}:index", f"{tenant}:expiry", f"{tenant}:places")
        return SessionKeys(*((own + name).encode() for name in names), *(name.encode() for name in shared))

    def scope(self, scope: str, shard: int) -> ScopeKeys:
        tenant = self._tags[shard] + written(scope)
        names = ("ops", "ops-before", "index", "expiry", "places", "schedules")
        return ScopeKeys(*(f"{tenant}:{name}".encode() for name in names))

    def scope_of(self, scope: str, session_id: str) -> ScopeKeys:
        """What is shared by the sessions of one shard."""
        return self.scope(scope, shard_of(session_id, self.shards))

    def scope_of_schedules(self, scope: str) -> ScopeKeys:
        """A scope's schedules lie together, because they are listed in the order in which they were made."""
        return self.scope(scope, shard_of(scope, self.shards))

    def fires(self, scope: str, schedule_id: str) -> bytes:
        tag = self._tags[shard_of(scope, self.shards)]
        return f"{tag}{written(scope)}:fires:{written(schedule_id)}".encode()


def shard_of(text: str, shards: int) -> int:
    """The shard of an id. Frozen: data is found by it."""
    return crc32(text.encode()) % shards


def written(text: str) -> str:
    """An id or scope as it stands in keys: plain ones as they are, others as `~` and base64url; never alike."""
    if _PLAIN.fullmatch(text):
        return text
    return "~" + urlsafe_b64encode(text.encode()).decode().rstrip("=")


def place_of(project_root: str | None) -> bytes:
    """What stands for a project in the index: 16 bytes, so that no root is the beginning of another."""
    return NO_PROJECT if project_root is None else blake2b(project_root.encode(), digest_size=16).digest()
