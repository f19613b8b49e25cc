"""What of a session was changed in memory and awaits its save."""

from __future__ import annotations

from zidane_core.records import SessionData, SessionRun, SessionTurn


class Unsaved:
    """The changed metadata keys, whether that was activity and the agent id changed, and what was stored where turns or
    runs were replaced.

    The stored history is kept because overwriting it is right only while it still is what the editor saw.
    """

    def __init__(self) -> None:
        self.keys: set[str] = set()
        self.touched = False
        self.agent_id = False
        self.turns: list[SessionTurn] | None = None
        self.runs: list[SessionRun] | None = None

    @property
    def replaces_history(self) -> bool:
        return self.turns is not None or self.runs is not None

    def was_added(self, turn: SessionTurn) -> None:
        """A turn was stored behind the history that is to be replaced."""
        if self.turns is not None:
            self.turns.append(turn)

    def joined_with(self, later: Unsaved) -> Unsaved:
        joined = Unsaved()
        joined.keys = self.keys | later.keys
        joined.touched = self.touched or later.touched
        joined.agent_id = self.agent_id or later.agent_id
        joined.turns = self.turns if self.turns is not None else later.turns
        joined.runs = self.runs if self.runs is not None else later.runs
        return joined

    def is_based_on(self, stored: SessionData) -> bool:
        """Whether what is to be replaced is what is stored."""
        return self.turns in (None, stored.turns) and self.runs in (None, stored.runs)

    def may_overwrite(self, stored: SessionData, wanted: SessionData) -> bool:
        """Whether what is stored is what the replaced turns and runs were made from, or what they are already."""
        return all(
            base is None or now in (base, new)
            for base, now, new in (
                (self.turns, stored.turns, wanted.turns),
                (self.runs, stored.runs, wanted.runs),
            )
        )

    def rebase(self, stored: SessionData) -> None:
        """Take what is stored for what is to be replaced."""
        self.turns = None if self.turns is None else list(stored.turns)
        self.runs = None if self.runs is None else list(stored.runs)
