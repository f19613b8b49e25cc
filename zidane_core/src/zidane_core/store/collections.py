"""Send requests, artifacts and schedules on a `Transaction`: the contract's smaller collections, once for all."""

from __future__ import annotations

from msgspec.structs import replace

from zidane_core import codec
from zidane_core.blocks import JsonValue
from zidane_core.errors import InvalidContentError, ScheduleNotFoundError
from zidane_core.records import RunOwner, Schedule, ScheduleFire, SendRequestRecord, SessionArtifact, SessionHeader

from . import contract
from .artifacts import matches_artifact_filter, merge_artifact, select_artifact_evictions, sort_artifacts
from .head import Head, judge_guard
from .transaction import Transaction
from .values import ArtifactFilter, Guard, SendRequestClaim

SEND_REQUEST_HISTORY = 256
"""Request ids kept for a session; a claim past it drops the oldest."""

FIRE_HISTORY = 50
"""Fires kept for a schedule."""

SEND_REQUEST = "send"
_ARTIFACT = "artifact"
_SCHEDULE = "schedule"

# -- send requests ----------------------------------------------------------------------------


def claim_send_request(
    tx: Transaction,
    session_id: str,
    request_id: str,
    fingerprint: str,
    *,
    owner: RunOwner | None,
    create: SessionHeader | None,
    guard: Guard,
) -> SendRequestClaim:
    head = contract.judged_head(tx, session_id, create)
    held = find_send_request(tx, session_id, request_id)
    if held is not None:
        return SendRequestClaim(claimed=False, record=held)
    judge_guard(head, guard)
    record = SendRequestRecord(request_id=request_id, fingerprint=fingerprint, created_at=tx.now_ms(), owner=owner)
    tx.put_item(session_id, SEND_REQUEST, request_id, codec.encode(record))
    for key, _ in tx.get_items(session_id, SEND_REQUEST)[:-SEND_REQUEST_HISTORY]:
        tx.drop_item(session_id, SEND_REQUEST, key)
    if not head.rev:  # this claim created the session
        contract.finish(tx, head, guard)
    return SendRequestClaim(claimed=True)


def find_send_request(tx: Transaction, session_id: str, request_id: str) -> SendRequestRecord | None:
    stored = tx.get_item(session_id, SEND_REQUEST, request_id)
    if stored is None:
        return None
    return codec.decode(SendRequestRecord, stored, session_id=session_id, where=f"send request {request_id!r}")


def settle_send_request(tx: Transaction, session_id: str, request_id: str, result: JsonValue, guard: Guard) -> bool:
    head = tx.get_head(session_id)
    record = None if head is None else find_send_request(tx, session_id, request_id)
    if head is None or record is None:
        return False
    judge_guard(head, guard)
    if result is None:
        tx.drop_item(session_id, SEND_REQUEST, request_id)
    else:
        tx.put_item(session_id, SEND_REQUEST, request_id, codec.encode(replace(record, result=result)))
    contract.finish(tx, head, guard, touch=False)
    return True


# -- artifacts --------------------------------------------------------------------------------


def upsert_artifact(tx: Transaction, artifact: SessionArtifact, guard: Guard) -> SessionArtifact:
    head = contract.open_head(tx, artifact.session_id, None, guard)
    current = _artifacts_of(tx, head.id)
    twin = next((a for a in current if (a.kind, a.uri) == (artifact.kind, artifact.uri)), None)
    if twin is None:
        head = _make_room(tx, head, current, artifact)
        row = artifact
    else:
        row = merge_artifact(twin, artifact)
    tx.put_item(head.id, _ARTIFACT, row.id, codec.encode(row))
    contract.finish(tx, head, guard, touch=False)
    return row


def list_artifacts(tx: Transaction, where: ArtifactFilter) -> list[SessionArtifact]:
    if where.session_id is not None:
        rows = _artifacts_of(tx, where.session_id)
    else:
        rows = [_artifact(session_id, stored) for session_id, stored in tx.get_all_items(_ARTIFACT)]
    return sort_artifacts(row for row in rows if matches_artifact_filter(row, where))[: where.limit]


def delete_artifact(tx: Transaction, session_id: str, artifact_id: str, guard: Guard) -> bool:
    head = tx.get_head(session_id)
    if head is None or tx.get_item(session_id, _ARTIFACT, artifact_id) is None:
        return False
    judge_guard(head, guard)
    tx.drop_item(session_id, _ARTIFACT, artifact_id)
    contract.finish(tx, replace(head, artifact_count=head.artifact_count - 1), guard, touch=False)
    return True


def _make_room(tx: Transaction, head: Head, current: list[SessionArtifact], incoming: SessionArtifact) -> Head:
    if any(other.id == incoming.id for other in current):
        raise InvalidContentError("$.id", f"another artifact of the session has the id {incoming.id!r}")
    evicted = select_artifact_evictions(current)
    for artifact_id in evicted:
        tx.drop_item(head.id, _ARTIFACT, artifact_id)
    return replace(head, artifact_count=head.artifact_count + 1 - len(evicted))


def _artifacts_of(tx: Transaction, session_id: str) -> list[SessionArtifact]:
    return [_artifact(session_id, stored) for _, stored in tx.get_items(session_id, _ARTIFACT)]


def _artifact(session_id: str, stored: bytes) -> SessionArtifact:
    return codec.decode(SessionArtifact, stored, session_id=session_id, where="an artifact")


# -- schedules --------------------------------------------------------------------------------


def save_schedule(tx: Transaction, schedule: Schedule, *, keep_next_fire_at: bool) -> None:
    stored = _schedule(tx, schedule.id) if keep_next_fire_at else None
    if stored is not None:
        schedule = replace(schedule, next_fire_at=stored.next_fire_at)
    tx.put_item(None, _SCHEDULE, schedule.id, codec.encode(replace(schedule, last_fire=None)))


def list_schedules(tx: Transaction) -> list[Schedule]:
    schedules = [_decoded_schedule(key, stored) for key, stored in tx.get_items(None, _SCHEDULE)]
    return [replace(schedule, last_fire=next(iter(_fires(tx, schedule.id, 1)), None)) for schedule in schedules]


def delete_schedule(tx: Transaction, schedule_id: str) -> bool:
    if tx.get_item(None, _SCHEDULE, schedule_id) is None:
        return False
    tx.drop_item(None, _SCHEDULE, schedule_id)
    tx.drop_items(None, _fires_of(schedule_id))
    return True


def claim_schedule_fire(tx: Transaction, schedule_id: str, due_at: int, next_fire_at: int | None) -> bool:
    schedule = _schedule(tx, schedule_id)
    if schedule is None or not may_fire(schedule, due_at):
        return False
    tx.put_item(None, _SCHEDULE, schedule_id, codec.encode(replace(schedule, next_fire_at=next_fire_at)))
    return True


def may_fire(schedule: Schedule, due_at: int) -> bool:
    """Whether the fire due at `due_at` is still to be had."""
    return schedule.enabled and schedule.next_fire_at == due_at


def record_schedule_fire(tx: Transaction, fire: ScheduleFire) -> None:
    if tx.get_item(None, _SCHEDULE, fire.schedule_id) is None:
        raise ScheduleNotFoundError(fire.schedule_id)
    kind = _fires_of(fire.schedule_id)
    tx.put_item(None, kind, fire.id, codec.encode(fire))
    for key, _ in tx.get_items(None, kind)[:-FIRE_HISTORY]:
        tx.drop_item(None, kind, key)


def list_schedule_fires(tx: Transaction, schedule_id: str, limit: int) -> list[ScheduleFire]:
    return _fires(tx, schedule_id, limit)


def _fires(tx: Transaction, schedule_id: str, limit: int) -> list[ScheduleFire]:
    newest = tx.get_items(None, _fires_of(schedule_id))[::-1][:limit]
    return [codec.decode(ScheduleFire, stored, where=f"fire {key!r}") for key, stored in newest]


def _fires_of(schedule_id: str) -> str:
    return f"fire/{schedule_id}"


def _schedule(tx: Transaction, schedule_id: str) -> Schedule | None:
    stored = tx.get_item(None, _SCHEDULE, schedule_id)
    return None if stored is None else _decoded_schedule(schedule_id, stored)


def _decoded_schedule(schedule_id: str, stored: bytes) -> Schedule:
    return codec.decode(Schedule, stored, where=f"schedule {schedule_id!r}")
