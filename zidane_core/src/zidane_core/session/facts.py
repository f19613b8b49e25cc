"""What a session is: the read-only side of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from zidane_core.blocks import JsonValue
from zidane_core.records import SessionRun, SessionTurn, Status
from zidane_core.store import SessionStore

from .link import SessionLink
from .views import SequenceView


class SessionFacts:
    """A session's properties."""

    def __init__(self, link: SessionLink, *, interrupted: SessionRun | None = None) -> None:
        self._link = link
        self._interrupted = interrupted

    def __repr__(self) -> str:
        state = self._link.state
        return f"<Session {state.id!r}: {len(state.turns)} turns, {len(state.runs)} runs, {state.status}>"

    # -- what it is ---------------------------------------------------------------------------

    @property
    def id(self) -> str:
        return self._link.state.id

    @property
    def store(self) -> SessionStore | None:
        return self._link.store

    @property
    def agent_id(self) -> str | None:
        return self._link.state.agent_id

    @property
    def project_root(self) -> str | None:
        """The project that the session belongs to; set once, at creation."""
        return self._link.state.project_root

    @property
    def created_at(self) -> int:
        return self._link.state.created_at

    @property
    def updated_at(self) -> int:
        return self._link.state.updated_at

    @property
    def status(self) -> Status:
        return self._link.state.status

    @property
    def metadata(self) -> Mapping[str, JsonValue]:
        """The metadata as a read-only view; `set_meta` and `delete_meta` change it."""
        return MappingProxyType(self._link.state.metadata)

    @property
    def turns(self) -> Sequence[SessionTurn]:
        """The stored history, pristine. What a provider may be sent, `to_messages` makes of it."""
        return SequenceView(self._link.state.turns)

    @property
    def runs(self) -> Sequence[SessionRun]:
        return SequenceView(self._link.state.runs)

    @property
    def is_empty(self) -> bool:
        """Whether it has no turns yet."""
        return not self._link.state.turns

    @property
    def rev(self) -> int:
        """The revision of the newest write or read of this session object; 0 before the first."""
        return self._link.state.rev

    @property
    def interrupted(self) -> SessionRun | None:
        """The newest run that was found dead when the session was loaded."""
        return self._interrupted
