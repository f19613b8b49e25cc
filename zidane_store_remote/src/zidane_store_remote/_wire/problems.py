"""Errors as problem documents (RFC 9457) and back: one table, read by both ends.

A document has a stable `type`, a `title`, the `status`, the error's sentence as `detail`, and the error's own facts as
further members, so that the other end raises the very same error.
"""

from __future__ import annotations

import inspect
import re
from typing import Any, NamedTuple, cast

from zidane_core import codec, errors
from zidane_core.blocks import JsonValue
from zidane_core.errors import InvalidContentError, StoreUnavailableError, ZidaneError
from zidane_core.records import Record, RunOwner
from zidane_store_remote.errors import ProtocolMismatchError

MEDIA_TYPE = "application/problem+json"
TYPE_PREFIX = "urn:zidane:problem:"


class InvalidArgumentError(ZidaneError, ValueError):
    """A value that a call does not take: a ValueError, as other stores raise."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Problem(NamedTuple):
    slug: str
    status: int
    title: str
    error: type[ZidaneError]


PROBLEMS = (
    Problem("invalid-argument", 400, "A parameter or header is not usable", InvalidArgumentError),
    Problem("invalid-id", 400, "An id that no store accepts", errors.InvalidIdError),
    Problem("protocol-mismatch", 400, "The server speaks other versions of the protocol", ProtocolMismatchError),
    Problem("unauthorized", 401, "No token, or none that is accepted", errors.AuthenticationError),
    Problem("forbidden", 403, "The token does not allow this", errors.PermissionDeniedError),
    Problem("read-only", 403, "The store may only be read", errors.StoreReadOnlyError),
    Problem("session-not-found", 404, "No session has this id", errors.SessionNotFoundError),
    Problem("turn-not-found", 404, "The session has no such turn", errors.TurnNotFoundError),
    Problem("schedule-not-found", 404, "No schedule has this id", errors.ScheduleNotFoundError),
    Problem("no-such-route", 404, "The server has no such resource", StoreUnavailableError),
    Problem("method-not-allowed", 405, "The resource has no such method", StoreUnavailableError),
    Problem("request-timeout", 408, "The request took too long to arrive; nothing happened", errors.StoreBusyError),
    Problem("session-exists", 409, "Another creation holds this id", errors.SessionExistsError),
    Problem("turn-conflict", 409, "A turn is stored with other content", errors.TurnConflictError),
    Problem("run-fenced", 409, "The run lost its claim", errors.RunFencedError),
    Problem("run-in-progress", 409, "A run holds the session", errors.RunInProgressError),
    Problem("revision-conflict", 412, "The session has moved on", errors.RevisionConflictError),
    Problem("content-too-large", 413, "More than the store takes at once", errors.ContentTooLargeError),
    Problem("unsupported-encoding", 415, "The body's encoding is neither gzip nor identity", StoreUnavailableError),
    Problem("invalid-content", 422, "The body is not what this call takes", InvalidContentError),
    Problem("operation-conflict", 422, "The operation id was used for another call", errors.OperationConflictError),
    Problem("too-many-requests", 429, "The server is busy; nothing happened", errors.StoreBusyError),
    Problem("internal-error", 500, "The server failed", StoreUnavailableError),
    Problem("corrupt-record", 500, "A stored record is damaged", errors.CorruptRecordError),
    Problem("unsupported", 501, "The store lacks this capability", errors.UnsupportedError),
    Problem("store-unavailable", 503, "The server cannot use its store", StoreUnavailableError),
    Problem("store-busy", 503, "The store is busy; nothing happened", errors.StoreBusyError),
    Problem("schema-too-new", 503, "The data was written by a newer version", errors.SchemaTooNewError),
    Problem("store-full", 507, "The store has no room left", errors.StoreFullError),
    Problem("capacity", 507, "The store holds as many sessions as it can", errors.CapacityError),
)

BY_SLUG = {problem.slug: problem for problem in PROBLEMS}
_BY_ERROR = {problem.error: problem for problem in PROBLEMS} | {
    StoreUnavailableError: BY_SLUG["store-unavailable"],
    errors.StoreBusyError: BY_SLUG["store-busy"],
}
_FACTS = {problem.slug: tuple(inspect.signature(problem.error).parameters) for problem in PROBLEMS}
"""An error's facts are what it is made of: each of its parameters is also an attribute."""

_RECORDS: dict[str, type[Record]] = {"holder": RunOwner}


def problem_of(error: ZidaneError) -> Problem | None:
    """The table's entry for an error, or for the nearest of its base classes that has one."""
    return next((_BY_ERROR[kind] for kind in type(error).__mro__ if kind in _BY_ERROR), None)


def to_document(error: ZidaneError, problem: Problem, request_id: str) -> bytes:
    """The problem document of an error."""
    facts = {_camel(name): _plain(getattr(error, name)) for name in _FACTS[problem.slug]}
    document = {
        "type": TYPE_PREFIX + problem.slug,
        "title": problem.title,
        "status": problem.status,
        "detail": str(error),
        "requestId": request_id,
        **facts,
    }
    return codec.json_of(codec.encode_value(document))


def from_document(document: dict[str, Any]) -> tuple[Problem, ZidaneError] | None:
    """The error that a problem document tells of; None where it is none of ours, or lacks the facts."""
    kind = document.get("type")
    problem = BY_SLUG.get(kind.removeprefix(TYPE_PREFIX)) if isinstance(kind, str) else None
    if problem is None:
        return None
    try:
        facts = {name: _rebuilt(name, document[_camel(name)]) for name in _FACTS[problem.slug]}
        return problem, problem.error(**facts)
    except (KeyError, TypeError, ValueError):
        return None


def _plain(value: object) -> JsonValue:
    return codec.to_json_object(value) if isinstance(value, Record) else cast("JsonValue", value)


def _rebuilt(name: str, value: Any) -> Any:
    if name in _RECORDS and value is not None:
        return codec.from_json_object(_RECORDS[name], value)
    return value


def _camel(name: str) -> str:
    return re.sub("_(.)", lambda found: found[1].upper(), name)
