"""Broken between tasks and handles: lost updates, stale caches, locks."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

from msgspec.structs import replace

from tests.conformance.mutants.base import DURABLE, SHARED, MutantStore, mutant
from zidane_core.memory import MemoryData


class WholeDocument(MutantStore):
    """Reads the whole document, gives way, and writes it back over what others wrote meanwhile."""

    async def _write(self, step: Any) -> Any:
        data = copy.deepcopy(self._data)
        answer = step(self.transaction(data, self._scope, self._clock))
        await asyncio.sleep(0)
        self._data.scopes, self._data.rev = data.scopes, data.rev
        return answer


@mutant(
    "append.concurrent-tasks",
    "append.same-turn-at-once",
    "create.concurrent-others",
    "create.concurrent-repeats",
    "guard.compare-and-swap",
    "claim.one-winner",
    "claim.one-displacer",
    "meta.concurrent-patches",
    "send.one-winner",
    "schedule.one-winner",
    "history.edit-amid-appends",
    "history.concurrent-edits",
    "open.first-use-at-once",
)
class LostUpdate(WholeDocument):
    """A write replaces the whole document by what it made of an older one."""


@mutant(
    "append.concurrent-instances",
    "guard.compare-and-swap-instances",
    "meta.concurrent-patches-instances",
    "schedule.one-winner-instances",
    "history.edit-amid-appends-instances",
)
class LockPerInstance(WholeDocument):
    """Writes are read-modify-write under a lock, and every handle has a lock of its own."""

    declared = SHARED

    async def _open(self) -> None:
        self.lock = asyncio.Lock()

    async def _write(self, step: Any) -> Any:
        async with self.lock:
            return await super()._write(step)


@mutant("instances.see-each-other", "claim.across-instances", "operation.through-other-instances")
class PrivateHandles(MutantStore):
    """Handles are declared to share their data, and each has its own."""

    declared = SHARED

    def __init__(self) -> None:
        super().__init__()
        self._data = MemoryData()


@mutant("instances.see-each-other")
class StaleCache(MutantStore):
    """A handle answers from what it once read, until it writes itself."""

    declared = SHARED

    async def _load(self, session_id: str, **kwargs: Any) -> Any:
        cache = self.__dict__.setdefault("cache", {})
        if session_id not in cache:
            cache[session_id] = await super()._load(session_id, **kwargs)
        return cache[session_id]

    async def _write(self, step: Any) -> Any:
        self.__dict__.pop("cache", None)
        return await super()._write(step)


@mutant("operation.through-other-instances", "operation.reopened")
class OperationsInTheHandle(MutantStore):
    """The answers of operations are kept in the handle."""

    declared = DURABLE

    async def _once(self, method: str, keeper: Any, guard: Any, given: Any, kind: Any, step: Any) -> Any:
        kept = self.__dict__.setdefault("kept", {})
        key = guard.op_id
        if key is None or key not in kept:
            kept[key] = await super()._once(method, keeper, replace(guard, op_id=None), given, kind, step)
        return kept[key]


@mutant("claim.across-instances", "claim.reopened")
class ClaimsInTheHandle(MutantStore):
    """Who holds a run is known to the handle that claimed it only."""

    declared = DURABLE

    async def claim_run(self, session_id: str, *, displaces: Any = None, **kwargs: Any) -> Any:
        mine = self.__dict__.setdefault("mine", {})
        entry = self._data.scopes[self._scope].sessions.get(session_id)
        if session_id not in mine and entry is not None:
            displaces = entry.head.epoch
        claim = await super().claim_run(session_id, displaces=displaces, **kwargs)
        mine[session_id] = claim.epoch
        return claim


@mutant("send.reopened", "reopen.all-is-there")
class RequestsInTheHandle(MutantStore):
    """Closing forgets send requests, schedules and artifacts."""

    declared = DURABLE

    async def _close(self) -> None:
        for scope in self._data.scopes.values():
            scope.items.clear()
            for entry in scope.sessions.values():
                entry.items.pop("send", None)


@mutant("reopen.rev-goes-on")
class CounterStartsAgain(MutantStore):
    """The counter of revisions is set, at opening, to what is stored."""

    declared = DURABLE

    async def _open(self) -> None:
        heads = [e.head.rev for scope in self._data.scopes.values() for e in scope.sessions.values()]
        self._data.rev = max([rev for rev in heads if rev < self._data.rev - 1] or [0])


@mutant("reopen.all-is-there", "kill.acknowledged-is-kept")
class NothingIsDurable(MutantStore):
    """The store is declared durable, and opening it finds nothing."""

    declared = DURABLE

    async def _open(self) -> None:
        self._data.scopes.clear()


@mutant("load.one-snapshot")
class LoadInTwoReads(MutantStore):
    """`load` reads the turns, gives way, and then reads the rest."""

    async def _load(self, session_id: str, **kwargs: Any) -> Any:
        first = await super()._load(session_id, **kwargs)
        await asyncio.sleep(0)
        second = await super()._load(session_id, **kwargs)
        return None if first is None or second is None else replace(second, turns=first.turns)


@mutant("turns.tail-amid-appends")
class PagesFromTheEnd(MutantStore):
    """A window is counted from the end of the history as it was when the handle last looked."""

    async def get_turns(
        self, session_id: str, start: int = 0, limit: int | None = None, *, last: int | None = None
    ) -> Any:
        if limit is None or last is not None:
            return await super().get_turns(session_id, start, limit, last=last)
        everything = await super().get_turns(session_id)
        await asyncio.sleep(0)
        grown = len(await super().get_turns(session_id)) - len(everything)
        return everything[max(0, start - grown) :][:limit]
