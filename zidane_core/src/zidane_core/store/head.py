"""A session's head: the facts that every write judges and moves. Pure, and shared by all stores.

A store fetches the head, asks here, and writes what comes back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from zidane_core.errors import (
    RevisionConflictError,
    RunFencedError,
    RunInProgressError,
    SessionExistsError,
    SessionNotFoundError,
    TurnConflictError,
)
from zidane_core.records import Record, RunOwner, SessionHeader, Status

if TYPE_CHECKING:
    from zidane_core.codec import EncodedTurn

    from .values import Guard


class Head(Record, frozen=True, kw_only=True):
    """All of a session but its turns, runs, metadata and artifacts. `extra` holds the header's unknown keys."""

    id: str
    creation_id: str
    created_at: int
    updated_at: int
    status: Status = "idle"
    rev: int = 0
    agent_id: str | None = None
    project_root: str | None = None
    owner: RunOwner | None = None
    epoch: int | None = None
    """The claim's epoch. A session can be `running` without one: marked by hand, so nobody is fenced."""
    active_at: int = 0
    """When the holder of the run last wrote or renewed, by the store's clock."""
    turn_count: int = 0
    """Also the position that the next turn gets."""
    user_message_count: int = 0
    first_user_at: int | None = None
    """The position of the first user turn."""
    run_count: int = 0
    artifact_count: int = 0


def new_head(session_id: str, header: SessionHeader, now: int) -> Head:
    """The head that a creation writes. `rev` is still 0: the write that carries the creation sets it."""
    return Head(
        id=session_id,
        creation_id=header.creation_id,
        created_at=header.created_at,
        updated_at=now,
        agent_id=header.agent_id,
        project_root=header.project_root,
        extra=header.extra,
    )


def judge_existence(head: Head | None, session_id: str, create: SessionHeader | None) -> None:
    """The second judgement of every write: no ghosts, and creating is not overwriting."""
    if head is None:
        if create is None:
            raise SessionNotFoundError(session_id)
    elif create is not None and create.creation_id != head.creation_id:
        raise SessionExistsError(session_id)


def judge_guard(head: Head, guard: Guard) -> None:
    """The fourth and fifth judgement: the claim's fence, then the expected revision."""
    if guard.fence is not None and guard.fence != head.epoch:
        raise RunFencedError(head.id, fence=guard.fence, epoch=head.epoch)
    if guard.expected_rev is not None and guard.expected_rev != head.rev:
        raise RevisionConflictError(head.id, expected=guard.expected_rev, found=head.rev)


def protect_run(head: Head, guard: Guard, now: int) -> None:
    """While a claim holds, only a write with its fence may touch status, owner or runs."""
    if is_protected(head, guard):
        raise RunInProgressError(head.id, holder=head.owner, quiet_ms=quiet_ms(head, now))


def quiet_ms(head: Head, now: int) -> int | None:
    """How long the run that holds the session has been silent; None where none does."""
    return max(0, now - head.active_at) if head.status == "running" else None


def is_protected(head: Head, guard: Guard) -> bool:
    return head.epoch is not None and guard.fence is None


def moved(head: Head, guard: Guard, *, rev: int, now: int, touch: bool = True) -> Head:
    """The head after a write: its new revision, its recency, and the quiet clock if the write was the run's own."""
    return replace(
        head,
        rev=rev,
        updated_at=max(head.updated_at, now) if touch else head.updated_at,
        active_at=now if guard.fence is not None else head.active_at,
    )


def with_status(head: Head, status: Status, owner: RunOwner | None, now: int) -> Head:
    """`running` records the owner, and keeps the claim that holds; any other status clears the owner and ends it."""
    if status != "running":
        return replace(head, status=status, owner=None, epoch=None)
    return replace(head, status=status, owner=owner if owner is not None else head.owner, active_at=now)


def with_snapshot_status(head: Head, status: Status, guard: Guard) -> Head:
    """A snapshot never starts a run, and never ends one that it does not hold."""
    if status == "running" or is_protected(head, guard):
        return head
    return replace(head, status=status, owner=None, epoch=None)


def claimed(head: Head, owner: RunOwner | None, *, rev: int, now: int) -> Head:
    """The head once a claim is granted: the epoch is the revision of the write that made it."""
    return replace(
        head,
        status="running",
        owner=owner,
        epoch=rev,
        rev=rev,
        active_at=now,
        updated_at=max(head.updated_at, now),
    )


def with_added(head: Head, turns: Sequence[EncodedTurn]) -> Head:
    """The head with the counts after these turns are added at its end."""
    users = [position for position, turn in enumerate(turns, head.turn_count) if turn.role == "user"]
    return replace(
        head,
        turn_count=head.turn_count + len(turns),
        user_message_count=head.user_message_count + len(users),
        first_user_at=head.first_user_at if head.first_user_at is not None or not users else users[0],
    )


def with_cut(head: Head, position: int, removed_roles: Sequence[str]) -> Head:
    """The head once all turns from `position` on are gone."""
    first = head.first_user_at
    return replace(
        head,
        turn_count=position,
        user_message_count=head.user_message_count - removed_roles.count("user"),
        first_user_at=first if first is not None and first < position else None,
    )


def new_turns(session_id: str, turns: Sequence[EncodedTurn], stored: dict[str, str]) -> list[EncodedTurn]:
    """Those of a batch that are neither stored nor twice in it. `stored` maps turn ids to digests.

    Raises:
        TurnConflictError: an id is taken by a turn with other content.
    """
    taken = dict(stored)
    fresh: list[EncodedTurn] = []
    for turn in turns:
        if turn.id not in taken:
            taken[turn.id] = turn.digest
            fresh.append(turn)
        elif taken[turn.id] != turn.digest:
            raise TurnConflictError(session_id, turn.id)
    return fresh


def is_replay(turns: Sequence[EncodedTurn], stored: dict[str, str]) -> bool:
    """The third judgement: whether a batch is stored already, all of it, with equal content."""
    return bool(turns) and all(stored.get(turn.id) == turn.digest for turn in turns)
