"""What readers get, from a head and stored bytes. Pure, and shared by all stores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from zidane_core import codec
from zidane_core.errors import CorruptRecordError
from zidane_core.records import Damage, SessionData, SessionMetaRow, SessionRun, SessionTurn

from .head import Head, quiet_ms


class SessionTexts(NamedTuple):
    """A session whose turns and runs are JSON texts, in order: for handing it on without decoding them."""

    session: SessionData
    """Without turns and runs."""
    turns: list[bytes]
    runs: list[bytes]


def session_of(
    head: Head,
    *,
    turns: Sequence[SessionTurn],
    runs: Sequence[SessionRun],
    metadata: dict[str, Any],
    now: int,
    damage: Sequence[Damage] = (),
) -> SessionData:
    return SessionData(
        id=head.id,
        created_at=head.created_at,
        updated_at=head.updated_at,
        status=head.status,
        turns=turns,
        runs=runs,
        metadata=metadata,
        agent_id=head.agent_id,
        project_root=head.project_root,
        creation_id=head.creation_id,
        run_owner=head.owner,
        rev=head.rev,
        epoch=head.epoch,
        quiet_ms=quiet_ms(head, now),
        damage=list(damage) or None,
        extra=head.extra,
    )


def meta_row_of(
    head: Head, *, metadata: dict[str, Any], first_user_turn: SessionTurn | None, now: int
) -> SessionMetaRow:
    return SessionMetaRow(
        id=head.id,
        updated_at=head.updated_at,
        metadata=metadata,
        turn_count=head.turn_count,
        user_message_count=head.user_message_count,
        run_count=head.run_count,
        created_at=head.created_at,
        status=head.status,
        agent_id=head.agent_id,
        project_root=head.project_root,
        run_owner=head.owner,
        artifact_count=head.artifact_count,
        first_user_turn=first_user_turn,
        rev=head.rev,
        epoch=head.epoch,
        quiet_ms=quiet_ms(head, now),
        extra=head.extra,
    )


def texts_of(session: SessionData, turns: Sequence[bytes], runs: Sequence[tuple[str, bytes]]) -> SessionTexts:
    """The texts of stored turns and runs, their checksums checked. Raises CorruptRecordError."""
    return SessionTexts(
        session,
        [codec.stored_json(raw, session_id=session.id, where=f"turn {at}") for at, raw in enumerate(turns)],
        [codec.stored_json(raw, session_id=session.id, where=f"run {key!r}") for key, raw in runs],
    )


def decode_turns(
    session_id: str, start: int, stop: int, stored: Sequence[bytes], damage: list[Damage] | None = None
) -> list[SessionTurn]:
    """The turns from `start` up to `stop`. One that is damaged or missing raises, or is reported in `damage`."""
    if len(stored) != max(0, stop - start):
        report(missing_turns(session_id, expected=stop - start, found=len(stored)), damage)
    return codec.decode_many(
        SessionTurn,
        stored,
        session_id=session_id,
        where=lambda at: f"turn {start + at}",
        damaged=lambda error: report(error, damage),
    )


def decode_runs(
    session_id: str, stored: Sequence[tuple[str, bytes]], damage: list[Damage] | None = None
) -> list[SessionRun]:
    """The runs of (id, stored) pairs. A damaged one raises, or is reported in `damage`."""
    return codec.decode_many(
        SessionRun,
        [raw for _, raw in stored],
        session_id=session_id,
        where=lambda at: f"run {stored[at][0]!r}",
        damaged=lambda error: report(error, damage),
    )


def missing_turns(session_id: str, *, expected: int, found: int) -> CorruptRecordError:
    return CorruptRecordError(session_id, "the history", f"{expected} turns expected, {found} found")


def report(error: CorruptRecordError, damage: list[Damage] | None) -> None:
    """Raise, or note in `damage` what the answer leaves out."""
    if damage is None:
        raise error
    damage.append(Damage(where=error.where, reason=error.reason))
