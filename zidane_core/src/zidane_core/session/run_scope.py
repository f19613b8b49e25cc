"""What a run and its subagents' runs have in common: a record, turns, and an end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from inspect import isawaitable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import msgspec
from msgspec.structs import replace

from zidane_core.blocks import ContentBlock
from zidane_core.errors import RunFencedError
from zidane_core.records import RunStatus, SessionMessage, SessionRun, SessionRunAgent, SessionTurn

from .heartbeat import undisturbed
from .link import SessionLink
from .prompts import prompt_text, prompt_turn
from .run_records import RunStats, ended_run

if TYPE_CHECKING:
    from .session import Session

Draft: TypeAlias = Callable[[], "Sequence[SessionTurn] | Awaitable[Sequence[SessionTurn]]"]


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
        self._epoch: int | None = None
        """The claim that its writes go under; None without a store."""
        self._is_over = False

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
        """Store turns under the run's claim; a turn without a run id gets this run's.

        Raises as `append_turns`, and RunFencedError once the run is over.
        """
        self._check_going_on()
        await self._session.append_turns([self._own(turn) for turn in turns])

    def draft(self, make: Draft | None) -> None:
        """Name what makes the turns of an output still coming in; they are stored if the run is cut short.

        It is called while the run is being ended, when nothing can be cancelled any more: it must not wait for a model.
        """
        self._draft = make

    def report(self, stats: RunStats) -> None:
        """Record these figures at the end, instead of what the turns report."""
        self._stats = stats

    def child(self, prompt: str | Sequence[ContentBlock] | None, *, call_id: str, label: str | None = None) -> ChildRun:
        """A subagent's run, started by the tool call `call_id`; it shares the claim. RunFencedError once it is over."""
        self._check_going_on()
        request = RunRequest(
            prompt=prompt,
            stale_after_ms=self._request.stale_after_ms,
            label=label,
            parent=self.record,
            parent_call_id=call_id,
        )
        return ChildRun(self._session, self._link, request, epoch=self._epoch)

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

    def _check_going_on(self) -> None:
        """A run object that outlives its run must not write: without a fence now, or under a later run's."""
        if self._is_over or self._epoch != self._link.fence:
            raise RunFencedError(self._session.id, fence=self._epoch or 0, epoch=self._link.fence)

    async def _keep_draft(self, error: BaseException) -> None:
        if self._draft is not None:
            try:
                made = self._draft()
                await self.append(*(await made if isawaitable(made) else made))
            except Exception as failed:  # noqa: BLE001 -- the host's own code, and no reason not to end the run
                error.add_note(f"the draft of run {self._id!r} could not be kept: {failed!r}")

    async def _conclude(self, status: RunStatus, error: BaseException | None) -> None:
        if error is not None:
            await self._keep_draft(error)
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
        except Exception as failed:
            if error is None:
                raise
            error.add_note(f"the end of run {self._id!r} could not be stored: {failed}")


class ChildRun(RunScope):
    """A subagent's run inside another one."""

    def __init__(self, session: Session, link: SessionLink, request: RunRequest, *, epoch: int | None) -> None:
        super().__init__(session, link, request)
        self._epoch = epoch

    async def __aenter__(self) -> Self:
        self._check_going_on()
        await self._record_start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            await self._leave(error)
        finally:
            self._is_over = True


def _one_line(error: BaseException | None) -> str:
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return " ".join(text.split())[:500]
