"""A live session: one conversation's turns, runs and metadata, kept in step with a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import UNSET

from zidane_core import codec
from zidane_core.blocks import ContentBlock
from zidane_core.claims import STALE_AFTER_MS
from zidane_core.errors import StoreError
from zidane_core.messages import close_interrupted_tool_calls, to_wire_messages
from zidane_core.messages.lanes import lane_for_runs, turns_of_lane
from zidane_core.records import (
    SessionArtifact,
    SessionArtifactInput,
    SessionData,
    SessionHistory,
    SessionMessage,
    SessionRun,
    SessionRunAgent,
    SessionTurn,
)
from zidane_core.store import ArtifactFilter, Patch, normalize_artifact_input

from .durations import to_ms
from .lifecycle import RunLifecycle
from .run import ActiveRun
from .run_scope import RunRequest
from .saving import Saving
from .sending import SendRequest


class Session(RunLifecycle, Saving):
    """One conversation. Every member that touches the store is a coroutine; the rest is in memory.

    Made by `create_session`, `load_session` and `open_session`. Its writes go one after another, in the order of the
    calls. What it shows is what was acknowledged: a write that raises leaves it as it was, and may be repeated.
    """

    # -- turns --------------------------------------------------------------------------------

    async def append_turns(
        self, turns: Sequence[SessionTurn], *, run: SessionRun | None = None, metadata: Patch | None = None
    ) -> None:
        """Store turns at the end, with a run record and metadata in the same write, and show them.

        The session keeps what a reload would give, so changing the given objects later changes nothing. Repeating the
        call is harmless.

        Raises:
            TurnConflictError: a turn's id is stored with other content.
            InvalidContentError: JSON cannot hold a turn.
            RunFencedError: this session's own run lost its claim.
        """
        kept = [codec.copy_of(turn) for turn in turns]
        kept_run = None if run is None else codec.copy_of(run)
        patch = {key: value if value is UNSET else codec.check_value(value) for key, value in (metadata or {}).items()}
        await self._link.send(
            lambda store, create, guard: store.append_turns(
                self.id, kept, create=create, run=kept_run, metadata=patch or None, guard=guard
            )
        )
        self._link.state.add_turns(kept)
        if kept_run is not None:
            self._link.state.put_run(kept_run)
        self._link.state.take_meta(patch)

    async def generate_turn_id(self) -> str:
        """A new turn id: the store's where it makes them, and no generator was given."""
        return await self._link.new_turn_id()

    async def heal_interrupted_tool_calls(self) -> bool:
        """Close every tool call whose result was never stored with a synthetic error result; whether any was.

        For whoever owns the session's next run, which `run()` does: while another process still runs the tool, its
        real result would come second. The stored history is healed where it can be without losing what others add;
        a store that fails meanwhile leaves the heal in memory.
        """
        state = self._link.state
        healed = self._closed(SessionHistory(turns=list(state.turns), runs=list(state.runs)))
        if healed is None:
            return False
        try:
            healed = await self._heal_stored(healed)
        except StoreError:  # best effort: the next run reads what is stored, and heals that
            state.distrust()
        state.put_turns(healed.turns)
        return True

    async def to_messages(self, *, run_id: str | None = None, **options: Any) -> list[SessionMessage]:
        """The main conversation, or the one of a run, as messages that any provider takes.

        Options are those of `to_wire_messages`. Calls without results get synthetic ones, here and not in storage, so
        the result must not be stored.
        """
        return await to_wire_messages(turns_of_lane(self.turns, self.runs, run_id), **options)

    def _closed(self, history: SessionHistory) -> SessionHistory | None:
        turns = close_interrupted_tool_calls(
            history.turns,
            lane_for_run=lane_for_runs(history.runs),
            new_id=self._link.new_id,
            now_ms=self._link.clock,
        )
        return None if turns is history.turns else SessionHistory(turns=turns, runs=history.runs)

    async def _heal_stored(self, healed: SessionHistory) -> SessionHistory:
        """Heal what is stored, which may hold more than is known here; the history that it ends up as."""
        state = self._link.state
        if self.store is None or not state.is_stored or state.unsaved.replaces_history:
            return healed  # the next save stores it, if any does
        if not self.store.capabilities.history:
            state.distrust()
            return healed
        result = healed

        def mutate(history: SessionHistory) -> SessionHistory | None:
            nonlocal result
            closed = self._closed(history)
            result = history if closed is None else closed
            return closed

        await self._link.send(lambda store, _, guard: store.mutate_history(self.id, mutate, guard=guard))
        return result

    # -- runs and sends -----------------------------------------------------------------------

    def run(
        self,
        prompt: str | Sequence[ContentBlock] | None = None,
        *,
        stale_after_ms: float | str = STALE_AFTER_MS,
        run_id: str | None = None,
        agent: SessionRunAgent | None = None,
        label: str | None = None,
        resumed_from_run_id: str | None = None,
        interrupted_calls: Literal["close", "keep"] = "close",
    ) -> ActiveRun:
        """A run of this session: `async with session.run(prompt) as run:`.

        Entering claims the session, takes in what others stored, closes calls that a dead run left open (unless
        `interrupted_calls="keep"`, for calls that wait for an approval), and stores the run record and the user turn
        in one write. Inside, `run.append` stores turns under the claim, which is renewed in the background. Leaving
        completes the run, aborts it on cancellation, or records the error.

        Raises:
            RunInProgressError: another run holds the session; it may be displaced once its process is dead, or it has
                been silent for `stale_after_ms` (milliseconds, or text such as "30s").
            UnsupportedError: the store has no claims.
            RunFencedError: another run took over meanwhile; the body is cancelled.
        """
        request = RunRequest(
            prompt=prompt,
            stale_after_ms=to_ms("stale_after_ms", stale_after_ms),
            run_id=run_id,
            agent=agent,
            label=label,
            resumed_from_run_id=resumed_from_run_id,
            interrupted_calls=interrupted_calls,
        )
        return ActiveRun(self, self._link, request)

    def send_request(self, request_id: str, *, fingerprint: str) -> SendRequest:
        """An idempotent send: `async with session.send_request(id, fingerprint=digest) as send:`.

        The first to enter runs the body and calls `send.settle(result)`; whoever comes later with the same id finds
        `send.replayed` true and the first one's `send.result`. Leaving with an error, or without a result, drops the
        claim, so the send can be tried again.

        Raises:
            OperationConflictError: the id was used with another fingerprint.
            SendInProgressError: the first send is still going on.
        """
        return SendRequest(self._link, request_id, fingerprint)

    # -- artifacts ----------------------------------------------------------------------------

    async def add_artifact(
        self,
        artifact: SessionArtifactInput | Mapping[str, Any],
        *,
        run_id: str | None = None,
        turn_id: str | None = None,
    ) -> SessionArtifact | None:
        """Record what the session produced; the stored row.

        None where the store keeps no artifacts, or the input cannot be used: emitting one is best effort.
        """
        given = codec.to_json_object(artifact) if isinstance(artifact, SessionArtifactInput) else artifact
        usable = normalize_artifact_input(given)
        if usable is None or self.store is None or not self.store.capabilities.artifacts:
            return None
        if not self._link.state.is_stored:
            await self._save()
        now = self._link.clock()
        row = SessionArtifact(
            id=self._link.new_id(),
            session_id=self.id,
            kind=usable.kind,
            uri=usable.uri,
            label=usable.label,
            meta=usable.meta,
            project_root=self.project_root if usable.project_root is None else usable.project_root,
            run_id=run_id,
            turn_id=turn_id,
            created_at=now,
            updated_at=now,
        )
        return await self._link.send(lambda store, _, guard: store.upsert_artifact(row, guard=guard), touches=False)

    async def list_artifacts(
        self, *, kind: str | None = None, since: int | None = None, limit: int | None = None
    ) -> list[SessionArtifact]:
        """This session's artifacts, most recently updated first. Empty where the store keeps none."""
        if self.store is None or not self.store.capabilities.artifacts:
            return []
        return await self.store.list_artifacts(ArtifactFilter(session_id=self.id, kind=kind, since=since, limit=limit))

    # -- as data ------------------------------------------------------------------------------

    def to_data(self) -> SessionData:
        """The session as it stands in memory."""
        return self._link.state.snapshot()

    def to_json(self) -> dict[str, Any]:
        """The session as a plain JSON object, as it looks on the wire."""
        return codec.to_json_object(self._link.state.snapshot())
