"""The run that holds a session: claimed, renewed, and ended in the way its body ended."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Self

from msgspec.structs import replace

from zidane_core.claims import STALE_AFTER_MS, claim_run, demoted_runs
from zidane_core.errors import RunInProgressError, StoreUnavailableError
from zidane_core.records import RunOwner, RunStatus, SessionHeader, SessionRun, Status
from zidane_core.run_owner import Holding
from zidane_core.store import Guard, RunClaim, SessionStore

from .heartbeat import Heartbeat, heartbeat, undisturbed
from .run_scope import RunScope

_STATUS_AFTER: dict[RunStatus, Status] = {"completed": "completed", "aborted": "idle", "error": "error"}


class ActiveRun(RunScope):
    """The run that holds the session's claim. `async with session.run(prompt) as run:`."""

    _heartbeat: Heartbeat | None = None
    _holding: Holding | None = None
    _claim: RunClaim | None = None

    async def __aenter__(self) -> Self:
        try:
            await self._take_claim()
            await self._begin()
            if self._claim is not None:
                self._heartbeat = heartbeat(self._renew, _renewal_interval_s(self._request.stale_after_ms))
                self._heartbeat.start()
        except BaseException as error:
            await self._leave_unstarted(error)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            lost = None if self._heartbeat is None else self._heartbeat.stop(error)
            if lost is not None:
                raise lost
            await self._leave(error)
        finally:
            self._let_go()

    # -- beginning ----------------------------------------------------------------------------

    async def _take_claim(self) -> None:
        session, state = self._session, self._link.state
        if session.store is None:
            if state.status == "running":
                raise RunInProgressError(session.id)
            state.status = "running"
            return
        self._holding = Holding()
        # Not to be disturbed: a claim that is granted must be known, to be given back.
        refused = await undisturbed(self._link.send(partial(self._try_claim, self._holding.owner)))
        if refused is not None and not refused.claimed:
            raise RunInProgressError(session.id, holder=refused.holder, quiet_ms=refused.quiet_ms)

    async def _try_claim(
        self, owner: RunOwner, store: SessionStore, create: SessionHeader | None, guard: Guard
    ) -> RunClaim:
        stale_after_ms = self._request.stale_after_ms
        answer = await claim_run(store, self._session.id, owner=owner, stale_after_ms=stale_after_ms, create=create)
        if answer.claimed:
            self._claim, self._epoch, self._link.fence = answer, answer.epoch, answer.epoch
            self._link.state.status = "running"
        return answer

    async def _begin(self) -> None:
        session = self._session
        state = self._link.state
        if session.store is not None and not state.is_complete:
            await self._link.refresh(keeps_history=True)  # others wrote since it was read
        for run, demoted in zip(list(state.runs), demoted_runs(state.runs), strict=True):
            if run is not demoted:  # the claim shows that nobody holds it
                await session.update_run(demoted)
        if self._request.interrupted_calls == "close":
            await session.heal_interrupted_tool_calls()
        await self._record_start()

    async def _leave_unstarted(self, error: BaseException) -> None:
        """Give the claim back when the run could not begin: the status is what it was, unless its run had died."""
        try:
            if self._claim is not None:
                await undisturbed(self._session.update_status(_settled(self._claim.previous)))
            elif self._session.store is None and not isinstance(error, RunInProgressError):
                self._link.state.status = "idle"
        except Exception as failed:  # noqa: BLE001 -- whatever a store raises, `error` is why
            error.add_note(f"the claim could not be given back: {failed}")
        finally:
            self._let_go()

    def _let_go(self) -> None:
        self._is_over = True
        if self._claim is not None and self._link.fence == self._epoch:
            self._link.fence = None
        if self._holding is not None:
            self._holding.end()

    async def _renew(self) -> None:
        with suppress(StoreUnavailableError):  # the next beat may get through; if none does, the fence tells
            await self._link.required_store().renew_run(self._session.id, fence=self._epoch or 0)

    # -- ending -------------------------------------------------------------------------------

    async def _store_end(self, run: SessionRun, status: RunStatus) -> None:
        """The run's end and the session's status: one write where the store has `meta`."""
        session = self._session
        state, store, after = self._link.state, session.store, _STATUS_AFTER[status]
        if store is None or not store.capabilities.meta:
            await session.update_run(run)
            await session.update_status(after)
            return
        self._link.touch()  # a save moves `updated_at` to what the snapshot says
        ended = replace(state.snapshot(), runs=[run], status=after)
        await self._link.send(lambda store, _, guard: store.save_meta(ended, keys=(), guard=guard), touches=False)
        state.put_run(run)
        state.status = after


def _settled(status: Status) -> Status:
    return "idle" if status == "running" else status


def _renewal_interval_s(stale_after_ms: int) -> float:
    """A third of the patience that others have, whatever this run's own is."""
    return min(max(stale_after_ms, 30), STALE_AFTER_MS) / 3_000
