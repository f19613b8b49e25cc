"""Damage: what cannot be read is an error that names it, never a shorter answer. The target's hook makes it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from zidane_core.conformance import samples
from zidane_core.conformance.check import Collector
from zidane_core.conformance.expectations import equal, holds, raises
from zidane_core.conformance.kit import Kit
from zidane_core.conformance.recording import unrecorded
from zidane_core.conformance.samples import turn, turns
from zidane_core.errors import CorruptRecordError

check = Collector(layer="damage")


async def _damage(kit: Kit, session_id: str, what: str, key: str) -> None:
    if kit.target.damage is None:
        raise RuntimeError("the target has no way to damage")
    await kit.target.damage(unrecorded(kit.store), session_id, what, key)
    kit.transcript.note(f"damage {what} {key} of {session_id!a}", "done")


@check("damage.turn")
async def damaged_turn(kit: Kit) -> None:
    """A damaged turn is CorruptRecordError for every read that needs it, naming session and turn; other windows are
    readable, and a tolerant load gives the rest with a report."""
    session_id = await kit.session(5)
    await _damage(kit, session_id, "turn", "2")
    reads: dict[str, Callable[[], Awaitable[object]]] = {
        "load": partial(kit.store.load, session_id),
        "get_turns": partial(kit.store.get_turns, session_id),
        "get_turns(2, 1)": partial(kit.store.get_turns, session_id, 2, 1),
        "get_turns(last=3)": partial(kit.store.get_turns, session_id, last=3),
    }
    for what, read in reads.items():
        error = await raises(CorruptRecordError, read(), f"{what} over a damaged turn")
        equal((error.session_id, error.where), (session_id, "turn 2"), f"what the error of {what} names")
    equal(await kit.store.get_turns(session_id, 0, 2), turns(0, 2), "the turns before it")
    equal(await kit.store.get_turns(session_id, last=2), turns(3, 5), "the turns after it")
    found = await kit.store.load(session_id, damaged="skip")
    equal(None if found is None else found.turns, [*turns(0, 2), *turns(3, 5)], "the turns of a tolerant load")
    report = [] if found is None else [each.where for each in found.damage or []]
    equal(report, ["turn 2"], "the damage that it reports")


@check("damage.run-and-metadata")
async def damaged_run_and_metadata(kit: Kit) -> None:
    """A damaged run, or metadata that is damaged, is CorruptRecordError; a tolerant load reports it and gives the rest."""
    for what, key, where in (("run", "r1", "run 'r1'"), ("metadata", "", "the metadata")):
        session_id = await kit.session(2, metadata={"k": 1})
        for run_id in ("r0", "r1", "r2"):
            await kit.store.update_run(session_id, samples.run(run_id))
        await _damage(kit, session_id, what, key)
        error = await raises(CorruptRecordError, kit.store.load(session_id), f"load over a damaged {what}")
        equal((error.session_id, error.where), (session_id, where), "what the error names")
        found = await kit.store.load(session_id, damaged="skip")
        report = [] if found is None else [each.where for each in found.damage or []]
        equal(report, [where], "the damage that a tolerant load reports")
        equal(None if found is None else found.turns, turns(0, 2), "the turns of a tolerant load")


@check("damage.stays-where-it-is", sessions=2)
async def stays_where_it_is(kit: Kit) -> None:
    """Damage in one session leaves others, listings of ids, and appends readable and writable, and is never healed by
    forgetting it."""
    session_id, other = await kit.session(3), await kit.session(2)
    await _damage(kit, session_id, "turn", "0")
    equal(await kit.store.get_turns(other), turns(0, 2), "another session")
    holds(
        session_id in await kit.store.list_ids(), "the ids", expected="the damaged session too", found="it is missing"
    )
    await kit.store.append_turns(session_id, [turn(3)])
    equal(await kit.store.get_turns(session_id, last=1), [turn(3)], "the tail after an append")
    if kit.declares("history"):
        call = kit.store.mutate_history(session_id, lambda now: now)
        await raises(CorruptRecordError, call, "an edit of a damaged history")
    await raises(CorruptRecordError, kit.store.load(session_id), "load after all that")
