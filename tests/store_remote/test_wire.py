"""The shared tables: every error goes through a problem document unchanged; broken histories are noticed."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import Any

import pytest

from zidane_core import errors
from zidane_core.errors import ZidaneError
from zidane_core.records import RunOwner, SessionData, SessionRun, SessionTurn
from zidane_store_remote import ProtocolMismatchError
from zidane_store_remote._client.failures import retry_after
from zidane_store_remote._wire.bodies import Turns
from zidane_store_remote._wire.lines import HistoryReader, to_lines
from zidane_store_remote._wire.problems import PROBLEMS, InvalidArgumentError, from_document, problem_of, to_document
from zidane_store_remote._wire.routes import BODY_PROBLEMS, COMMON_PROBLEMS, ROUTES
from zidane_store_remote.server.handlers import HANDLERS

ERRORS: list[ZidaneError] = [
    errors.InvalidContentError("$.turns[0]", "half \ud800 a pair"),
    errors.ContentTooLargeError("turn 't'", size=5, limit=4, unit="turns"),
    errors.InvalidIdError("the session id", "a\0", "has a NUL character"),
    errors.StoreUnavailableError("gone", retryable=False, outcome_unknown=True),
    errors.StoreBusyError("locked"),
    errors.StoreFullError("disk"),
    errors.StoreReadOnlyError("disk"),
    errors.SchemaTooNewError("the file", found=3, supported=2),
    errors.AuthenticationError("who"),
    errors.PermissionDeniedError("no"),
    errors.SessionNotFoundError("\N{GRINNING FACE}/.."),
    errors.SessionExistsError("s"),
    errors.TurnNotFoundError("s", "t"),
    errors.ScheduleNotFoundError("w"),
    errors.TurnConflictError("s", "t"),
    errors.RevisionConflictError("s", expected=2**60, found=0),
    errors.OperationConflictError("op"),
    errors.RunFencedError("s", fence=1, epoch=None),
    errors.RunInProgressError("s", holder=RunOwner(host_id="h", pid=1, token="t", extra={"new": [1]}), quiet_ms=7),
    errors.RunInProgressError("s"),
    errors.CorruptRecordError(None, "turn 5", "its checksum does not match"),
    errors.CapacityError("one session"),
    errors.UnsupportedError("memory", "scopes", "in_scope()"),
    ProtocolMismatchError([2], [1]),
    InvalidArgumentError("limit is -1"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_comes_out_of_its_document_as_it_went_in(error: ZidaneError) -> None:
    """Kind, sentence and every fact, whatever texts they hold."""
    problem = problem_of(error)
    assert problem is not None
    found = from_document(json.loads(to_document(error, problem, "r")))
    assert found is not None
    assert type(found[1]) is type(error)
    assert (str(found[1]), vars(found[1])) == (str(error), vars(error))


def test_every_store_error_of_core_has_a_document() -> None:
    """A new error that the table forgot fails here; those of a local handle or of `Session` stay local."""
    local = {errors.StoreError, errors.StoreClosedError, errors.StoreForkedError, errors.SendInProgressError}
    kinds = {kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, errors.StoreError)}
    assert kinds - local <= {problem.error for problem in PROBLEMS}
    assert {type(error) for error in ERRORS} >= kinds - local


def test_a_kind_of_error_that_only_the_server_knows_goes_as_its_nearest_known_base() -> None:
    class Special(errors.SessionNotFoundError):
        pass

    problem = problem_of(Special("s"))
    assert problem is not None
    assert problem.slug == "session-not-found"


@pytest.mark.parametrize("document", [{}, {"type": 1}, {"type": "urn:zidane:problem:new"}, {"type": "about:blank"},
    {"type": "urn:zidane:problem:turn-conflict", "sessionId": "s"}])  # fmt: skip
def test_a_document_that_is_not_ours_or_lacks_facts_is_no_error_of_ours(document: dict[str, Any]) -> None:
    assert from_document(document) is None


def test_the_tables_agree() -> None:
    """Each route has a handler, and names problems that exist."""
    assert {route.name for route in ROUTES} == set(HANDLERS)
    slugs = {problem.slug for problem in PROBLEMS}
    assert {*COMMON_PROBLEMS, *BODY_PROBLEMS, *(slug for route in ROUTES for slug in route.problems)} <= slugs
    assert len({(route.method, route.path) for route in ROUTES}) == len(ROUTES)


def a_session(turns: int) -> SessionData:
    return SessionData(
        id="s", created_at=1, updated_at=1, status="idle", metadata={"k": "\ud800"}, rev=3,
        turns=[SessionTurn(id=f"t{n}", role="user", content=[{"type": "x"}], created_at=n) for n in range(turns)],
        runs=[SessionRun(id="r", status="completed", prompt="p\n", started_at=1, extra={"new": 1})],
    )  # fmt: skip


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_a_history_survives_however_its_lines_are_cut(size: int) -> None:
    """Pieces end anywhere, inside characters too."""
    session = a_session(5)
    whole = b"".join(to_lines(session))
    reader = HistoryReader()
    for at in range(0, len(whole), size):
        reader.feed(whole[at : at + size])
    assert reader.session() == session


def read_at_once(text: bytes) -> SessionData:
    reader = HistoryReader()
    reader.feed(text)
    return reader.session()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda whole: whole[:-1],
        lambda whole: whole[: whole.rindex(b"\n", 0, -1) + 1],
        lambda whole: whole[: whole.index(b"\n") + 1],
        lambda whole: b"",
        lambda whole: whole + whole[whole.rindex(b"\n", 0, -1) + 1 :],
        lambda whole: whole + b"{}",
        lambda whole: whole.replace(b"t1", b"\xff\xff"),
    ],
)
def test_a_broken_history_is_never_a_shorter_one(spoil: Callable[[bytes], bytes]) -> None:
    """Cut off, too long or damaged: it is an error."""
    with pytest.raises(ValueError):
        read_at_once(spoil(b"".join(to_lines(a_session(3)))))


def test_turns_alone_have_no_session() -> None:
    reader = HistoryReader()
    for piece in to_lines(Turns(turns=[])):
        reader.feed(piece)
    assert reader.turns() == []
    with pytest.raises(ValueError, match="no session"):
        reader.session()


@pytest.mark.parametrize(
    ("header", "seconds"),
    [(None, None), ("2", 2), ("odd", None), ("-1", None), ("Wed, 21 Oct 2015 07:28:00 GMT", 0)],
)
def test_retry_after_is_read_in_both_of_its_forms(header: str | None, seconds: float | None) -> None:
    assert retry_after(header) == seconds
