"""A `CasStore` answers every call as the memory store does, whoever commits in between."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import msgspec
from hypothesis import HealthCheck, Phase, given, settings
from msgspec import UNSET

from zidane_core.errors import ZidaneError
from zidane_core.memory import MemoryStore
from zidane_core.memory.data import MemoryData, MemoryTransaction
from zidane_core.records import (
    RunOwner,
    Schedule,
    ScheduleFire,
    SessionArtifact,
    SessionData,
    SessionHeader,
    SessionHistory,
    SessionRun,
    SessionTurn,
)
from zidane_core.store import NO_GUARD, ArtifactFilter, Guard, Head, SessionFilter, SessionStore

from .dict_cas import DictBackend, DictStore

# -- a memory store whose revisions are each session's own, as a CasStore's are ---------------


class OwnRevs(MemoryTransaction):
    def get_head(self, session_id: str) -> Head | None:
        self.session_id = session_id
        return super().get_head(session_id)

    def next_rev(self) -> int:
        revs: Counter[tuple[int, str]] = self._data.__dict__.setdefault("revs", Counter())
        key = (id(self._scope), self.session_id)
        revs[key] += 1
        return revs[key]


class ModelStore(MemoryStore):
    def _transaction(self) -> MemoryTransaction:
        return OwnRevs(self._data, self._scope, self._clock)


# -- calls ------------------------------------------------------------------------------------

MADE = ["s1", "a/b"]
"""Made before the calls, so that most of them find something."""

IDS = st.sampled_from(MADE * 4 + ["S1", "é", "x" * 512, "x" * 511 + "y", "n-s1", "shared"])
SMALL = st.integers(0, 4)
TIMES = st.integers(0, 9)
OWNERS = st.none() | st.builds(RunOwner, host_id=st.just("h"), pid=SMALL, token=st.just("t"))
LABELS = st.sampled_from([None, "x", "y"])
STATUSES = st.sampled_from(["idle", "running", "completed", "error"])
METADATA = st.dictionaries(
    st.sampled_from(["title", "k", "K", ""]), st.sampled_from([None, 0, "a\x00b", "\ud83d", [1]])
)
PATCHES = st.dictionaries(st.sampled_from(["title", "k"]), st.sampled_from([UNSET, None, "v"]))
TURN_IDS = st.sampled_from(["t1", "T1", "t 2", "t3", "y" * 300])
TURNS = st.builds(
    SessionTurn,
    id=TURN_IDS,
    role=st.sampled_from(["user", "assistant"]),
    content=st.sampled_from([[], [{"type": "text", "text": "hi\nthere \ud800"}]]),
    created_at=st.integers(0, 1),
)
HEADERS = st.none() | st.builds(
    SessionHeader,
    creation_id=st.sampled_from(["c1", "c1", "c2"]),
    created_at=TIMES,
    agent_id=LABELS,
    project_root=LABELS,
    metadata=METADATA,
    extra=st.sampled_from([{}, {"future": 1}]),
)
RUNS = st.builds(
    SessionRun,
    id=st.sampled_from(["r1", "R1", "r/2"]),
    status=st.sampled_from(["running", "completed"]),
    prompt=st.just("p"),
    started_at=TIMES,
)
SNAPSHOTS = st.builds(
    SessionData,
    id=IDS,
    created_at=TIMES,
    updated_at=TIMES,
    status=STATUSES,
    turns=st.lists(TURNS, max_size=4),
    runs=st.lists(RUNS, max_size=3, unique_by=lambda run: run.id),
    metadata=METADATA,
    agent_id=LABELS,
    project_root=LABELS,
    creation_id=st.sampled_from(["c1", "c2"]),
)
ARTIFACTS = st.builds(
    SessionArtifact,
    id=st.sampled_from(["a1", "a2", "A2"]),
    session_id=IDS,
    kind=st.sampled_from(["file", "commit"]),
    uri=st.sampled_from(["u1", "u2"]),
    label=st.just("l"),
    created_at=TIMES,
    updated_at=TIMES,
)
SCHEDULE_IDS = st.sampled_from(["p1", "p1", "P1", "p/2"])
SCHEDULES = st.builds(
    Schedule,
    id=SCHEDULE_IDS,
    prompt=st.just("p"),
    enabled=st.booleans(),
    next_fire_at=st.none() | SMALL,
    created_at=TIMES,
    updated_at=TIMES,
)
FIRES = st.builds(
    ScheduleFire,
    id=st.sampled_from(["f1", "f2", "f3"]),
    schedule_id=SCHEDULE_IDS,
    due_at=TIMES,
    fired_at=TIMES,
    status=st.sampled_from(["started", "completed"]),
)
FILTERS = st.none() | st.builds(
    SessionFilter,
    agent_id=st.sampled_from([UNSET, None, "x"]),
    status=st.sampled_from([UNSET, "idle", "running"]),
    project_root=st.sampled_from([UNSET, None, "x"]),
)
ARTIFACT_FILTERS = st.none() | st.builds(
    ArtifactFilter, session_id=st.none() | IDS, kind=st.sampled_from([None, "file"]), limit=st.none() | SMALL
)
LIMITS = st.none() | SMALL

Call = tuple[str, tuple[Any, ...], dict[str, Any]]


def guards(method: str) -> st.SearchStrategy[Guard]:
    on_session = "schedule" not in method  # a schedule has neither a run nor a revision
    some = st.builds(
        Guard,
        fence=st.none() | st.integers(1, 6) if on_session else st.none(),
        expected_rev=st.none() | st.integers(0, 6) if on_session else st.none(),
        op_id=st.sampled_from([None, f"{method}-1", f"{method}/2"]),
    )
    return st.integers(0, 5).flatmap(lambda die: st.just(NO_GUARD) if die else some)


def call(method: str, *args: st.SearchStrategy[Any], guarded: bool = True, **named: Any) -> st.SearchStrategy[Call]:
    if guarded:
        named["guard"] = guards(method)
    return st.tuples(st.just(method), st.tuples(*args), st.fixed_dictionaries(named))


def drop_first(history: SessionHistory) -> SessionHistory | None:
    return SessionHistory(turns=history.turns[1:], runs=history.runs) if history.turns else None


def reverse_all(history: SessionHistory) -> SessionHistory:
    return SessionHistory(turns=list(reversed(history.turns)), runs=list(reversed(history.runs)))


WRITES = [
    call(
        "append_turns",
        IDS,
        st.lists(TURNS, max_size=3),
        create=HEADERS,
        run=st.none() | RUNS,
        metadata=st.none() | PATCHES,
    ),
    call("save", SNAPSHOTS, create=st.booleans()),
    call("save_meta", SNAPSHOTS, keys=st.none() | st.just(["title", "k"])),
    call("update_run", IDS, RUNS, create=HEADERS),
    call("update_status", IDS, STATUSES, owner=OWNERS, touch=st.booleans(), create=HEADERS),
    call("patch_meta", IDS, PATCHES),
    call("mutate_history", IDS, st.sampled_from([drop_first, reverse_all])),
    call("truncate", IDS, TURN_IDS),
    call("claim_run", IDS, owner=OWNERS, displaces=st.none() | st.integers(1, 6), create=HEADERS),
    call("claim_send_request", IDS, st.sampled_from(["q1", "q/2"]), st.just("f"), owner=OWNERS, create=HEADERS),
    call("settle_send_request", IDS, st.sampled_from(["q1", "q/2"]), st.sampled_from([None, {"a": 1}])),
    call("upsert_artifact", ARTIFACTS),
    call("delete_artifact", IDS, st.sampled_from(["a1", "a2", "A2"])),
    call("save_schedule", SCHEDULES, keep_next_fire_at=st.booleans()),
    call("delete_schedule", SCHEDULE_IDS),
    call("claim_schedule_fire", SCHEDULE_IDS, SMALL, LIMITS),
    call("record_schedule_fire", FIRES),
    call("renew_run", IDS, guarded=False, fence=st.integers(1, 6)),
    call("delete", IDS, guarded=False, guard=st.builds(Guard, expected_rev=st.none() | SMALL)),
]
READS = [
    call("load", IDS, guarded=False),
    call("get_turns", IDS, SMALL, LIMITS, guarded=False),
    call("get_turns", IDS, guarded=False, last=SMALL),
    call("get_meta", IDS, guarded=False),
    call("list_ids", FILTERS, guarded=False, limit=LIMITS, after=st.none() | IDS),
    call("list_meta", FILTERS, guarded=False, limit=LIMITS),
    call("find_send_request", IDS, st.sampled_from(["q1", "q/2"]), guarded=False),
    call("list_artifacts", ARTIFACT_FILTERS, guarded=False),
    call("list_schedules", guarded=False),
    call("list_schedule_fires", SCHEDULE_IDS, SMALL, guarded=False),
]
CALLS = st.one_of(*WRITES, *READS)


def making(session_id: str) -> list[Call]:
    """A session with some of everything."""
    turns = [
        SessionTurn(id=f"t{at}", role="user" if at % 2 else "assistant", content=[], created_at=at) for at in range(4)
    ]
    run = SessionRun(id="r1", status="running", prompt="p", started_at=1)
    row = SessionArtifact(id="a1", session_id=session_id, kind="file", uri="u1", label="l", created_at=1, updated_at=1)
    schedule = Schedule(id="p1", prompt="p", enabled=True, next_fire_at=1, created_at=1, updated_at=1)
    fire = ScheduleFire(id="f1", schedule_id="p1", due_at=1, fired_at=1, status="started")
    return [
        ("append_turns", (session_id, turns), {"create": SessionHeader(creation_id="c1", created_at=1), "run": run}),
        ("update_run", (session_id, msgspec.structs.replace(run, id="R1")), {}),
        ("upsert_artifact", (row,), {}),
        ("claim_send_request", (session_id, "q1", "f"), {}),
        ("save_schedule", (schedule,), {}),
        ("record_schedule_fire", (fire,), {}),
    ]


async def answer(store: SessionStore, each: Call) -> object:
    method, args, named = each
    try:
        return await getattr(store, method)(*args, **named)
    except ZidaneError as error:
        return type(error), str(error), error.__dict__


async def everything(store: SessionStore) -> list[object]:
    ids = await store.list_ids()
    return [
        ids,
        await store.list_meta(),
        await store.list_artifacts(),
        await store.list_schedules(),
        [await store.load(session_id) for session_id in ids],
        [await store.list_schedule_fires(each.id, 50) for each in await store.list_schedules()],
    ]


class Disturber:
    """Other writers, who commit in front of some of the primitives' calls."""

    def __init__(self, backend: DictBackend, pattern: list[bool]) -> None:
        self.backend, self.pattern = backend, iter(pattern)

    def __call__(self, each: tuple[str, str]) -> None:
        primitive, group = each
        if primitive != "scan" and next(self.pattern, False):
            self.backend.bump(group)


@settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],  # shrinking sixty calls takes minutes
)
@given(
    calls=st.lists(st.tuples(st.sampled_from(["", "", "s1"]), CALLS), min_size=20, max_size=60),
    disturbed=st.lists(st.booleans(), max_size=60),
)
def test_every_call_answers_as_the_memory_store_does_while_others_commit(
    calls: list[tuple[str, Call]], disturbed: list[bool]
) -> None:
    """The same calls on both stores under one clock: equal answers, equal errors, equal contents, in two scopes."""
    asyncio.run(compare(calls, disturbed))


async def compare(calls: list[tuple[str, Call]], disturbed: list[bool]) -> None:
    now = [1_000]
    backend = DictBackend()
    backend.before = Disturber(backend, disturbed)
    clock: Callable[[], int] = lambda: now[0]  # noqa: E731 -- two stores share it
    async with ModelStore(data=MemoryData(), clock=clock) as model, DictStore(backend, clock) as store:
        for scope, each in [("", each) for session_id in MADE for each in making(session_id)] + calls:
            now[0] += len(each[0]) % 3  # some calls share a millisecond
            expected = await answer(model.in_scope(scope) if scope else model, each)
            found = await answer(store.in_scope(scope) if scope else store, each)
            assert found == expected, (scope, each)
        for scope in ("", "s1"):
            expected = await everything(model.in_scope(scope) if scope else model)
            found = await everything(store.in_scope(scope) if scope else store)
            assert msgspec.to_builtins(found) == msgspec.to_builtins(expected)
