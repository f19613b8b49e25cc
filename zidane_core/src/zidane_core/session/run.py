"""A run of a session: claimed, recorded, renewed, and ended in the way the body ended."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from inspect import isawaitable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias
from uuid import uuid4

import msgspec
from msgspec.structs import replace

from zidane_core.blocks import ContentBlock
from zidane_core.claims import claim_run, demoted_runs
from zidane_core.errors import RunInProgressError, StoreUnavailableError, ZidaneError
from zidane_core.records import (
    RunStatus,
    SessionHeader,
    SessionMessage,
    SessionRun,
    SessionRunAgent,
    SessionTurn,
    Status,
)
from zidane_core.store import NO_GUARD, Guard, RunClaim, SessionStore

from .heartbeat import Heartbeat, heartbeat, undisturbed
from .link import SessionLink
from .prompts import prompt_text, prompt_turn
from .run_records import RunStats, ended_run

if TYPE_CHECKING:
    from .session import Session

Draft: TypeAlias = Callable[[], "Sequence[SessionTurn] | Awaitable[Sequence[SessionTurn]]"]

_STATUS_AFTER: dict[RunStatus, Status] = {"completed": "completed", "aborted": "idle", "error": "error"}


class RunRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a run was asked for."""

    prompt: str | Sequence[ContentBlock] | None
    stale_after_ms: int
    run_id: str | None = None
    agent: SessionRunAgent | None = None
    label: str | None = None
    resumed_from_run_id: str | None = None
    interrupted_calls: Literal["close", "keep"] = "close"
    parent: SessionRun | None = None
    parent_call_id: str | None = None


class RunScope:
    """What a run and its children have in common: a record, turns, and an end."""

    def __init__(self, session: Session, link: SessionLink, request: RunRequest) -> None:
        self._session, self._link, self._request = session, link, request
        self._id = link.new_id() if request.run_id is None else request.run_id
        self._draft: Draft | None = None
        self._stats: RunStats | None = None

    @property
    def id(self) -> str:
        return self._id

    @property
    def session(self) -> Session:
        return self._session

    @property
    def record(self) -> SessionRun:
        """The run's record as it stands."""
        return self._link.state.run(self._id)

    async def append(self, *turns: SessionTurn) -> None:
        """Store turns under the run's claim; a turn without a run id gets this run's. Raises as `append_turns`."""
        await self._session.append_turns([self._own(turn) for turn in turns])

    def draft(self, make: Draft | None) -> None:
        """Name what makes the turns of an output still coming in; they are stored if the run is cut short."""
        self._draft = make

    def report(self, stats: RunStats) -> None:
        """Record these figures at the end, instead of what the turns report."""
        self._stats = stats

    def child(self, prompt: str | Sequence[ContentBlock] | None, *, call_id: str, label: str | None = None) -> ChildRun:
        """A subagent's run, started by the tool call `call_id`; it shares the claim."""
        request = RunRequest(
            prompt=prompt,
            stale_after_ms=self._request.stale_after_ms,
            label=label,
            parent=self.record,
            parent_call_id=call_id,
        )
        return ChildRun(self._session, self._link, request)

    async def to_messages(self, **options: Any) -> list[SessionMessage]:
        """This run's conversation, ready to send; see `Session.to_messages`."""
        return await self._session.to_messages(run_id=self._id, **options)

    def _own(self, turn: SessionTurn) -> SessionTurn:
        return turn if turn.run_id is not None else replace(turn, run_id=self._id)

    async def _record_start(self) -> None:
        """The run record and the user turn, in one write."""
        session, request, parent = self._session, self._request, self._request.parent
        now = self._link.clock()
        run = SessionRun(
            id=self._id,
            status="running",
            prompt=prompt_text(request.prompt),
            started_at=now,
            agent=request.agent,
            label=request.label,
            depth=0 if parent is None else (parent.depth or 0) + 1,
            parent_run_id=None if parent is None else parent.id,
            parent_call_id=request.parent_call_id,
            resumed_from_run_id=request.resumed_from_run_id,
        )
        turns = []
        if request.prompt is not None:
            turns = [prompt_turn(request.prompt, await session.generate_turn_id(), now, self._id)]
        await session.append_turns(turns, run=run)

    async def _keep_draft(self) -> None:
        if self._draft is not None:
            made = self._draft()
            await self.append(*(await made if isawaitable(made) else made))

    async def _conclude(self, status: RunStatus, error: BaseException | None) -> None:
        if status != "completed":
            await self._keep_draft()
        stats = self._session.totals(self._id) if self._stats is None else self._stats
        message = _one_line(error) if status == "error" else None
        run = ended_run(self.record, status, at=self._link.clock(), stats=stats, error=message)
        await self._store_end(run, status)

    async def _store_end(self, run: SessionRun, status: RunStatus) -> None:
        await self._session.update_run(run)

    async def _leave(self, error: BaseException | None) -> None:
        """Store the end that the body came to; its own error stays the one that is raised."""
        status: RunStatus = "completed" if error is None else "error" if isinstance(error, Exception) else "aborted"
        try:
            await undisturbed(self._conclude(status, error))
        except ZidaneError as failed:
            if error is None:
                raise
            error.add_note(f"the end of run {self._id!r} could not be stored: {failed}")


class ChildRun(RunScope):
    """A subagent's run inside another one."""

    async def __aenter__(self) -> Self:
        await self._record_start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._leave(error)


class ActiveRun(RunScope):
    """The run that holds the session's claim. `async with session.run(prompt) as run:`."""

    _heartbeat: Heartbeat | None = None
    _granted = False

    async def __aenter__(self) -> Self:
        try:
            await self._claim()
            await self._begin()
        except BaseException as error:
            if self._granted:
                await self._leave_unstarted(error)
            raise
        if self._granted:
            self._heartbeat = heartbeat(self._renew, self._request.stale_after_ms / 3_000)
            self._heartbeat.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            lost = None if self._heartbeat is None else await self._heartbeat.stop()
            if lost is not None:
                raise lost
            await self._leave(error)
        finally:
            if self._granted:
                self._link.fence = None

    # -- beginning ----------------------------------------------------------------------------

    async def _claim(self) -> None:
        """Claim the session. Not to be disturbed: a claim that is granted must be known, to be given back."""
        session, store = self._session, self._session.store
        if store is None:
            self._link.state.status = "running"
            return
        guard = Guard(op_id=uuid4().hex) if store.capabilities.operations else NO_GUARD

        async def claim(store: SessionStore, create: SessionHeader | None, _: Guard) -> RunClaim:
            stale_after_ms = self._request.stale_after_ms
            answer = await claim_run(store, session.id, stale_after_ms=stale_after_ms, create=create, guard=guard)
            if answer.claimed:
                self._granted, self._link.fence = True, answer.epoch
                self._link.state.status = "running"
            return answer

        answer = await undisturbed(self._link.send(claim))
        if answer is not None and not answer.claimed:
            raise RunInProgressError(session.id, holder=answer.holder, quiet_ms=answer.quiet_ms)

    async def _begin(self) -> None:
        session = self._session
        state = self._link.state
        if session.store is not None and state.complete_at != state.rev:
            await session.refresh()  # others wrote since it was read
        for run, demoted in zip(list(state.runs), demoted_runs(state.runs), strict=True):
            if run is not demoted:  # the claim shows that nobody holds it
                await session.update_run(demoted)
        if self._request.interrupted_calls == "close":
            await session.heal_interrupted_tool_calls()
        await self._record_start()

    async def _leave_unstarted(self, error: BaseException) -> None:
        """Give the claim back when the run could not begin."""
        try:
            await undisturbed(self._session.update_status("idle"))
        except ZidaneError as failed:
            error.add_note(f"the claim could not be given back: {failed}")
        finally:
            self._link.fence = None

    async def _renew(self) -> None:
        session = self._session
        store, fence = session.store, self._link.fence
        if store is None or fence is None:
            return
        with suppress(StoreUnavailableError):  # the next beat may get through; if none does, the fence tells
            await store.renew_run(session.id, fence=fence)

    # -- ending -------------------------------------------------------------------------------

    async def _store_end(self, run: SessionRun, status: RunStatus) -> None:
        """The run's end and the session's status: one write where the store has `meta`."""
        session = self._session
        state, store, after = self._link.state, session.store, _STATUS_AFTER[status]
        if store is None or not store.capabilities.meta:
            await session.update_run(run)
            await session.update_status(after)
            return
        self._link.touch()
        ended = state.snapshot(runs=[run], status=after)
        await self._link.send(lambda store, _, guard: store.save_meta(ended, keys=(), guard=guard))
        state.put_run(run)
        state.status = after


def _one_line(error: BaseException | None) -> str:
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return " ".join(text.split())[:500]
