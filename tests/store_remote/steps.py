"""Random calls on a store, drawn from small pools so that they meet: the same ids, known and unknown revisions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace

from zidane_core.errors import ZidaneError
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
from zidane_core.store import ArtifactFilter, Guard, SessionFilter, SessionStore


class Marked(NamedTuple):
    """A number that only the run knows: the revision or epoch of a session, plus something."""

    field: str
    session_id: str
    plus: int


class Step(NamedTuple):
    method: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class Outcome(NamedTuple):
    """What a call gave: its value, or the kind, sentence and facts of its error."""

    value: Any = None
    error: type[BaseException] | None = None
    sentence: str = ""
    facts: dict[str, Any] | None = None


async def outcome_of(store: SessionStore, step: Step) -> Outcome:
    try:
        return Outcome(await getattr(store, step.method)(*step.args, **step.kwargs))
    except (ZidaneError, ValueError) as error:
        kind = (
            type(error)
            if isinstance(error, ZidaneError) and type(error).__module__ == "zidane_core.errors"
            else ValueError
        )
        return Outcome(None, kind, str(error), dict(error.__dict__) if kind is not ValueError else None)


# -- pools ------------------------------------------------------------------------------------

SESSIONS = ("s", "a/b", "..", "\N{SNOWMAN}?#%2F")
ids = st.sampled_from(SESSIONS)
odd_ids = st.sampled_from(["", "\0", "\ud800", "x" * 513])
texts = st.sampled_from(["hello", "", "half \ud800 pair", "nul \0", "\N{GRINNING FACE}", '<&>"\\\n'])
values = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-5, 5), st.just(2**70), st.floats(allow_nan=False, width=32), texts
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(texts, inner, max_size=2)),
    max_leaves=3,
).filter(lambda value: value not in (float("inf"), float("-inf")))
metadata = st.dictionaries(st.sampled_from(["title", "k", "\ud800"]), values, max_size=2)
patches = st.dictionaries(st.sampled_from(["title", "k", "\ud800"]), st.one_of(values, st.just(UNSET)), max_size=2)
labels = st.sampled_from([None, "agent", "null", "~x", "é/"])
extras = st.sampled_from([{}, {"newKey": [1]}, {"z\ud800": None}])


turns = st.builds(
    lambda key, role, text, extra, usage: SessionTurn(
        id=key, role=role, content=[{"type": "text", "text": text}], created_at=7, extra=extra, usage=usage
    ),
    st.sampled_from(["t1", "t2", "t3", "t4", "t/5"]),
    st.sampled_from(["user", "assistant"]),
    texts,
    extras,
    st.sampled_from([None, {"input": 3, "novel": 1.5}]),
)
runs = st.builds(
    lambda key, status, prompt, cost, extra: SessionRun(
        id=key, status=status, prompt=prompt, started_at=1, cost=cost, extra=extra
    ),
    st.sampled_from(["r1", "r2", "r/3"]),
    st.sampled_from(["running", "completed"]),
    texts,
    st.sampled_from([None, 0.5]),
    extras,
)
owners = st.sampled_from(
    [None, RunOwner(host_id="h", pid=1, token="t"), RunOwner(host_id="g", pid=2, token="u", extra={"more": 1})]
)
headers = st.builds(
    lambda creation, agent, meta, extra: SessionHeader(
        creation_id=creation, created_at=3, agent_id=agent, metadata=meta, extra=extra
    ),
    st.sampled_from(["c1", "c2"]),
    labels,
    metadata,
    extras,
)
creations = st.one_of(st.none(), headers, headers)
statuses = st.sampled_from(["idle", "running", "completed", "error"])
snapshots = st.builds(
    lambda key, status, turn_list, run_list, meta, agent, project, creation, at, extra: SessionData(
        id=key,
        created_at=2,
        updated_at=at,
        status=status,
        turns=turn_list,
        runs=run_list,
        metadata=meta,
        agent_id=agent,
        project_root=project,
        creation_id=creation,
        extra=extra,
    ),
    ids,
    statuses,
    st.lists(turns, max_size=3),
    st.lists(runs, max_size=2),
    metadata,
    labels,
    labels,
    st.sampled_from(["c1", "c2"]),
    st.sampled_from([1, 10**13]),
    extras,
)
limits = st.one_of(st.none(), st.integers(-1, 5), st.integers(6, 30))


def guards(session_id: str) -> st.SearchStrategy[Any]:
    near = st.integers(-1, 1)
    fences = st.one_of(st.none(), st.none(), st.builds(Marked, st.just("epoch"), st.just(session_id), near))
    revs = st.one_of(st.none(), st.none(), st.builds(Marked, st.just("rev"), st.just(session_id), near), st.just(0))
    operations = st.one_of(st.none(), st.none(), st.sampled_from(["op1", "op 2/\N{SNOWMAN}"]))
    return st.builds(lambda fence, rev, op: (fence, rev, op), fences, revs, operations)


# -- edits of a history -----------------------------------------------------------------------


def drop_last(history: SessionHistory) -> SessionHistory:
    return replace(history, turns=list(history.turns)[:-1])


def add_one(history: SessionHistory) -> SessionHistory:
    return replace(history, turns=[*history.turns, SessionTurn(id="m", role="user", content=[], created_at=1)])


def reverse_all(history: SessionHistory) -> SessionHistory:
    return replace(history, turns=list(history.turns)[::-1], runs=list(history.runs)[::-1])


def nothing(_: SessionHistory) -> None:
    return None


def the_same(history: SessionHistory) -> SessionHistory:
    return history


def no_runs(history: SessionHistory) -> SessionHistory:
    return replace(history, runs=[])


EDITS: tuple[Callable[..., Any], ...] = (drop_last, add_one, reverse_all, nothing, the_same, no_runs)

# -- steps ------------------------------------------------------------------------------------


def _on_session(session_id: str) -> st.SearchStrategy[Step]:
    guarded = {"guard": guards(session_id)}
    creating = {"create": creations, **guarded}
    epoch = st.builds(Marked, st.just("epoch"), st.just(session_id), st.integers(-1, 0))
    send = st.sampled_from(["q1", "q/2"])
    artifact = st.sampled_from(["a1", "a2", "a/3"])
    return st.one_of(
        _call("load", session_id, damaged=st.sampled_from(["raise", "skip"])),
        _call("delete", session_id, **guarded),
        _call("append_turns", session_id, st.lists(turns, max_size=3), run=st.one_of(st.none(), runs),
              metadata=st.one_of(st.none(), patches), **creating),
        _call("append_turns", session_id, st.lists(turns, min_size=1, max_size=3), create=headers),
        _call("get_turns", session_id, st.integers(-1, 4), limits),
        _call("get_turns", session_id, last=limits),
        _call("update_run", session_id, runs, **creating),
        _call("update_status", session_id, statuses, owner=owners, touch=st.booleans(), **creating),
        _call("get_meta", session_id),
        _call("patch_meta", session_id, patches, **guarded),
        _call("mutate_history", session_id, st.sampled_from(EDITS), **guarded),
        _call("truncate", session_id, st.sampled_from(["t1", "t2", "t/5", "none"]), **guarded),
        _call("claim_run", session_id, owner=owners,
              displaces=st.one_of(st.none(), epoch),
              **creating),
        _call("renew_run", session_id, fence=epoch),
        _call("claim_send_request", session_id, send, st.sampled_from(["f", "é"]), owner=owners, **creating),
        _call("find_send_request", session_id, send),
        _call("settle_send_request", session_id, send, values, **guarded),
        _call("upsert_artifact", st.builds(
            lambda key, kind, uri, meta, at: SessionArtifact(
                id=key, session_id=session_id, kind=kind, uri=uri, label="l", created_at=1, updated_at=at, meta=meta
            ), artifact, st.sampled_from(["file", "k"]), st.sampled_from(["u", "v/w"]), values, st.integers(1, 3)),
            **guarded),
        _call("delete_artifact", session_id, artifact, **guarded),
    )  # fmt: skip


def _call(method: str, *args: Any, **kwargs: Any) -> st.SearchStrategy[Step]:
    def plain(value: Any) -> st.SearchStrategy[Any]:
        return value if isinstance(value, st.SearchStrategy) else st.just(value)

    return st.builds(Step, st.just(method), st.tuples(*map(plain, args)), st.fixed_dictionaries(kwargs))


filters = st.builds(
    lambda agent, status, project: SessionFilter(agent_id=agent, status=status, project_root=project),
    st.one_of(st.just(UNSET), labels, st.just("\ud800")),
    st.one_of(st.just(UNSET), statuses),
    st.one_of(st.just(UNSET), labels),
)
schedules = st.builds(
    lambda key, next_at, meta, extra: Schedule(
        id=key, prompt="p", enabled=True, next_fire_at=next_at, created_at=1, updated_at=1, metadata=meta, extra=extra
    ),
    st.sampled_from(["w1", "w/2"]),
    st.sampled_from([None, 5, 6]),
    st.one_of(st.none(), metadata),
    extras,
)
fires = st.builds(
    lambda key, schedule, status: ScheduleFire(id=key, schedule_id=schedule, due_at=5, fired_at=6, status=status),
    st.sampled_from(["f1", "f2"]),
    st.sampled_from(["w1", "w/2", "none"]),
    st.sampled_from(["started", "completed"]),
)
_plain_guard = {"guard": st.builds(lambda op: (None, None, op), st.sampled_from([None, "op3"]))}

steps = st.one_of(
    *map(_on_session, SESSIONS),
    *map(_on_session, SESSIONS[:1] * 4),
    _call("save", snapshots, create=st.booleans(), guard=guards("s")),
    _call("save_meta", snapshots, guard=guards("s"),
          keys=st.one_of(st.none(), st.lists(st.sampled_from(["title", "k", "x"]), unique=True))),
    _call("list_ids", filters, limit=limits, after=st.one_of(st.none(), ids, st.sampled_from(["", "\ud800", "a"]))),
    _call("list_meta", filters, limit=limits, after=st.sampled_from([None, None, "no cursor"])),
    _call("list_artifacts", st.builds(
        lambda session, kind, since, limit: ArtifactFilter(session_id=session, kind=kind, since=since, limit=limit),
        st.one_of(st.none(), ids), st.sampled_from([None, "file"]), st.sampled_from([None, 2]), limits)),
    _call("save_schedule", schedules, keep_next_fire_at=st.booleans(), **_plain_guard),
    _call("list_schedules"),
    _call("delete_schedule", st.sampled_from(["w1", "w/2"]), **_plain_guard),
    _call("claim_schedule_fire", st.sampled_from(["w1", "w/2"]), st.sampled_from([5, 6]), st.sampled_from([None, 6])),
    _call("record_schedule_fire", fires),
    _call("list_schedule_fires", st.sampled_from(["w1", "w/2", "none"]), st.integers(-1, 3)),
    _call("load", odd_ids),
)  # fmt: skip


async def resolved(step: Step, store: SessionStore) -> Step:
    """The step with the revisions and epochs that the sessions have now."""

    async def number(value: Any) -> Any:
        if not isinstance(value, Marked):
            return value
        row = await store.get_meta(value.session_id)
        return ((getattr(row, value.field) if row is not None else 0) or 0) + value.plus

    kwargs = {name: await number(value) for name, value in step.kwargs.items()}
    if isinstance(guard := kwargs.get("guard"), tuple):
        fence, rev, operation = guard
        kwargs["guard"] = Guard(fence=await number(fence), expected_rev=await number(rev), op_id=operation)
    return step._replace(kwargs=kwargs)
