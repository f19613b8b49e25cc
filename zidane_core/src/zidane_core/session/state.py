"""What a session knows of itself in memory: its data, what of it is not yet stored, and how far it is known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import uuid4

from zidane_core import codec
from zidane_core.errors import TurnConflictError
from zidane_core.records import SessionData, SessionHeader, SessionRun, SessionTurn, Status
from zidane_core.store import Patch, Written
from zidane_core.store.metadata import change_of_patch


class SessionState:
    """Mutable, and owned by one `Session`."""

    def __init__(self, data: SessionData) -> None:
        self.id = data.id
        self.created_at = data.created_at
        self.project_root = data.project_root
        self.creation_id = data.creation_id or uuid4().hex
        self.is_stored = data.rev is not None
        self.extra = data.extra
        self.dirty_keys: set[str] = set()
        self.turns_replaced = False
        self.runs_replaced = False
        self.turns: list[SessionTurn] = []
        self.runs: list[SessionRun] = []
        self.metadata: dict[str, Any] = {}
        self._take(data)

    def _take(self, data: SessionData) -> None:
        self.agent_id: str | None = data.agent_id
        self.status: Status = data.status
        self.updated_at = data.updated_at
        self.metadata.clear()
        self.metadata.update(data.metadata)
        self.put_turns(data.turns)
        self.runs[:] = data.runs
        self.rev = data.rev or 0
        self.complete_at = self.rev
        """The revision up to which the turns here are all that is stored."""

    # -- storing ------------------------------------------------------------------------------

    @property
    def creation(self) -> SessionHeader | None:
        """What the first write carries, until it is acknowledged."""
        if self.is_stored:
            return None
        return SessionHeader(
            creation_id=self.creation_id,
            created_at=self.created_at,
            agent_id=self.agent_id,
            project_root=self.project_root,
            metadata=dict(self.metadata),
            extra=self.extra,
        )

    def acknowledge(self, *, rev: int, previous: int) -> None:
        """A write of ours is stored; unless others wrote in between, all that is stored is known here."""
        self.is_stored = True
        if previous == self.complete_at:
            self.complete_at = rev
        self.rev = max(self.rev, rev)

    def written(self, written: Written | None) -> None:
        if written is not None:
            self.acknowledge(rev=written.rev, previous=written.previous)

    def refresh(self, data: SessionData) -> None:
        """Take in what is stored, but for what was changed here and not saved yet."""
        unsaved = {key: self.metadata.get(key, _GONE) for key in self.dirty_keys}
        turns, runs = list(self.turns), list(self.runs)
        self._take(data)
        for key, value in unsaved.items():
            self._set(key, value)
        if self.turns_replaced:
            self.put_turns(turns)
        if self.runs_replaced:
            self.runs[:] = runs
        self.is_stored = True

    def snapshot(self, *, runs: Sequence[SessionRun] | None = None, status: Status | None = None) -> SessionData:
        return SessionData(
            id=self.id,
            created_at=self.created_at,
            updated_at=self.updated_at,
            status=self.status if status is None else status,
            turns=list(self.turns),
            runs=list(self.runs if runs is None else runs),
            metadata=dict(self.metadata),
            agent_id=self.agent_id,
            project_root=self.project_root,
            creation_id=self.creation_id,
            rev=self.rev if self.is_stored else None,
            extra=self.extra,
        )

    # -- changes ------------------------------------------------------------------------------

    def add_turns(self, turns: Iterable[SessionTurn]) -> None:
        """Add turns at the end; one that is here already is skipped. Raises TurnConflictError."""
        for turn in turns:
            twin = self._turns_by_id.get(turn.id)
            if twin is None:
                self._turns_by_id[turn.id] = turn
                self.turns.append(turn)
            elif codec.digest(twin) != codec.digest(turn):
                raise TurnConflictError(self.id, turn.id)

    def put_turns(self, turns: Iterable[SessionTurn]) -> None:
        """Make these the history."""
        self.turns[:] = turns
        self._turns_by_id = {turn.id: turn for turn in self.turns}

    def run(self, run_id: str) -> SessionRun:
        for run in self.runs:
            if run.id == run_id:
                return run
        raise ValueError(f"session {self.id!r} has no run {run_id!r}: start_run comes first")

    def put_run(self, run: SessionRun) -> None:
        for position, other in enumerate(self.runs):
            if other.id == run.id:
                self.runs[position] = run
                return
        self.runs.append(run)

    def set_meta(self, key: str, value: Any) -> None:
        self._set(key, value)
        self.dirty_keys.add(key)

    def patch_meta(self, patch: Patch) -> None:
        """Take in metadata that was stored with a write."""
        merged = change_of_patch(patch).apply(self.metadata)
        self.metadata.clear()
        self.metadata.update(merged)

    def delete_meta(self, key: str) -> None:
        self._set(key, _GONE)
        self.dirty_keys.add(key)

    def _set(self, key: str, value: Any) -> None:
        if value is _GONE:
            self.metadata.pop(key, None)
        else:
            self.metadata[key] = value


_GONE: Any = object()
