"""What scripts answer, as records and errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from hashlib import sha1
from typing import Any, cast

import msgspec

from zidane_core import codec
from zidane_core.errors import (
    CorruptRecordError,
    OperationConflictError,
    RevisionConflictError,
    RunFencedError,
    RunInProgressError,
    ScheduleNotFoundError,
    SessionExistsError,
    SessionNotFoundError,
    StoreUnavailableError,
    TurnConflictError,
    TurnNotFoundError,
    ZidaneError,
)
from zidane_core.records import RunOwner, SendRequestRecord, Status
from zidane_core.store import Head, Written

FIELDS = (
    b"creation", b"created", b"updated", b"status", b"rev", b"agent", b"root", b"owner", b"epoch", b"active", b"turns",
    b"users", b"first", b"runs", b"artifacts", b"artifacts_at", b"expires", b"place",
)  # fmt: skip
"""What a head's checksum covers, in the order of `checksum` in `lua/_session.lua`."""


class StaleError(Exception):
    """What a decision was made on has changed: read and decide again."""


class ArtifactIdError(Exception):
    """The id belongs to another artifact of the session."""


# -- refusals ---------------------------------------------------------------------------------


def answer_of(reply: list[Any], subject: str, *, op_id: str | None = None, turn_id: str = "") -> list[Any]:
    """The answer of a script that writes. `subject` is the session's or schedule's id."""
    if reply[0] == b"=":
        return reply[1:]
    name, *facts = reply[1:]
    if name == b"operation-conflict":
        raise OperationConflictError(op_id or "")
    if name == b"turn-not-found":
        raise TurnNotFoundError(subject, turn_id)
    raise _REFUSALS[name](subject, facts)


def _fenced(session_id: str, facts: list[Any]) -> ZidaneError:
    return RunFencedError(session_id, fence=int(facts[0]), epoch=optional_int(facts[1]))


def _in_progress(session_id: str, facts: list[Any]) -> ZidaneError:
    return RunInProgressError(session_id, holder=owner_of(session_id, facts[0]), quiet_ms=optional_int(facts[1]))


def _not_found(session_id: str, _facts: list[Any]) -> ZidaneError:
    return SessionNotFoundError(session_id)


def _exists(session_id: str, _facts: list[Any]) -> ZidaneError:
    return SessionExistsError(session_id)


def _revision(session_id: str, facts: list[Any]) -> ZidaneError:
    return RevisionConflictError(session_id, expected=int(facts[0]), found=int(facts[1]))


def _turn_conflict(session_id: str, facts: list[Any]) -> ZidaneError:
    return TurnConflictError(session_id, facts[0].decode())


def _damaged(session_id: str, _facts: list[Any]) -> ZidaneError:
    return CorruptRecordError(session_id, "the head", "its checksum does not match")


def _schedule_not_found(schedule_id: str, _facts: list[Any]) -> ZidaneError:
    return ScheduleNotFoundError(schedule_id)


def _superseded(_subject: str, _facts: list[Any]) -> ZidaneError:
    return StoreUnavailableError("a later call overtook this one", outcome_unknown=True)


def _stale(_subject: str, _facts: list[Any]) -> Exception:
    return StaleError()


def _artifact_id(_subject: str, _facts: list[Any]) -> Exception:
    return ArtifactIdError()


_REFUSALS: dict[bytes, Callable[[str, list[Any]], Exception]] = {
    b"not-found": _not_found,
    b"exists": _exists,
    b"fenced": _fenced,
    b"revision": _revision,
    b"in-progress": _in_progress,
    b"turn-conflict": _turn_conflict,
    b"damaged": _damaged,
    b"schedule-not-found": _schedule_not_found,
    b"superseded": _superseded,
    b"stale": _stale,
    b"artifact-id": _artifact_id,
}


# -- values -----------------------------------------------------------------------------------


def written_of(answer: Sequence[Any]) -> Written:
    return Written(rev=int(answer[0]), previous=int(answer[1]), added=int(answer[2]))


def optional_int(value: bytes | None) -> int | None:
    return None if value is None else int(value)


def optional_text(value: bytes | None) -> str | None:
    return None if value is None else value.decode()


def owner_of(session_id: str, stored: bytes | None) -> RunOwner | None:
    return None if stored is None else codec.decode(RunOwner, stored, session_id=session_id, where="the run's owner")


def send_request_of(session_id: str, request_id: str, packed: bytes) -> SendRequestRecord:
    where = f"send request {request_id!r}"
    try:
        fingerprint, created_at, owner, result = msgspec.msgpack.decode(packed)
    except (ValueError, TypeError) as error:
        raise CorruptRecordError(session_id, where, str(error)) from error
    return SendRequestRecord(
        request_id=request_id,
        fingerprint=fingerprint,
        created_at=int(created_at),
        owner=owner_of(session_id, owner.encode() if owner else None),
        result=codec.decode_value(result.encode(), session_id=session_id, where=where) if result else None,
    )


def pairs_of(flat: Any) -> Iterator[tuple[bytes, bytes]]:
    """The fields of a hash, whichever protocol answered it."""
    if isinstance(flat, dict):
        return iter(flat.items())  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return zip(flat[::2], flat[1::2], strict=True)


def in_order(flat: Any, *, session_id: str | None, where: str) -> list[tuple[bytes, bytes]]:
    """The (field, value) pairs of an ordered map, in the order in which the fields were first put."""
    entries: list[tuple[int, bytes, bytes]] = []
    for field, raw in pairs_of(flat):
        order, colon, value = raw.partition(b":")
        if not field:
            continue
        if not colon or not order.isdigit():
            raise CorruptRecordError(session_id, where, f"an entry does not begin with its order: {raw[:20]!r}")
        entries.append((int(order), field, value))
    return [(field, value) for _, field, value in sorted(entries)]


# -- heads and metadata -----------------------------------------------------------------------


def head_of(session_id: str, flat: Any, extra: dict[str, Any]) -> Head:
    """The head that a hash holds. Raises CorruptRecordError."""
    fields = dict(pairs_of(flat))
    if fields.get(b"sum") != _checksum(fields):
        raise CorruptRecordError(session_id, "the head", "its checksum does not match")
    return Head(
        id=session_id,
        creation_id=fields[b"creation"].decode(),
        created_at=int(fields[b"created"]),
        updated_at=int(fields[b"updated"]),
        status=cast("Status", fields[b"status"].decode()),
        rev=int(fields[b"rev"]),
        agent_id=optional_text(fields.get(b"agent")),
        project_root=optional_text(fields.get(b"root")),
        owner=owner_of(session_id, fields.get(b"owner")),
        epoch=optional_int(fields.get(b"epoch")),
        active_at=int(fields[b"active"]),
        turn_count=int(fields[b"turns"]),
        user_message_count=int(fields[b"users"]),
        first_user_at=optional_int(fields.get(b"first")),
        run_count=int(fields[b"runs"]),
        artifact_count=int(fields[b"artifacts"]),
        extra=extra,
    )


def metadata_of(session_id: str, flat: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The metadata, and the unknown keys of the header. Raises CorruptRecordError."""
    metadata: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    for field, value in in_order(flat, session_id=session_id, where="the metadata"):
        key = field[1:].decode("utf-8", "surrogatepass")
        into = extra if field[:1] == b"x" else metadata
        into[key] = codec.decode_value(value, session_id=session_id, where="the metadata")
    return metadata, extra


def _checksum(fields: dict[bytes, bytes]) -> bytes:
    joined = b"\0".join(fields.get(name, b"\1") for name in FIELDS)
    return sha1(joined, usedforsecurity=False).hexdigest()[:16].encode()
