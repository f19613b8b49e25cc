"""Broken when cancelled, opened and closed."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from tests.conformance.mutants.base import MutantStore, mutant
from zidane_core.errors import StoreClosedError
from zidane_core.store import Health

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
