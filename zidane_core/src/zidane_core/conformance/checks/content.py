"""Content: what went in comes out, what cannot be kept is refused, and nobody shares objects with the store."""

from __future__ import annotations

import enum
import math
from collections.abc import Awaitable, Callable
from copy import deepcopy
from datetime import UTC, datetime
from typing import Any, cast

from msgspec.structs import replace

from zidane_core.conformance import samples
from zidane_core.conformance.check import Collector
from zidane_core.conformance.expectations import BrokenRuleError, equal, raises
from zidane_core.conformance.kit import Kit
from zidane_core.conformance.samples import turn, turns
from zidane_core.errors import InvalidContentError
from zidane_core.records import (
    RunErrorDetail,
    RunEstimate,
    RunEstimateFailure,
    RunOrigin,
    RunUserWait,
    SessionRun,
    SessionRunAgent,
    SessionRunRetry,
    StoredRunOptions,
)

check = Collector()

STRANGE_VALUES: dict[str, Any] = {
    "empty": ["", [], {}, [[]], [{}], None],
    "numbers": [0, -0.0, 1, 1.0, True, False, -1, 0.1, 1e308, 5e-324, 2**53 + 1, -(2**63), 2**64, 10**40],
    "text": "a\x00b \x01 \x7f \u2028 \u2029 \ufeff é e\u0301 \U0001f9d1\u200d\U0001f680 \U0010ffff \ufffe",
    "lone surrogates": ["\ud83d", "x\udc00y", {"\ud800": "\udfff"}],
    "quotes": "\" ' \\ / \\u0041 \\x00 %s %d {} ${x} `; drop table sessions; --",
    "whitespace": " \t\r\n ",
    "looks like an object": {"__class__": "os.system", "py/object": "os.system", "$type": "System", "$ref": "#/"},
    "looks like JSON": '{"a": [1, 2',
    "keys": {"": 1, "a.b": 2, "$set": 3, "a\x00b": 4, "1": 5, "]": 6, "'); drop": 7, "Ünïcode": 8},
    "order": {"z": 1, "a": 2, "m": {"y": 1, "b": 2}},
}


def same(found: object, expected: object, what: str) -> None:
    """Equal, types, signs and the order of keys included."""
    if _told(found) != _told(expected):
        raise BrokenRuleError(what, expected=ascii(expected)[:500], found=ascii(found)[:500])


def _told(value: Any) -> Any:
    if isinstance(value, dict):
        return ["dict", *((key, _told(item)) for key, item in cast("dict[str, Any]", value).items())]
    if isinstance(value, list):
        return ["list", *map(_told, cast("list[object]", value))]
    if isinstance(value, float):
        return ("float", value, math.copysign(1, value))
    return (type(value).__name__, value)


@check("content.strange-values")
async def strange_values(kit: Kit) -> None:
    """Any JSON value comes back unchanged from turns and metadata: types, signs, NUL, surrogates, key order."""
    session_id = await kit.session(0, metadata={"created": STRANGE_VALUES})
    for at, (name, value) in enumerate(STRANGE_VALUES.items()):
        block = {"type": "tool_call", "id": "c", "name": "n", "input": {"value": value}}
        given = turn(at, content=[block, {"type": "text", "text": "t"}], usage={"input": 1, "provider": value})
        await kit.store.append_turns(session_id, [given], metadata={name: value})
        found = (await kit.store.get_turns(session_id, last=1))[0]
        same(found.content, given.content, f"the content of a turn with {name}")
        same(found.usage, given.usage, f"the usage of a turn with {name}")
    metadata = (await kit.loaded(session_id)).metadata
    same(metadata["created"], STRANGE_VALUES, "the metadata that the creation wrote")
    for name, value in STRANGE_VALUES.items():
        same(metadata[name], value, f"the metadata {name}")


@check("content.text")
async def text(kit: Kit) -> None:
    """Text comes back unchanged in every text field: block, prompt, error, label."""
    session_id = await kit.session()
    hard = ["\x00", "\ud83d", "\U0001f600" * 50, "a\r\nb", " ", "日本語のタイトル", "\u202e"]
    given = [turn(at, each) for at, each in enumerate(hard)]
    runs = [samples.run(f"r{at}", prompt=each, error=each, label=each) for at, each in enumerate(hard)]
    for one, run in zip(given, runs, strict=True):
        await kit.store.append_turns(session_id, [one], run=run)
    found = await kit.loaded(session_id)
    equal((found.turns, found.runs), (given, runs), "the turns and runs")


@check("content.surrogate-pairs")
async def surrogate_pairs(kit: Kit) -> None:
    """A character written as two surrogates comes back as that character."""
    session_id = await kit.session()
    await kit.store.append_turns(session_id, [turn(0, "\ud83d\ude00 and \ud83d alone")])
    equal(await kit.store.get_turns(session_id), [turn(0, "\U0001f600 and \ud83d alone")], "the turn")


@check("content.unknown-keys")
async def unknown_keys(kit: Kit) -> None:
    """A key or a block type that this version does not know is kept on turns, runs, sessions and nested records."""
    session_id = kit.session_id()
    future = {"futureKey": {"deep": [1, None]}, "another": "x"}
    given = turn(0, content=[{"type": "hologram", "rays": [1, 2], "id": None}], extra=future)
    agent = SessionRunAgent(id="a", label="A", extra={"colour": "green"})
    run = samples.run("r0", agent=agent, extra=future)
    create = kit.header(extra=future, metadata={"m": 1})
    await kit.store.append_turns(session_id, [given], run=run, create=create)
    found = await kit.loaded(session_id)
    equal((found.turns, found.runs, found.extra), ([given], [run], future), "the session")
    await kit.store.save(found)
    again = await kit.loaded(session_id)
    equal((again.turns, again.runs, again.extra), ([given], [run], future), "the session, saved back")


@check("content.every-field")
async def every_field(kit: Kit) -> None:
    """A run and a turn with every field set come back equal."""
    session_id = await kit.session()
    usage: Any = {"input": 1, "output": 2, "cacheRead": 3, "cost": 0.25, "modelId": "m"}
    retry = SessionRunRetry(
        attempt=1,
        max_attempts=3,
        delay_ms=5,
        message="m",
        turn_id="t0",
        code="c",
        error_type="e",
        status_code=529,
        discarded_text=True,
    )
    run = SessionRun(
        id="r0",
        status="error",
        prompt="p",
        started_at=1,
        ended_at=2,
        error="e",
        error_detail=RunErrorDetail(message="m", code="c", status_code=500, provider="p", retryable=False, reset_at=7),
        agent=SessionRunAgent(id="a", label="l"),
        depth=0,
        label="l",
        parent_run_id="r9",
        parent_call_id="c9",
        resumed_from_run_id="r8",
        origin=RunOrigin(kind="k", display="d"),
        turns=0,
        tokens_in=1,
        tokens_out=2,
        cost=0.5,
        total_usage=usage,
        turn_usage=[usage, {}],
        estimate=RunEstimate(
            at=1, initial_ms=2, total_ms=3, high_ms=4, revisions=0, calibration=1.5, overrun_checked=False
        ),
        estimate_failure=RunEstimateFailure(at=1, reason="r", message="m"),
        user_wait=RunUserWait(ms=0, since=3),
        stream_retries=[retry],
        resumable=False,
        loop_turn=0,
        wall_ms=0,
        options=StoredRunOptions(behavior={"b": None}, model={"m": []}, model_options={}, thinking="high"),
    )
    given = turn(0, role="command", run_id="r0", usage=usage, content=[])
    await kit.store.append_turns(session_id, [given], run=run)
    found = await kit.loaded(session_id)
    equal((found.turns, found.runs), ([given], [run]), "the turn and the run")


class _Text(str):
    __slots__ = ()


class _Colour(enum.StrEnum):
    GREEN = "green"


def _deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


UNSTORABLE: dict[str, Any] = {
    "an integer as a key": {1: "a", "1": "b"},
    "None as a key": {None: 1},
    "a tuple": (1, 2),
    "a set": {1},
    "bytes": b"x",
    "a date": datetime(2024, 1, 1, tzinfo=UTC),
    "NaN": math.nan,
    "infinity": -math.inf,
    "a subclass of str": _Text("x"),
    "an enum": _Colour.GREEN,
    "an object": object(),
    "nesting past 200": _deep(201),
}


@check("content.refused")
async def refused(kit: Kit) -> None:
    """What JSON cannot hold unchanged is InvalidContentError wherever it stands; nothing is stored, and later writes
    work."""
    session_id = await kit.session(1, metadata={"k": 1})
    before = await kit.loaded(session_id)
    for name, value in UNSTORABLE.items():
        for place, call in _writes_of_value(kit, session_id, value).items():
            await raises(InvalidContentError, call(), f"{place} with {name}")
    equal(await kit.store.load(session_id), before, "the session after all the refusals")
    await kit.store.append_turns(session_id, [turn(1)])
    equal(await kit.store.get_turns(session_id), turns(0, 2), "the history after the next append")


def _writes_of_value(kit: Kit, session_id: str, value: Any) -> dict[str, Callable[[], Awaitable[object]]]:
    store, fresh = kit.store, kit.session_id()
    bad = turn(5, content=[{"type": "tool_call", "id": "c", "name": "n", "input": {"v": value}}])
    data = samples.snapshot(session_id, metadata={"v": value})
    calls: dict[str, Callable[[], Awaitable[object]]] = {
        "append_turns": lambda: store.append_turns(session_id, [bad]),
        "append_turns, its metadata": lambda: store.append_turns(session_id, [turn(5)], metadata={"v": value}),
        "append_turns, its creation": lambda: store.append_turns(fresh, [], create=kit.header(metadata={"v": value})),
        "update_run": lambda: store.update_run(session_id, samples.run("r5", total_usage={"v": value})),
        "save": lambda: store.save(data),
        "save, its turns": lambda: store.save(samples.snapshot(session_id, turns=[bad])),
    }
    if kit.declares("meta"):
        calls["save_meta"] = lambda: store.save_meta(data)
        calls["patch_meta"] = lambda: store.patch_meta(session_id, {"v": value})
    if kit.declares("history"):
        calls["mutate_history"] = lambda: store.mutate_history(session_id, lambda now: replace(now, turns=[bad]))
    if kit.declares("artifacts"):
        row = samples.artifact(session_id, "a5", meta={"v": value})
        calls["upsert_artifact"] = lambda: store.upsert_artifact(row)
    if kit.declares("send_requests"):
        calls["settle_send_request"] = lambda: store.settle_send_request(session_id, "q", {"v": value})
    return calls


@check("content.created-at-is-kept")
async def created_at_is_kept(kit: Kit) -> None:
    """`created_at` of session and turns is kept as given, whatever is written later."""
    session_id = await kit.session(0, created_at=77)
    stamps = [0, 5, 5, -3, 2**53]
    for at, stamp in enumerate(stamps):
        await kit.store.append_turns(session_id, [turn(at, created_at=stamp)])
    await kit.store.update_run(session_id, samples.run())
    await kit.store.update_status(session_id, "completed")
    await kit.store.save(replace(await kit.loaded(session_id), created_at=99))
    found = await kit.loaded(session_id)
    equal(found.created_at, 77, "the session's created_at")
    equal([each.created_at for each in found.turns], stamps, "the turns' created_at")


# -- aliasing ---------------------------------------------------------------------------------


@check("alias.what-was-handed-in", layer="aliasing")
async def what_was_handed_in(kit: Kit) -> None:
    """Changing an object after it was handed to the store changes nothing that is stored."""
    session_id = kit.session_id()
    inner: dict[str, Any] = {"list": [1]}
    block: dict[str, Any] = {"type": "tool_call", "id": "c", "name": "n", "input": inner}
    batch = [turn(0, content=[block])]
    usage: dict[str, Any] = {"input": 1}
    metadata: dict[str, Any] = {"inner": inner}
    await kit.store.append_turns(session_id, batch, create=kit.header(metadata=metadata))
    await kit.store.append_turns(session_id, [], run=samples.run("r0", total_usage=usage), metadata={"p": inner})
    before = deepcopy(await kit.loaded(session_id))
    equal(before.metadata["p"], {"list": [1]}, "the metadata before the change")
    inner["list"].append(2)
    block["name"] = "changed"
    batch.append(turn(9))
    usage["input"] = 2
    metadata["more"] = True
    equal(await kit.store.load(session_id), before, "the session after the caller changed its objects")


@check("alias.what-was-read", layer="aliasing")
async def what_was_read(kit: Kit) -> None:
    """Changing what a read gave changes nothing that is stored, and no later answer."""
    session_id = await kit.session(2, metadata={"inner": {"list": [1]}})
    await kit.store.update_run(session_id, samples.run("r0", total_usage={"input": 1}))
    before = deepcopy(await kit.loaded(session_id))
    spoilt: Any = await kit.loaded(session_id)
    spoilt.metadata["inner"]["list"].append(2)
    spoilt.turns[0].content[0]["text"] = "changed"
    spoilt.runs[0].total_usage["input"] = 2
    spoilt.turns.append(turn(9))
    read: Any = await kit.store.get_turns(session_id)
    read[1].content[0]["text"] = "changed"
    read.clear()
    if kit.declares("meta"):
        row: Any = await kit.row(session_id)
        row.metadata["inner"]["list"].append(3)
        row.first_user_turn.content[0]["text"] = "changed"
        page: Any = await kit.store.list_meta()
        next(each for each in page.items if each.id == session_id).metadata["x"] = 1
        again = await kit.row(session_id)
        told = (again.metadata, again.first_user_turn)
        equal(told, (before.metadata, before.turns[0]), "the meta row after that")
    equal(await kit.store.load(session_id), before, "the session after the reader changed its copies")
    equal(await kit.store.get_turns(session_id), before.turns, "the history after that")


@check("alias.mutation", capability="history", layer="aliasing")
async def mutation(kit: Kit) -> None:
    """What `mutate_history` hands out are copies, and changing what it got back changes nothing that is stored."""
    session_id = await kit.session(2)
    kept: list[Any] = []

    def spoil(history: Any) -> None:
        history.turns[0].content[0]["text"] = "changed"
        kept.append(history)

    equal(await kit.store.mutate_history(session_id, spoil), None, "the answer to a mutation that returns None")
    equal(await kit.store.get_turns(session_id), turns(0, 2), "the history")
    block: dict[str, Any] = {"type": "text", "text": "new"}
    await kit.store.mutate_history(session_id, lambda now: replace(now, turns=[turn(5, content=[block])]))
    block["text"] = "changed"
    equal(await kit.store.get_turns(session_id), [turn(5, "new")], "the history after the caller changed its block")


@check("alias.artifacts", capability="artifacts", layer="aliasing")
async def artifacts(kit: Kit) -> None:
    """Artifacts and results of send requests are copies too."""
    session_id = await kit.session()
    meta: dict[str, Any] = {"list": [1]}
    answer: Any = await kit.store.upsert_artifact(samples.artifact(session_id, "a0", meta=meta))
    meta["list"].append(2)
    answer.meta["list"].append(3)
    listed: Any = await kit.store.list_artifacts()
    next(row for row in listed if row.session_id == session_id).meta["list"].append(4)
    found = [row.meta for row in await kit.store.list_artifacts() if row.session_id == session_id]
    equal(found, [{"list": [1]}], "the stored meta")
