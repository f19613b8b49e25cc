"""Reading back: windows of the history, snapshots, numbers that are numbers."""

from __future__ import annotations

import asyncio

from zidane_core.conformance import samples
from zidane_core.conformance.check import Collector
from zidane_core.conformance.expectations import equal, holds, raises
from zidane_core.conformance.kit import Kit
from zidane_core.conformance.samples import turn, turns
from zidane_core.errors import SessionNotFoundError

check = Collector()


@check("turns.window")
async def window(kit: Kit) -> None:
    """`start` and `limit` cut the history like a slice; 0 is nothing, None is all, past the end is empty."""
    session_id = await kit.session(10)
    for start in (0, 1, 4, 9, 10, 11, 1000):
        for limit in (None, 0, 1, 3, 10, 1000):
            stop = None if limit is None else start + limit
            found = await kit.store.get_turns(session_id, start, limit)
            equal(found, turns(0, 10)[start:stop], f"get_turns(start={start}, limit={limit})")


@check("turns.tail")
async def tail(kit: Kit) -> None:
    """`last=n` is the last n turns in order; 0 is nothing, more than there are is all."""
    session_id = await kit.session(10)
    for last in (0, 1, 3, 9, 10, 11, 1000):
        found = await kit.store.get_turns(session_id, last=last)
        equal(found, turns(0, 10)[10 - min(10, last) :], f"get_turns(last={last})")


@check("turns.numbers")
async def numbers(kit: Kit) -> None:
    """A negative number, or `last` together with `start` or `limit`, is ValueError; an unknown id is not found."""
    session_id = await kit.session(3)
    for wrong in ({"start": -1}, {"limit": -1}, {"last": -1}, {"start": 1, "last": 1}, {"limit": 1, "last": 1}):
        await raises(ValueError, kit.store.get_turns(session_id, **wrong), f"get_turns with {wrong}")
    for legal in ({}, {"start": 5}, {"limit": 0}, {"last": 0}, {"last": 2}):
        call = kit.store.get_turns(kit.session_id(), **legal)
        await raises(SessionNotFoundError, call, f"get_turns with {legal} of an unknown session")


@check("turns.unknown-load")
async def unknown_load(kit: Kit) -> None:
    """Loading an unknown id is None, whether damage is tolerated or not."""
    equal(await kit.store.load(kit.session_id()), None, "load of an unknown id")
    equal(await kit.store.load(kit.session_id(), damaged="skip"), None, "load(damaged='skip') of an unknown id")


@check("load.whole")
async def whole(kit: Kit) -> None:
    """`load` gives everything at one revision, equal each time; tolerating damage finds none where there is none."""
    session_id = await kit.session(4, agent_id="agent", project_root="/root", metadata={"b": 1, "a": {"x": None}})
    await kit.store.update_run(session_id, samples.run("r1"))
    found = await kit.loaded(session_id)
    equal((found.agent_id, found.project_root), ("agent", "/root"), "the labels")
    equal((found.turns, found.runs), (turns(0, 4), [samples.run("r1")]), "the turns and runs")
    equal(list(found.metadata.items()), [("b", 1), ("a", {"x": None})], "the metadata, in its order")
    equal(found.created_at, samples.EPOCH_MS, "created_at")
    equal((found.status, found.run_owner, found.epoch, found.damage), ("idle", None, None, None), "the rest")
    equal(await kit.store.load(session_id), found, "a second load")
    equal(await kit.store.load(session_id, damaged="skip"), found, "a load that tolerates damage")


@check("load.one-snapshot", layer="tasks")
async def one_snapshot(kit: Kit) -> None:
    """A load amid concurrent appends sees turns, metadata and revision of one moment."""
    session_id = await kit.session(0, metadata={"count": 0})
    total = kit.count(200, least=30)

    async def write() -> None:
        for at in range(total):
            await kit.store.append_turns(session_id, [turn(at)], metadata={"count": at + 1})
            await asyncio.sleep(0)

    writing = asyncio.create_task(write())
    seen, before = -1, 0
    while seen < total:
        ended = writing.done()
        found = await kit.loaded(session_id)
        seen = len(found.turns)
        equal(found.metadata["count"], seen, "the count in the metadata of a history of that length")
        equal([each.id for each in found.turns], [f"t{at}" for at in range(seen)], "the history amid appends")
        holds((found.rev or 0) >= before, "the revision", expected=f"at least {before}", found=found.rev)
        before = found.rev or 0
        if ended:
            equal(seen, total, "how many turns there are after all appends")
        await asyncio.sleep(0)
    await writing


@check("turns.tail-amid-appends", layer="tasks")
async def tail_amid_appends(kit: Kit) -> None:
    """Walking by position while others append sees every turn once."""
    session_id = await kit.session(5)
    total = kit.count(100, least=20)

    async def write() -> None:
        for at in range(5, total):
            await kit.store.append_turns(session_id, [turn(at)])
            await asyncio.sleep(0)

    writing = asyncio.create_task(write())
    seen: list[str] = []
    while not writing.done() or len(seen) < total:
        page = await kit.store.get_turns(session_id, len(seen), 3)
        seen += [each.id for each in page]
        if not page and writing.done():
            break
        await asyncio.sleep(0)
    await writing
    equal(seen, [f"t{at}" for at in range(total)], "the ids that the walk saw")
