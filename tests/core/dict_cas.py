"""A database in a dict that can compare and swap, and that a test can disturb; and a `CasStore` on it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

import anyio.lowlevel
from msgspec.structs import replace

from zidane_core import codec
from zidane_core.cas import HEAD, CasStore
from zidane_core.cas.transaction import GroupState
from zidane_core.store import full_capabilities

NAME = re.compile(r"[a-z][a-z0-9_-]{0,99}")

Call = tuple[str, str]
"""The primitive and the group."""


class DictBackend:
    """Groups of entries. `before` is told of every primitive's call, and may commit something itself, or raise."""

    def __init__(self) -> None:
        self.groups: dict[str, dict[str, bytes]] = {}
        self.versions: dict[str, int] = {}
        self.calls: list[Call] = []
        self.entries_read = 0
        self.before: Callable[[Call], object] = lambda call: None
        self.after_commit: Callable[[str], object] = lambda group: None

    def note(self, primitive: str, group: str) -> None:
        self.calls.append((primitive, group))
        self.before((primitive, group))

    def bump(self, group: str) -> None:
        """Another writer's commit that changes nothing but the version."""
        entries = self.groups.get(group)
        if entries is not None:
            state = codec.decode(GroupState, entries[HEAD])
            entries[HEAD] = codec.encode_own(replace(state, version=state.version + 1))
            self.versions[group] += 1


class DictStore(CasStore):
    """Every primitive lets other tasks run, also between the entries of one range."""

    def __init__(
        self,
        backend: DictBackend,
        clock: Callable[[], int] = lambda: 1_000,
        *,
        shared: Literal["instance", "process"] = "instance",
    ) -> None:
        super().__init__("dict", full_capabilities(durable="no", shared=shared))
        self._backend, self._clock = backend, clock

    async def get(self, group: str, keys: Sequence[str]) -> Mapping[str, bytes]:
        self._backend.note("get", group)
        await anyio.lowlevel.checkpoint()
        entries = self._backend.groups.get(group, {})
        self._backend.entries_read += len(keys)
        return {key: entries[key] for key in keys if key in entries}

    async def range(self, group: str, start: str, stop: str) -> Iterable[tuple[str, bytes]]:
        self._backend.note("range", group)
        entries = self._backend.groups.get(group, {})
        found: list[tuple[str, bytes]] = []
        for key in sorted(entries, reverse=True):
            if start <= key < stop:
                await anyio.lowlevel.checkpoint()
                if key in entries:
                    found.append((key, entries[key]))
        self._backend.entries_read += len(found)
        return found

    async def commit(self, group: str, version: int, puts: Mapping[str, bytes | None]) -> bool:
        self._backend.note("commit", group)
        await anyio.lowlevel.checkpoint()
        for key, value in puts.items():
            assert NAME.fullmatch(group)
            assert NAME.fullmatch(key)
            assert value is None or "\0" not in value.decode()
        assert puts[HEAD] is not None
        if self._backend.versions.get(group, 0) != version:
            return False
        entries = self._backend.groups.setdefault(group, {})
        entries.update((key, value) for key, value in puts.items() if value is not None)
        for key in [key for key, value in puts.items() if value is None]:
            entries.pop(key, None)
        self._backend.versions[group] = version + 1
        self._backend.after_commit(group)
        await anyio.lowlevel.checkpoint()
        return True

    async def scan(self, prefix: str) -> Iterable[tuple[str, bytes]]:
        self._backend.note("scan", prefix)
        await anyio.lowlevel.checkpoint()
        return [(group, entries[HEAD]) for group, entries in self._backend.groups.items() if group.startswith(prefix)]

    async def now_ms(self) -> int:
        return self._clock()
