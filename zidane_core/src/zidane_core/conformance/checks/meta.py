"""Meta: headers without turns, and metadata that many writers share."""

from __future__ import annotations

import asyncio

import msgspec
from msgspec.structs import replace

from zidane_core.conformance import samples
from zidane_core.conformance.calls import prepare
from zidane_core.conformance.check import Collector
from zidane_core.conformance.expectations import equal
from zidane_core.conformance.kit import Kit
from zidane_core.conformance.samples import run, turn, turns

check = Collector("meta")


@check("meta.counts")
async def counts(kit: Kit) -> None:
    """A meta row counts turns, user turns and runs, whatever was done to the history."""
    session_id = await kit.session(5)
    await _counts(kit, session_id, (5, 3, 0))
    await kit.store.append_turns(session_id, [*turns(3, 6), turn(6, role="system")], run=run("r0"))
    await _counts(kit, session_id, (7, 3, 1))
    await kit.store.update_run(session_id, run("r0", label="again"))
    await kit.store.update_run(session_id, run("r1"))
    await _counts(kit, session_id, (7, 3, 2))
    await kit.store.save(samples.snapshot(session_id, turns=turns(1, 3), runs=[run("r7")]))
    await _counts(kit, session_id, (2, 1, 1))
    if kit.declares("history"):
        await kit.store.append_turns(session_id, turns(3, 9))
        await kit.store.truncate(session_id, "t6")
        await _counts(kit, session_id, (5, 2, 1))
        await kit.store.mutate_history(session_id, lambda now: replace(now, turns=[turn(0)], runs=[]))
        await _counts(kit, session_id, (1, 1, 0))


async def _counts(kit: Kit, session_id: str, wanted: tuple[int, int, int]) -> None:
    row = await kit.row(session_id)
    equal((row.turn_count, row.user_message_count, row.run_count), wanted, "turns, user turns and runs of the row")


@check("meta.first-user-turn")
async def first_user_turn(kit: Kit) -> None:
    """A row has the first user turn, unless the metadata has a title; editing the history moves it."""
    session_id = await kit.session()
    equal((await kit.row(session_id)).first_user_turn, None, "the first user turn of an empty history")
    await kit.store.append_turns(session_id, [turn(1), turn(2, "first"), turn(4, "second")])
    equal((await kit.row(session_id)).first_user_turn, turn(2, "first"), "the first user turn")
    await kit.store.patch_meta(session_id, {"title": "Titled"})
    equal((await kit.row(session_id)).first_user_turn, None, "the first user turn where there is a title")
    await kit.store.patch_meta(session_id, {"title": msgspec.UNSET})
    await kit.store.save(samples.snapshot(session_id, turns=[turn(4, "second")]))
    equal((await kit.row(session_id)).first_user_turn, turn(4, "second"), "the first user turn after a save")
    if kit.declares("history"):
        await kit.store.truncate(session_id, "t4")
        equal((await kit.row(session_id)).first_user_turn, None, "the first user turn after truncating it away")


@check("meta.patch")
async def patch(kit: Kit) -> None:
    """`patch_meta` writes the keys that it names and no other: UNSET removes one, None stores a null."""
    subject = await prepare(kit)
    before = await kit.loaded(subject.session_id)
    await kit.store.patch_meta(subject.session_id, {"new": [1], "null": None, "z": 1, "a": 2})
    await kit.store.patch_meta(subject.session_id, {"z": msgspec.UNSET, "missing": msgspec.UNSET, "a": {"b": 3}})
    after = await kit.loaded(subject.session_id)
    equal(after.metadata, {"k": 0, "new": [1], "null": None, "a": {"b": 3}}, "the metadata")
    equal(replace(after, metadata={}, rev=0), replace(before, metadata={}, rev=0), "the rest of the session")


@check("meta.save-keys")
async def save_keys(kit: Kit) -> None:
    """`save_meta` writes just the named keys, and removes named ones that the snapshot lacks; without names it
    replaces all."""
    session_id = await kit.session(2, metadata={"mine": 1, "theirs": 2, "gone": 3})
    data = await kit.loaded(session_id)
    await kit.store.append_turns(session_id, [], metadata={"theirs": 20, "later": 4})
    changed = replace(data, metadata={"mine": 10, "theirs": 2, "unnamed": 5})
    await kit.store.save_meta(changed, keys=["mine", "gone"])
    wanted = {"mine": 10, "theirs": 20, "later": 4}
    equal((await kit.loaded(session_id)).metadata, wanted, "the metadata after naming keys")
    await kit.store.save_meta(changed, keys=[])
    equal((await kit.loaded(session_id)).metadata, wanted, "the metadata after naming none")
    await kit.store.save_meta(changed)
    equal((await kit.loaded(session_id)).metadata, changed.metadata, "the metadata after naming all")


@check("meta.save-never-turns")
async def save_never_turns(kit: Kit) -> None:
    """`save_meta` writes header and runs, and leaves turns and other runs alone, however old the snapshot."""
    subject = await prepare(kit)
    old = await kit.loaded(subject.session_id)
    await kit.store.append_turns(subject.session_id, [turn(3)], run=run("r1"))
    edited = run("r0", status="completed", ended_at=9)
    await kit.store.save_meta(replace(old, turns=[turn(9)], runs=[edited], agent_id="new", status="completed"))
    found = await kit.loaded(subject.session_id)
    equal(found.turns, turns(0, 4), "the history")
    equal(found.runs, [edited, run("r1")], "the runs")
    equal((found.agent_id, found.status), ("new", "completed"), "the header")


@check("meta.concurrent-patches", layer="tasks")
async def concurrent_patches(kit: Kit) -> None:
    """Concurrent writes of different metadata keys lose nothing of one another."""
    session_id = await kit.session()
    count = kit.count(60, least=12)
    await asyncio.gather(
        *(
            kit.store.patch_meta(session_id, {f"k{at}": at})
            if at % 2
            else kit.store.append_turns(session_id, [turn(at)], metadata={f"k{at}": at})
            for at in range(count)
        )
    )
    found = (await kit.loaded(session_id)).metadata
    equal(dict(sorted(found.items())), dict(sorted((f"k{at}", at) for at in range(count))), "the metadata")


@check("meta.concurrent-patches-instances", layer="instances")
async def concurrent_patches_instances(kit: Kit) -> None:
    """Concurrent metadata writes through several handles lose nothing of one another."""
    handles = [kit.store, await kit.open(), await kit.open()]
    session_id = await kit.session()
    count = kit.count(60, least=12)
    await asyncio.gather(*(handles[at % 3].patch_meta(session_id, {f"k{at}": at}) for at in range(count)))
    equal(len((await kit.loaded(session_id)).metadata), count, "how many keys the metadata has")
