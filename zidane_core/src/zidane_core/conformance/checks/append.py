"""Appending: order, repetition, conflicts, whole batches."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from zidane_core.conformance import samples
from zidane_core.conformance.check import Collector
from zidane_core.conformance.expectations import equal, holds, raises
from zidane_core.conformance.kit import Kit
from zidane_core.conformance.samples import turn, turns
from zidane_core.errors import (
    ContentTooLargeError,
    InvalidContentError,
    SessionNotFoundError,
    TurnConflictError,
)
from zidane_core.store import TURN_MAX_BYTES, Patch, Written

check = Collector()


@check("append.order")
async def order(kit: Kit) -> None:
    """Turns come back in the order in which they were appended, whatever their `created_at` says."""
    session_id = await kit.session()
    stamps = [10, 5, 5, 10**13, 0, 7, 7, 7]
    given = [turn(at, created_at=stamps[at % len(stamps)]) for at in range(kit.count(200, least=40))]
    at = 0
    while at < len(given):
        size = kit.random.randint(1, 7)
        await kit.store.append_turns(session_id, given[at : at + size])
        at += size
    equal(await kit.store.get_turns(session_id), given, "the history")
    loaded = await kit.store.load(session_id)
    equal(None if loaded is None else loaded.turns, given, "the loaded history")


@check("append.answer")
async def answer(kit: Kit) -> None:
    """The answer tells the revision after the write and before it, and how many turns were new."""
    session_id = kit.session_id()
    first = await kit.store.append_turns(session_id, turns(0, 2), create=kit.header())
    second = await kit.store.append_turns(session_id, turns(1, 4))
    holds(first.rev > 0, "the first revision", expected="more than 0", found=first.rev)
    holds(second.rev > first.rev, "the next revision", expected=f"more than {first.rev}", found=second.rev)
    equal(first, Written(rev=first.rev, previous=0, added=2), "the answer to the first append")
    equal(second, Written(rev=second.rev, previous=first.rev, added=2), "the answer to the second append")
    loaded = await kit.store.load(session_id)
    equal(None if loaded is None else loaded.rev, second.rev, "the revision that load tells")


@check("append.repeated")
async def repeated(kit: Kit) -> None:
    """Appending what is stored with equal content changes nothing, and answers the current revision."""
    session_id = await kit.session(3)
    before = await kit.loaded(session_id)
    written = await kit.store.append_turns(session_id, turns(1, 3))
    equal(written, Written(rev=before.rev or 0, previous=before.rev or 0), "the answer to the repeated append")
    equal(await kit.store.load(session_id), before, "the session after the repeated append")


@check("append.repeated-front")
async def repeated_front(kit: Kit) -> None:
    """Of a batch that begins with stored turns only the new ones are added."""
    session_id = await kit.session(3)
    written = await kit.store.append_turns(session_id, turns(0, 5))
    equal(written.added, 2, "how many were new")
    equal(await kit.store.get_turns(session_id), turns(0, 5), "the history")


@check("append.repeated-in-batch")
async def repeated_in_batch(kit: Kit) -> None:
    """The same turn twice in one batch is stored once; twice with other content it is a conflict."""
    session_id = await kit.session()
    written = await kit.store.append_turns(session_id, [turn(0), turn(1), turn(0)])
    equal(written.added, 2, "how many were new")
    equal(await kit.store.get_turns(session_id), turns(0, 2), "the history")
    before = await kit.store.load(session_id)
    batch = [turn(5), turn(6), turn(5, "other")]
    await raises(TurnConflictError, kit.store.append_turns(session_id, batch), "a batch that contradicts itself")
    equal(await kit.store.load(session_id), before, "the session after the refused batch")


@check("append.conflict")
async def conflict(kit: Kit) -> None:
    """A turn whose id is stored with other content is TurnConflictError, and nothing of the batch is stored."""
    session_id = await kit.session(2)
    before = await kit.store.load(session_id)
    for other in (turn(1, "other"), turn(1, created_at=1), turn(1, run_id="r9"), turn(1, extra={"new": 1})):
        call = kit.store.append_turns(session_id, [turn(7), other])
        error = await raises(TurnConflictError, call, "an append of another turn t1")
        equal((error.session_id, error.turn_id), (session_id, "t1"), "what the error names")
    equal(await kit.store.load(session_id), before, "the session after the refused batches")


@check("append.key-order-is-no-conflict")
async def key_order_is_no_conflict(kit: Kit) -> None:
    """Two turns with the same content are equal whatever the order of their keys."""
    session_id = await kit.session()
    one = turn(0, usage={"input": 1, "output": 2})
    await kit.store.append_turns(session_id, [one])
    same = replace(one, usage={"output": 2, "input": 1})
    equal((await kit.store.append_turns(session_id, [same])).added, 0, "how many were new")


@check("append.equal-content")
async def equal_content(kit: Kit) -> None:
    """Two turns with equal content and different ids are both kept."""
    session_id = await kit.session()
    given = [turn(0, "yes"), turn(2, "yes"), turn(4, "yes")]
    for each in given:
        await kit.store.append_turns(session_id, [each])
    equal(await kit.store.get_turns(session_id), given, "the history")


@check("append.same-ids-elsewhere", sessions=2)
async def same_ids_elsewhere(kit: Kit) -> None:
    """Turn ids are unique within a session, not beyond it."""
    one, other = await kit.session(2), await kit.session()
    await kit.store.append_turns(other, [turn(0, "other"), turn(1, "other")])
    equal(await kit.store.get_turns(one), turns(0, 2), "the first session's history")
    equal(await kit.store.get_turns(other), [turn(0, "other"), turn(1, "other")], "the second session's history")


@check("append.empty")
async def empty(kit: Kit) -> None:
    """An append of nothing changes nothing on a known session, and is SessionNotFoundError on an unknown one."""
    session_id = await kit.session(1)
    before = await kit.store.load(session_id)
    written = await kit.store.append_turns(session_id, [])
    equal(written.added, 0, "how many were new")
    equal(await kit.store.load(session_id), before, "the session after the empty append")
    await kit.store.delete(session_id)
    for unknown in (session_id, kit.session_id()):
        await raises(SessionNotFoundError, kit.store.append_turns(unknown, []), "an empty append on an unknown id")
        equal(await kit.store.load(unknown), None, "the session that nobody made")


@check("append.with-run-and-metadata")
async def with_run_and_metadata(kit: Kit) -> None:
    """Turns, run and metadata of one append are written together, and refused together."""
    session_id = await kit.session(1, metadata={"kept": 1, "gone": 2})
    patch: Patch = {"new": 3, "gone": msgspec.UNSET, "null": None}
    await kit.store.append_turns(session_id, [turn(1)], run=samples.run("r1"), metadata=patch)
    found = await kit.loaded(session_id)
    equal([found.turns, found.runs], [turns(0, 2), [samples.run("r1")]], "the turns and runs")
    equal(found.metadata, {"kept": 1, "new": 3, "null": None}, "the metadata")
    call = kit.store.append_turns(session_id, [turn(1, "other")], run=samples.run("r2"), metadata={"new": 4})
    await raises(TurnConflictError, call, "a conflicting append with a run and metadata")
    equal(await kit.store.load(session_id), found, "the session after the refused append")


@check("append.refused-whole")
async def refused_whole(kit: Kit) -> None:
    """A batch with a turn that cannot be stored stores nothing, and the next append works."""
    session_id = await kit.session(1)
    before = await kit.store.load(session_id)
    bad = turn(3, content=[{"type": "text", "text": {1, 2}}])
    call = kit.store.append_turns(session_id, [turn(1), turn(2), bad], run=samples.run(), metadata={"k": 1})
    await raises(InvalidContentError, call, "a batch whose third turn holds a set")
    equal(await kit.store.load(session_id), before, "the session after the refused batch")
    await kit.store.append_turns(session_id, [turn(1)])
    equal(await kit.store.get_turns(session_id), turns(0, 2), "the history after the next append")


@check("append.limits")
async def limits(kit: Kit) -> None:
    """A turn or a batch past the declared limit is ContentTooLargeError with nothing stored; up to it, it is kept."""
    session_id = await kit.session(1)
    before = await kit.store.load(session_id)
    largest = min(kit.capabilities.max_turn_bytes or TURN_MAX_BYTES, TURN_MAX_BYTES)
    with kit.unseen():
        call = kit.store.append_turns(session_id, [turn(1), turn(2, "x" * (largest + 1))])
        await raises(ContentTooLargeError, call, f"a turn of more than {largest} bytes")
        if kit.capabilities.max_batch_turns is not None:
            batch = turns(1, kit.capabilities.max_batch_turns + 2)
            await raises(ContentTooLargeError, kit.store.append_turns(session_id, batch), "a batch past the limit")
    equal(await kit.store.load(session_id), before, "the session after the refused append")


@check("append.large")
async def large(kit: Kit) -> None:
    """A turn that is just within the limit comes back whole, up to a million characters."""
    session_id = await kit.session()
    largest = min(kit.capabilities.max_turn_bytes or TURN_MAX_BYTES, 1_000_000)
    big = turn(0, "é" * (largest // 2 - 200))
    with kit.unseen():
        await kit.store.append_turns(session_id, [big])
        found = await kit.store.get_turns(session_id)
    holds(found == [big], "the large turn", expected="the same turn", found=found[0].id if found else None)
