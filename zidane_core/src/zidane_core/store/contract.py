"""The contract's writes and reads, once, for every backend with transactions.

Each function is one atomic step on a `Transaction`: it fetches, judges with the pure functions of `head`, and writes.
The order of judgement is: existence → all turns already stored → fence → expected revision → conflicting turns. (The
repeated operation, judged before all of them, is `operations.once`.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from zidane_core import codec
from zidane_core.codec import EncodedRun, EncodedTurn
from zidane_core.errors import CorruptRecordError, RevisionConflictError, SessionNotFoundError, TurnNotFoundError
from zidane_core.records import (
    Damage,
    RunOwner,
    SessionData,
    SessionHeader,
    SessionMetaRow,
    SessionRun,
    SessionTurn,
    Status,
)

from . import head as heads
from .head import Head
from .metadata import MetadataChange
from .reading import SessionTexts, decode_runs, decode_turns, meta_row_of, missing_turns, report, session_of, texts_of
from .requests import AppendRequest, HistoryRequest, SnapshotRequest
from .transaction import Transaction
from .values import Guard, RunClaim, SessionFilter, Written

METADATA = "metadata"
RUN = "run"

# -- reading ----------------------------------------------------------------------------------


def load(tx: Transaction, session_id: str, *, skip_damaged: bool = False) -> SessionData | None:
    head = tx.get_head(session_id)
    if head is None:
        return None
    damage: list[Damage] = []
    sink = damage if skip_damaged else None
    turns = read_turns(tx, head, 0, head.turn_count, sink)
    runs = read_runs(tx, session_id, sink)
    metadata = _tolerating(lambda: read_metadata(tx, session_id), {}, sink)
    return session_of(head, turns=turns, runs=runs, metadata=metadata, now=tx.now_ms(), damage=damage)


def load_texts(tx: Transaction, session_id: str) -> SessionTexts | None:
    head = tx.get_head(session_id)
    if head is None:
        return None
    stored = tx.get_turns(session_id, 0, head.turn_count)
    if len(stored) != head.turn_count:
        raise missing_turns(session_id, expected=head.turn_count, found=len(stored))
    session = session_of(head, turns=[], runs=[], metadata=read_metadata(tx, session_id), now=tx.now_ms())
    return texts_of(session, stored, tx.get_items(session_id, RUN))


def get_turns(tx: Transaction, session_id: str, start: int, limit: int | None, last: int | None) -> list[SessionTurn]:
    head = required_head(tx, session_id)
    if last is not None:
        start, limit = max(0, head.turn_count - last), last
    stop = head.turn_count if limit is None else min(head.turn_count, start + limit)
    return read_turns(tx, head, start, stop)


def get_meta(tx: Transaction, session_id: str) -> SessionMetaRow | None:
    head = tx.get_head(session_id)
    return None if head is None else meta_row(tx, head)


def list_meta(
    tx: Transaction, where: SessionFilter, after: tuple[int, str] | None, limit: int | None
) -> list[SessionMetaRow]:
    return [meta_row(tx, head) for head in tx.list_by_recency(where, after=after, limit=limit)]


def meta_row(tx: Transaction, head: Head) -> SessionMetaRow:
    metadata = read_metadata(tx, head.id)
    first = None
    if head.first_user_at is not None and "title" not in metadata:
        first = read_turns(tx, head, head.first_user_at, head.first_user_at + 1)[0]
    return meta_row_of(head, metadata=metadata, first_user_turn=first, now=tx.now_ms())


def required_head(tx: Transaction, session_id: str) -> Head:
    head = tx.get_head(session_id)
    if head is None:
        raise SessionNotFoundError(session_id)
    return head


def read_turns(
    tx: Transaction, head: Head, start: int, stop: int, damage: list[Damage] | None = None
) -> list[SessionTurn]:
    """The turns of a range. A damaged one raises, or is reported in `damage` and left out."""
    stored = tx.get_turns(head.id, start, stop) if stop > start else []
    return decode_turns(head.id, start, stop, stored, damage)


def read_runs(tx: Transaction, session_id: str, damage: list[Damage] | None = None) -> list[SessionRun]:
    return decode_runs(session_id, tx.get_items(session_id, RUN), damage)


def read_metadata(tx: Transaction, session_id: str) -> dict[str, Any]:
    stored = tx.get_item(session_id, METADATA, "")
    if stored is None:
        return {}
    metadata: dict[str, Any] = codec.decode_value(stored, session_id=session_id, where="the metadata")
    return metadata


def _tolerating(read: Any, instead: Any, damage: list[Damage] | None) -> Any:
    try:
        return read()
    except CorruptRecordError as error:
        report(error, damage)
        return instead


# -- writing ----------------------------------------------------------------------------------


def open_head(tx: Transaction, session_id: str, create: SessionHeader | None, guard: Guard) -> Head:
    """The head that a write moves on, judged up to the guard; made here where the write carries the creation."""
    head = judged_head(tx, session_id, create)
    heads.judge_guard(head, guard)
    return head


def judged_head(tx: Transaction, session_id: str, create: SessionHeader | None) -> Head:
    head = tx.get_head(session_id)
    heads.judge_existence(head, session_id, create)
    if head is None:
        assert create is not None  # noqa: S101 -- judged just now
        head = heads.new_head(session_id, create, tx.now_ms())
        write_metadata(tx, head.id, MetadataChange(values=dict(create.metadata), replaces_all=True))
    return head


def append_turns(tx: Transaction, request: AppendRequest, guard: Guard) -> Written:
    head = judged_head(tx, request.session_id, request.create)
    stored = tx.get_digests(head.id, [turn.id for turn in request.turns]) if request.turns and head.turn_count else {}
    if heads.is_replay(request.turns, stored):
        return Written(rev=head.rev, previous=head.rev)
    heads.judge_guard(head, guard)
    fresh = heads.new_turns(head.id, request.turns, stored)
    if request.run is not None:
        heads.protect_run(head, guard, tx.now_ms())
        head = write_runs(tx, head, [request.run])
    elif not fresh and request.metadata is None and head.rev:
        return Written(rev=head.rev, previous=head.rev)
    if request.metadata is not None:
        write_metadata(tx, head.id, request.metadata)
    tx.add_turns(head.id, head.turn_count, fresh)
    return finish(tx, heads.with_added(head, fresh), guard, added=len(fresh))


def save(tx: Transaction, request: SnapshotRequest, guard: Guard) -> Written:
    head = open_head(tx, request.session.id, request.create, guard)
    if head.epoch is not None and _differ(tx, head, request.runs, replaces_all=request.turns is not None):
        heads.protect_run(head, guard, tx.now_ms())
    added = 0
    if request.turns is not None:
        head, added = replace_turns(tx, head, request.turns)
        head = drop_other_runs(tx, head, request.runs)
    head = write_runs(tx, head, request.runs)
    write_metadata(tx, head.id, request.metadata)
    head = heads.with_snapshot_status(_with_header(head, request.session), request.session.status, guard)
    return finish(tx, head, guard, touch=False, added=added)


def patch_meta(tx: Transaction, session_id: str, change: MetadataChange, guard: Guard) -> Written:
    head = open_head(tx, session_id, None, guard)
    write_metadata(tx, session_id, change)
    return finish(tx, head, guard, touch=False)


def replace_history(tx: Transaction, request: HistoryRequest, guard: Guard) -> Written | None:
    head = open_head(tx, request.session_id, None, guard)
    if head.rev != request.read_at:
        raise RevisionConflictError(head.id, expected=request.read_at, found=head.rev)
    new_runs = request.runs is not None and _differ(tx, head, request.runs, replaces_all=True)
    after, added = replace_turns(tx, head, request.turns)
    if new_runs and request.runs is not None:
        heads.protect_run(head, guard, tx.now_ms())
        after = write_runs(tx, drop_other_runs(tx, after, request.runs), request.runs)
    elif not added and after.turn_count == head.turn_count:
        return None
    return finish(tx, after, guard, added=added)


def truncate(tx: Transaction, session_id: str, turn_id: str, guard: Guard) -> list[SessionTurn]:
    head = open_head(tx, session_id, None, guard)
    position = tx.find_turn(session_id, turn_id)
    if position is None:
        raise TurnNotFoundError(session_id, turn_id)
    removed = read_turns(tx, head, position, head.turn_count)
    tx.cut_turns(session_id, position)
    finish(tx, heads.with_cut(head, position, [turn.role for turn in removed]), guard)
    return removed


def update_run(tx: Transaction, request: AppendRequest, guard: Guard) -> Written:
    head = open_head(tx, request.session_id, request.create, guard)
    heads.protect_run(head, guard, tx.now_ms())
    runs = [] if request.run is None else [request.run]
    return finish(tx, write_runs(tx, head, runs), guard)


def update_status(
    tx: Transaction,
    session_id: str,
    status: Status,
    *,
    owner: RunOwner | None,
    touch: bool,
    create: SessionHeader | None,
    guard: Guard,
) -> Written:
    head = open_head(tx, session_id, create, guard)
    now = tx.now_ms()
    heads.protect_run(head, guard, now)
    return finish(tx, heads.with_status(head, status, owner, now), guard, touch=touch)


def delete(tx: Transaction, session_id: str, guard: Guard) -> bool:
    try:
        head = tx.get_head(session_id)
    except CorruptRecordError:
        if guard.fence is not None or guard.expected_rev is not None:
            raise  # nobody can tell whether the guard holds
        tx.drop_session(session_id)  # or a damaged session could never be removed
        return True
    if head is None:
        return False
    heads.judge_guard(head, guard)
    tx.drop_session(session_id)
    return True


def claim_run(
    tx: Transaction,
    session_id: str,
    *,
    owner: RunOwner | None,
    displaces: int | None,
    create: SessionHeader | None,
    guard: Guard,
) -> RunClaim:
    head, now = open_head(tx, session_id, create, guard), tx.now_ms()
    epoch = head.epoch or 0
    if head.status == "running" and epoch != displaces:
        quiet = heads.quiet_ms(head, now) or 0
        return RunClaim(
            claimed=False, epoch=epoch, rev=head.rev, previous=head.status, holder=head.owner, quiet_ms=quiet
        )
    after = heads.claimed(head, owner, rev=tx.next_rev(), now=now)
    tx.put_head(after)
    return RunClaim(
        claimed=True,
        epoch=after.rev,
        rev=after.rev,
        previous=head.status,
        previous_rev=head.rev,
        holder=head.owner,
    )


def renew_run(tx: Transaction, session_id: str, fence: int) -> None:
    head = open_head(tx, session_id, None, Guard(fence=fence))
    tx.put_head(replace(head, active_at=tx.now_ms()))


# -- the parts of a write ---------------------------------------------------------------------


def finish(tx: Transaction, head: Head, guard: Guard, *, touch: bool = True, added: int = 0) -> Written:
    """Store the moved head: the last step of every write."""
    after = heads.moved(head, guard, rev=tx.next_rev(), now=tx.now_ms(), touch=touch)
    tx.put_head(after)
    return Written(rev=after.rev, previous=head.rev, added=added)


def write_metadata(tx: Transaction, session_id: str, change: MetadataChange) -> None:
    stored = {} if change.replaces_all else read_metadata(tx, session_id)
    tx.put_item(session_id, METADATA, "", codec.encode_value(change.apply(stored)))


def write_runs(tx: Transaction, head: Head, runs: Sequence[EncodedRun]) -> Head:
    """Insert or replace runs, and count them."""
    added = 0
    for run in runs:
        added += tx.get_item(head.id, RUN, run.id) is None
        tx.put_item(head.id, RUN, run.id, run.stored)
    return replace(head, run_count=head.run_count + added) if added else head


def drop_other_runs(tx: Transaction, head: Head, kept: Sequence[EncodedRun]) -> Head:
    """Remove the runs that a snapshot lacks; all of them where it has them in another order."""
    stored, wanted = [key for key, _ in tx.get_items(head.id, RUN)], [run.id for run in kept]
    dropped = [key for key in stored if key not in wanted]
    if [key for key in stored if key in wanted] != wanted[: len(stored) - len(dropped)]:
        dropped = stored
    for key in dropped:
        tx.drop_item(head.id, RUN, key)
    return replace(head, run_count=head.run_count - len(dropped))


def replace_turns(tx: Transaction, head: Head, turns: Sequence[EncodedTurn]) -> tuple[Head, int]:
    """Make `turns` the history, rewriting only what lies behind the common beginning. Also: how many were written."""
    unique = heads.new_turns(head.id, turns, {})
    stored = tx.get_turns(head.id, 0, head.turn_count)
    same = next(
        (at for at, (old, new) in enumerate(zip(stored, unique, strict=False)) if old != new.stored),
        min(len(stored), len(unique)),
    )
    if same < head.turn_count:
        tx.cut_turns(head.id, same)
    tx.add_turns(head.id, same, unique[same:])
    empty = replace(head, turn_count=0, user_message_count=0, first_user_at=None)
    return heads.with_added(empty, unique), len(unique) - same


def _differ(tx: Transaction, head: Head, runs: Sequence[EncodedRun], *, replaces_all: bool) -> bool:
    stored = tx.get_items(head.id, RUN)
    given = [(run.id, run.stored) for run in runs]
    return given != stored if replaces_all else not set(given) <= set(stored)


def _with_header(head: Head, session: SessionData) -> Head:
    return replace(
        head,
        agent_id=session.agent_id,
        project_root=head.project_root if head.project_root is not None else session.project_root,
        updated_at=max(head.updated_at, session.updated_at) if head.rev else session.updated_at,
        extra={**head.extra, **session.extra},
    )
