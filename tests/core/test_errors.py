"""Every error carries its facts, makes its own sentence, and survives crossing a process boundary."""

from __future__ import annotations

import pickle

import pytest

from zidane_core import RunOwner, errors
from zidane_core.errors import StoreError, ZidaneError

OWNER = RunOwner(host_id="h", pid=7, token="t")
MADE: list[ZidaneError] = [
    errors.InvalidContentError("$.a", "is odd"),
    errors.ContentTooLargeError("turn 't'", size=5, limit=4),
    errors.InvalidIdError("the session id", "a\0b", "has a NUL character"),
    errors.StoreURLError("no such place"),
    errors.UnknownSchemeError("reddis", installed=["memory"], suggestion="redis"),
    errors.StoreNotInstalledError("redis", "zidane-store-redis"),
    errors.PluginLoadError("acme", distribution="acme-store", version="1", reason="boom"),
    errors.PluginVersionError("acme", distribution="acme-store", found=2, supported=1),
    errors.SchemeConflictError("acme", ["a", "b"]),
    errors.StoreOptionError("shard", "is unknown", suggestion="shards"),
    errors.StoreError("odd"),
    errors.StoreUnavailableError("no answer", outcome_unknown=True),
    errors.StoreBusyError("locked"),
    errors.StoreFullError("disk"),
    errors.StoreReadOnlyError("mounted so"),
    errors.StoreClosedError("memory"),
    errors.StoreForkedError("memory", opened_in=1, used_in=2),
    errors.SchemaTooNewError("x.db", found=9, supported=1),
    errors.AuthenticationError("bad token"),
    errors.PermissionDeniedError("not yours"),
    errors.SessionNotFoundError("s"),
    errors.SessionExistsError("s"),
    errors.TurnNotFoundError("s", "t"),
    errors.ScheduleNotFoundError("x"),
    errors.TurnConflictError("s", "t"),
    errors.RevisionConflictError("s", expected=1, found=2),
    errors.OperationConflictError("op"),
    errors.RunFencedError("s", fence=1, epoch=None),
    errors.RunInProgressError("s", holder=OWNER, quiet_ms=5),
    errors.SendInProgressError("s", "request", holder=OWNER),
    errors.CorruptRecordError("s", "turn 5", "its checksum does not match"),
    errors.CapacityError("one is enough"),
    errors.UnsupportedError("mine", "claims", "claim_run()"),
]


def kinds(root: type[ZidaneError]) -> set[type[ZidaneError]]:
    return {root}.union(*(kinds(each) for each in root.__subclasses__()))


def test_every_kind_of_error_is_tried_here() -> None:
    ours = {kind for kind in kinds(ZidaneError) if kind.__module__ == errors.__name__}
    assert ours - {type(error) for error in MADE} == {ZidaneError}


@pytest.mark.parametrize("error", MADE, ids=lambda error: type(error).__name__)
def test_an_error_pickles_with_its_facts_and_its_sentence(error: ZidaneError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)
    assert str(error)
    assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (errors.RevisionConflictError("s", expected=1, found=2), "session 's' is at revision 2, not 1"),
        (errors.RunFencedError("s", fence=1, epoch=4), "the run's claim 1 on session 's' is over; the claim is now 4"),
        (errors.RunInProgressError("s", holder=OWNER), "a run holds session 's' (process 7 on host h)"),
        (errors.ContentTooLargeError("turn 't'", size=5, limit=4), "turn 't' has 5 bytes; this store takes at most 4"),
        (errors.CorruptRecordError(None, "the index", "odd"), "the index of the store is damaged: odd"),
    ],
)
def test_the_sentence_says_what_happened(error: ZidaneError, sentence: str) -> None:
    assert str(error) == sentence


def test_callers_can_catch_by_kind() -> None:
    assert issubclass(errors.StoreBusyError, errors.StoreUnavailableError)
    assert not issubclass(errors.StoreURLError, StoreError)
    for kind in (errors.InvalidContentError, errors.InvalidIdError, errors.ContentTooLargeError, errors.StoreURLError):
        assert issubclass(kind, ValueError)


def test_a_strange_id_is_shown_in_short_plain_characters() -> None:
    assert "\\ud83d" in str(errors.InvalidIdError("the id", "\ud83d", "is odd"))
    assert len(str(errors.InvalidIdError("the id", "x" * 10_000, "is odd"))) < 120
    assert pickle.loads(pickle.dumps(errors.InvalidIdError("the id", object(), "is odd"))).value.startswith("<object")
