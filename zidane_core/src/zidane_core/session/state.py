"""What a session knows of itself in memory: its data, what of it is not yet stored, and how far it is known."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import uuid4

from msgspec import UNSET
from msgspec.structs import replace

from zidane_core import codec
from zidane_core.errors import TurnConflictError
from zidane_core.records import SessionData, SessionHeader, SessionRun, SessionTurn, Status
from zidane_core.store import Patch

from .unsaved import Unsaved


class SessionState:
    """Mutable, and owned by one `Session`."""

    def __init__(self, data: SessionData) -> None:
        self.id = data.id
        self.is_stored = data.rev is not None
        self.unsaved = Unsaved()
        self.turns: list[SessionTurn] = []
        self.runs: list[SessionRun] = []
        self.metadata: dict[str, Any] = {}
        self._take(data)

    def _take(self, data: SessionData) -> None:
        self.creation_id = data.creation_id or uuid4().hex
        self.created_at = data.created_at
        self.project_root = data.project_root
        self.extra = data.extra
        self.agent_id: str | None = data.agent_id
        self.status: Status = data.status
        self.updated_at = data.updated_at
        self.metadata.clear()
        self.metadata.update(data.metadata)
        self.put_turns(data.turns)
        self.runs[:] = data.runs
        self.rev = data.rev or 0
        self.complete_at = self.rev
        """The revision up to which all that is stored is known here. 0: of no stored one."""

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

    @property
    def is_complete(self) -> bool:
        """Whether nobody is known to have stored anything that is not here."""
        return self.complete_at == self.rev

    def acknowledge(self, *, rev: int, previous: int) -> None:
        """A write of ours is stored; unless others wrote in between, all that is stored is known here."""
        self.is_stored = True
        if previous == self.complete_at:
            self.complete_at = rev
        self.rev = max(self.rev, rev)

    def distrust(self) -> None:
        """What is here is not made from what is stored: the next run reads that, and the next overwrite compares."""
        self.complete_at = 0

    def refresh(self, data: SessionData) -> None:
        """Take in what is stored, but for what was changed here and not saved yet."""
        unsaved = self.unsaved
        metadata, turns, runs, agent_id = dict(self.metadata), list(self.turns), list(self.runs), self.agent_id
        updated_at = self.updated_at
        self._take(data)
        self.is_stored = True
        if not unsaved.is_based_on(data):
            self.distrust()
        if unsaved.touched:
            self.updated_at = max(self.updated_at, updated_at)
        for key in unsaved.keys:
            self._put_meta(key, metadata.get(key, UNSET))
        if unsaved.agent_id:
            self.agent_id = agent_id
        if unsaved.turns is not None:
            self.put_turns(turns)
        if unsaved.runs is not None:
            self.runs[:] = runs

    def take_unsaved(self) -> Unsaved:
        """The list of what is to be saved now; what changes from here on goes on another one."""
        taken, self.unsaved = self.unsaved, Unsaved()
        return taken

    def put_back(self, unsaved: Unsaved) -> None:
        """Saving it failed."""
        self.unsaved = unsaved.joined_with(self.unsaved)

    def snapshot(self) -> SessionData:
        return SessionData(
            id=self.id,
            created_at=self.created_at,
            updated_at=self.updated_at,
            status=self.status,
            turns=list(self.turns),
            runs=list(self.runs),
            metadata=dict(self.metadata),
            agent_id=self.agent_id,
            project_root=self.project_root,
            creation_id=self.creation_id,
            rev=self.rev if self.is_stored else None,
            extra=self.extra,
        )

    def changes(self, unsaved: Unsaved) -> SessionData:
        """The snapshot to save over what is stored.

        A save is no transition, and in a snapshot `running` keeps whatever status is stored. Nor is it activity unless
        something was touched: 0 keeps the stored `updated_at`, whatever this host's clock says.
        """
        updated_at = self.updated_at if unsaved.touched else 0
        return replace(self.snapshot(), status="running", updated_at=updated_at)

    # -- turns and runs -----------------------------------------------------------------------

    def add_turns(self, turns: Iterable[SessionTurn]) -> None:
        """Add turns at the end; one that is here already is skipped. Raises TurnConflictError."""
        for turn in turns:
            twin = self._turns_by_id.get(turn.id)
            if twin is None:
                self._turns_by_id[turn.id] = turn
                self.turns.append(turn)
                self.unsaved.was_added(turn)
            elif codec.digest(twin) != codec.digest(turn):
                raise TurnConflictError(self.id, turn.id)

    def put_turns(self, turns: Iterable[SessionTurn]) -> None:
        """Make these the history."""
        self.turns[:] = turns
        self._turns_by_id = {turn.id: turn for turn in self.turns}

    def replace_turns(self, turns: Iterable[SessionTurn]) -> None:
        """Make these the history, to be stored by the next save."""
        if self.unsaved.turns is None:
            self.unsaved.turns = list(self.turns)
        self.put_turns(turns)

    def run(self, run_id: str) -> SessionRun:
        for run in self.runs:
            if run.id == run_id:
                return run
        raise ValueError(f"session {self.id!r} has no run {run_id!r}: start_run comes first")

    def put_run(self, run: SessionRun) -> None:
        put_run(self.runs, run)
        if self.unsaved.runs is not None:
            put_run(self.unsaved.runs, run)

    def replace_runs(self, runs: Iterable[SessionRun]) -> None:
        """Make these the runs, to be stored by the next save."""
        if self.unsaved.runs is None:
            self.unsaved.runs = list(self.runs)
        self.runs[:] = runs

    # -- the header ---------------------------------------------------------------------------

    def set_agent_id(self, agent_id: str | None) -> None:
        self.agent_id = agent_id
        self.unsaved.agent_id = True

    def set_meta(self, key: str, value: Any) -> None:
        self._put_meta(key, value)
        self.unsaved.keys.add(key)

    def delete_meta(self, key: str) -> None:
        self.set_meta(key, UNSET)

    def take_meta(self, patch: Patch) -> None:
        """Take in metadata that was stored with a write."""
        for key, value in patch.items():
            self._put_meta(key, value)

    def _put_meta(self, key: str, value: Any) -> None:
        if value is UNSET:
            self.metadata.pop(key, None)
        else:
            self.metadata[key] = value


def put_run(runs: list[SessionRun], run: SessionRun) -> None:
    """Replace the run with its id, or add it."""
    for position, other in enumerate(runs):
        if other.id == run.id:
            runs[position] = run
            return
    runs.append(run)
