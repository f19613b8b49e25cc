"""Broken between tasks, handles and event loops: lost updates, stale caches, locks, cancellation, closing."""

from __future__ import annotations

import asyncio
import copy
import threading
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from tests.conformance.mutants.base import DURABLE, SHARED, MutantStore, mutant
from zidane_core.errors import StoreClosedError
from zidane_core.memory import MemoryData
from zidane_core.store import Health


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


# -- cancellation -----------------------------------------------------------------------------


@mutant("cancel.writes")
class NoRollbackOnCancel(MutantStore):
    """A write gives way between its two halves, and a cancelled one keeps the first."""

    async def append_turns(
        self, session_id: str, turns: Any, *, run: Any = None, metadata: Any = None, **kwargs: Any
    ) -> Any:
        await super().append_turns(session_id, turns, **kwargs)
        await asyncio.sleep(0)
        return await super().append_turns(session_id, [], run=run, metadata=metadata)

    async def update_status(self, session_id: str, status: Any, **kwargs: Any) -> Any:
        await super().update_status(session_id, "idle" if status == "running" else "error", **kwargs)
        await asyncio.sleep(0)
        return await super().update_status(session_id, status, **{**kwargs, "create": None})

    async def save(self, session: Any, **kwargs: Any) -> Any:
        await super().save(replace(session, metadata={}), **kwargs)
        await asyncio.sleep(0)
        return await super().save(session)

    async def claim_send_request(self, session_id: str, request_id: str, fingerprint: str, **kwargs: Any) -> Any:
        claim = await super().claim_send_request(session_id, request_id, fingerprint, **kwargs)
        await asyncio.sleep(0)
        await super().patch_meta(session_id, {})
        return claim

    async def upsert_artifact(self, artifact: Any, **kwargs: Any) -> Any:
        await super().upsert_artifact(replace(artifact, label="…"), **kwargs)
        await asyncio.sleep(0)
        return await super().upsert_artifact(artifact)

    async def patch_meta(self, session_id: str, patch: Any, **kwargs: Any) -> Any:
        await super().patch_meta(session_id, {**patch, "pending": True}, **kwargs)
        await asyncio.sleep(0)
        from msgspec import UNSET

        return await super().patch_meta(session_id, {"pending": UNSET})

    async def truncate(self, session_id: str, turn_id: str, **kwargs: Any) -> Any:
        removed = await super().truncate(session_id, turn_id, **kwargs)
        await super().append_turns(session_id, removed[:1])
        await asyncio.sleep(0)
        await super().truncate(session_id, removed[0].id)
        return removed

    async def delete(self, session_id: str, **kwargs: Any) -> Any:
        if await super().load(session_id) is not None and not kwargs:
            await super().save(replace(await super().load(session_id), turns=[]))  # type: ignore[type-var]
            await asyncio.sleep(0)
        return await super().delete(session_id, **kwargs)


@mutant("cancel.then-repeat", "cancel.at-random")
class CancelledIsLostForGood(MutantStore):
    """A cancelled append is remembered as done, so that repeating it does nothing."""

    async def append_turns(self, session_id: str, turns: Any, **kwargs: Any) -> Any:
        done = self.__dict__.setdefault("done", {})
        key = (session_id, *(turn.id for turn in turns))
        if turns and key in done and done[key] is not None and await self.load(session_id) is not None:
            return done[key]
        from zidane_core.store import Written

        done[key] = Written(rev=1)
        try:
            await asyncio.sleep(0)
        except BaseException:
            if kwargs.get("create") is not None:
                await super().append_turns(session_id, [], create=kwargs["create"])
            raise
        done[key] = None
        return await super().append_turns(session_id, turns, **kwargs)


@mutant("cancel.at-random", "cancel.queued")
class CancelledComesLate(MutantStore):
    """A cancelled append is done all the same, some time after others."""

    async def append_turns(self, session_id: str, turns: Any, **kwargs: Any) -> Any:
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            late = [replace(turn, id=f"{turn.id}00") for turn in turns]
            await super().append_turns(session_id, late, **kwargs)
            raise
        return await super().append_turns(session_id, turns, **kwargs)


@mutant("cancel.writes", "cancel.queued")
class LockStaysOnCancel(MutantStore):
    """A cancelled write leaves its lock taken."""

    async def _open(self) -> None:
        self.lock = asyncio.Lock()

    async def _write(self, step: Any) -> Any:
        await self.lock.acquire()
        await asyncio.sleep(0)
        answer = await super()._write(step)
        self.lock.release()
        return answer


@mutant("cancel.writes")
class SwallowsCancellation(MutantStore):
    """A cancelled call answers as if nothing had been."""

    async def _write(self, step: Any) -> Any:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(0)
        return await super()._write(step)


@mutant("cancel.reads")
class AnswersShift(MutantStore):
    """A cancelled read leaves its answer in the connection, where the next read finds it."""

    async def _read(self, step: Any) -> Any:
        waiting = self.__dict__.setdefault("waiting", [])
        answer = await super()._read(step)
        waiting.append(answer)
        await asyncio.sleep(0)
        return waiting.pop(0)


# -- opening and closing ----------------------------------------------------------------------


class _WithThread(MutantStore):
    async def _open(self) -> None:
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.stop.wait, args=(30,), daemon=True, name="mutant")
        self.thread.start()


@mutant("close.leaves-nothing")
class CloseLeaksAThread(_WithThread):
    """Closing leaves a thread behind."""


@mutant("cancel.opening", "cancel.closing")
class CancelledOpenLeaks(_WithThread):
    """An opening or closing that is cancelled leaves its thread behind."""

    async def _open(self) -> None:
        await super()._open()
        await asyncio.sleep(0)

    async def _close(self) -> None:
        await asyncio.sleep(0)
        self.stop.set()
        self.thread.join()


@mutant("close.leaves-nothing")
class CloseLeaksATask(MutantStore):
    """Closing leaves a task running."""

    async def _open(self) -> None:
        self.task = asyncio.get_running_loop().create_task(asyncio.sleep(30), name="mutant")


@mutant("close.refuses-every-call", "open.failing-body")
class ClosedIsOpen(MutantStore):
    """A closed store goes on answering."""

    async def aclose(self) -> None:
        return


@mutant("close.refuses-every-call")
class EmptyAppendOnClosed(MutantStore):
    """An append of nothing does not look whether the store is open."""

    async def append_turns(self, session_id: str, turns: Any, **kwargs: Any) -> Any:
        from zidane_core.store import Written

        if not turns and self._lifecycle._closed:
            return Written(rev=0)
        return await super().append_turns(session_id, turns, **kwargs)


@mutant("close.twice")
class CloseOnce(MutantStore):
    """Closing a closed store is an error."""

    async def aclose(self) -> None:
        if self._lifecycle._closed:
            raise StoreClosedError("mutant")
        await super().aclose()


@mutant("close.amid-calls")
class CloseHangs(MutantStore):
    """Closing waits for calls that wait for it."""

    async def _open(self) -> None:
        self.closed = asyncio.Event()
        self.busy = 0

    async def _write(self, step: Any) -> Any:
        self.busy += 1
        await asyncio.sleep(0)
        if self._lifecycle._closed:
            await self.closed.wait()
        self.busy -= 1
        return await super()._write(step)

    async def _close(self) -> None:
        while self.busy:
            await asyncio.sleep(0.01)
        self.closed.set()


@mutant("open.several-loops")
class BoundToItsFirstLoop(MutantStore):
    """What the first opening made is used by every later one, in whatever event loop."""

    bell: Any = None

    async def _open(self) -> None:
        if type(self).bell is None:
            type(self).bell = asyncio.get_running_loop()
        elif type(self).bell is not asyncio.get_running_loop():
            raise RuntimeError("attached to a different loop")


@mutant("capability.health")
class AlwaysIll(MutantStore):
    """`health` says that the backend is not well."""

    async def _health(self) -> Health:
        return Health(ok=False, backend="mutant")
