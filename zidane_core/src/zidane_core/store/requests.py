"""What the checked calls hand to a backend: everything encoded, and nothing left to check but the stored state."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import uuid4

import msgspec

from zidane_core.codec import EncodedRun, EncodedTurn
from zidane_core.records import SessionData, SessionHeader

from .metadata import MetadataChange


class AppendRequest(msgspec.Struct, frozen=True, kw_only=True):
    session_id: str
    turns: Sequence[EncodedTurn]
    create: SessionHeader | None = None
    run: EncodedRun | None = None
    metadata: MetadataChange | None = None


class SnapshotRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A `save` or `save_meta`. `session` is what its header fields are read from; `turns` is None in `save_meta`."""

    session: SessionData
    runs: Sequence[EncodedRun]
    metadata: MetadataChange
    turns: Sequence[EncodedTurn] | None = None
    create: SessionHeader | None = None


class HistoryRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The new history that a mutation made of revision `read_at`; `runs` is None where they stay."""

    session_id: str
    turns: Sequence[EncodedTurn]
    runs: Sequence[EncodedRun] | None
    read_at: int


def header_of(session: SessionData) -> SessionHeader:
    """What creating this session writes. One without a creation id never passes for a repeated creation."""
    return SessionHeader(
        creation_id=session.creation_id or uuid4().hex,
        created_at=session.created_at,
        agent_id=session.agent_id,
        project_root=session.project_root,
        metadata=session.metadata,
        extra=session.extra,
    )
