"""Cancellation: a cancelled call has happened wholly or not at all, and the store goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from zidane_core.conformance.calls import Ask, Subject, Write, prepare, reads_of, writes_of
from zidane_core.conformance.check import Collector
from zidane_core.conformance.expectations import BrokenRuleError, equal, holds, outcome
from zidane_core.conformance.interruptions import Interrupted, Interruption, at_every_suspension, interrupt
from zidane_core.conformance.kit import Kit
from zidane_core.conformance.samples import run, turn, turns
from zidane_core.conformance.surroundings import Surroundings
from zidane_core.errors import StoreError
from zidane_core.records import SessionTurn
from zidane_core.store import SessionStore

check = Collector(layer="cancellation")

PROMPT_SECONDS = 10.0
"""How long a call after a cancelled one may take."""

_OF_ITS_OWN = ("id", "rev", "updatedAt", "quietMs", "epoch", "creationId", "sessionId", "createdAt", "scheduleId")


async def shape(kit: Kit, subject: Subject) -> list[dict[str, Any]]:
    """All that a write can change, without what differs from session to session."""
    found: list[object] = []
    with kit.unseen():
        found.append(await kit.store.load(subject.session_id))
        if kit.declares("artifacts"):
            found += [r for r in await kit.store.list_artifacts() if r.session_id == subject.session_id]
        if kit.declares("send_requests"):
            found += [await kit.store.find_send_request(subject.session_id, each) for each in ("q0", "q1")]
        if kit.declares("schedules"):
            found += [s for s in await kit.store.list_schedules() if s.id == subject.schedule_id]
            found += await kit.store.list_schedule_fires(subject.schedule_id, 9)
    return [_comparable(msgspec.to_builtins(each)) for each in found if each is not None]


async def settled_shape(kit: Kit, subject: Subject, states: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The shape after a call whose caller has left: it may land between two of the reads, but only once."""
    found = await shape(kit, subject)
    return found if found in states else await shape(kit, subject)


def _comparable(plain: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in plain.items() if key not in _OF_ITS_OWN}
    if kept.get("lastFire"):
        kept["lastFire"] = _comparable(kept["lastFire"])
    return kept


async def still_works(kit: Kit, stores: list[SessionStore], what: str) -> None:
    """A write and a read through every handle succeed promptly."""
    for store in stores:
        session_id = await kit.next_session_id(store)
        try:
            async with asyncio.timeout(PROMPT_SECONDS):
                await store.append_turns(session_id, turns(0, 2), create=kit.header())
                equal(await store.get_turns(session_id), turns(0, 2), f"a history written after {what}")
                await store.delete(session_id)
        except TimeoutError as error:
            expected = f"an answer within {PROMPT_SECONDS:g} s"
            raise BrokenRuleError(f"a write after {what}", expected=expected, found="it still waits") from error


@check("cancel.writes")
async def writes(kit: Kit) -> None:
    """A write that is cancelled, at whatever suspension, once or twice, has happened wholly or not at all, and the
    next write works, through this handle and others."""
    others = [await kit.open()] if kit.capabilities.shared != "instance" else []
    chosen = writes_of(kit, schedules=True)
    for write in kit.random.sample(chosen, min(len(chosen), kit.count(len(chosen), least=4))):
        states = [await shape(kit, await prepare(kit)), await _shape_after(kit, write)]

        async def attempt(
            interruption: Interruption, write: Write = write, states: list[list[dict[str, Any]]] = states
        ) -> Interrupted:
            subject = await prepare(kit)
            ended = await interrupt(lambda: write.act(kit.store, Ask(subject)), interruption, write.method)
            found = await settled_shape(kit, subject, states)
            if found not in states:
                expected = "all of it or nothing"
                raise BrokenRuleError(
                    f"what {write.method}, {interruption}, left", expected=expected, found=repr(found)
                )
            return ended

        async for ended in at_every_suspension(attempt, pairs=kit.count(10, least=3)):
            await still_works(kit, [kit.store, *others], f"{write.method}, {ended.interruption}")


async def _shape_after(kit: Kit, write: Write) -> list[dict[str, Any]]:
    subject = await prepare(kit)
    await write.act(kit.store, Ask(subject))
    return await shape(kit, subject)


@check("cancel.then-repeat")
async def then_repeat(kit: Kit) -> None:
    """A cancelled append may be repeated: in the end each turn is there once, in order."""

    async def attempt(interruption: Interruption) -> Interrupted:
        session_id, create = await kit.next_session_id(), kit.header()

        def append() -> Awaitable[object]:
            return kit.store.append_turns(session_id, turns(0, 3), run=run("r0"), metadata={"a": 1}, create=create)

        ended = await interrupt(append, interruption, "append_turns")
        await append()
        await kit.store.append_turns(session_id, [turn(3)])
        found = await kit.loaded(session_id)
        equal((found.turns, found.runs), (turns(0, 4), [run("r0")]), f"the session after append_turns, {interruption}")
        return ended

    async for _ in at_every_suspension(attempt):
        pass


@check("cancel.reads")
async def reads(kit: Kit) -> None:
    """A cancelled read leaves the handle as it was: the next call gets its own answer, not that of the cancelled."""
    subject = await prepare(kit)
    expected = await kit.store.get_turns(subject.session_id)

    async def attempt_of(name: str, read: Callable[[SessionStore, str], Awaitable[object]]) -> None:
        async def attempt(interruption: Interruption) -> Interrupted:
            ended = await interrupt(lambda: read(kit.store, subject.session_id), interruption, name)
            for _ in range(3):
                found = await kit.store.get_turns(subject.session_id, last=2)
                equal(found, expected[-2:], f"the tail, read after {name}, {interruption}")
            return ended

        async for _ in at_every_suspension(attempt):
            pass

    for name, read in reads_of(kit).items():
        await attempt_of(name, read)


@check("cancel.queued", sessions=2)
async def queued(kit: Kit) -> None:
    """Cancelling many queued appends at once leaves nothing in the way of the next, and repeating them is harmless."""
    session_id = await kit.session(1)
    count = kit.count(100, least=30)
    tasks = [asyncio.create_task(kit.store.append_turns(session_id, [turn(at)])) for at in range(1, count)]
    await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await still_works(kit, [kit.store], "many cancelled appends")
    for at in range(1, count):
        await kit.store.append_turns(session_id, [turn(at)])
    found = [each.id for each in await kit.store.get_turns(session_id)]
    equal(sorted(found), sorted(f"t{at}" for at in range(count)), "the turns after repeating all")


@check("cancel.at-random")
async def at_random(kit: Kit) -> None:
    """Under random cancellations acknowledged turns are kept, none is there twice, and writers keep their order."""
    session_id = await kit.session()

    async def write(writer: int) -> list[str]:
        given = [turn(writer * 1000 + at) for at in range(kit.count(40, least=8))]
        for each in given:
            while not await _acknowledged(kit, session_id, each):
                pass
        return [each.id for each in given]

    written = await asyncio.gather(*(write(writer) for writer in range(4)))
    found = [each.id for each in await kit.store.get_turns(session_id)]
    equal(sorted(found), sorted(each for ids in written for each in ids), "the turns, each of them once")
    for writer, ids in enumerate(written):
        mine = [each for each in found if int(each[1:]) // 1000 == writer]
        equal(mine, ids, f"the turns of writer {writer}, in order")


async def _acknowledged(kit: Kit, session_id: str, given: SessionTurn) -> bool:
    """Append, and perhaps cancel that at some moment; whether it was acknowledged."""
    task = asyncio.ensure_future(kit.store.append_turns(session_id, [given]))
    for _ in range(kit.random.randrange(6)):
        await asyncio.sleep(0)
    if kit.random.random() < 0.5:
        task.cancel()
    (ended,) = await asyncio.gather(task, return_exceptions=True)
    if isinstance(ended, StoreError):
        raise ended
    return not isinstance(ended, BaseException)


@check("cancel.opening")
async def opening(kit: Kit) -> None:
    """An opening that is cancelled leaves nothing behind, and the store can be opened afterwards."""

    async def attempt(interruption: Interruption) -> Interrupted:
        before = Surroundings()
        ended = await interrupt(open_and_close, interruption, "opening")
        await _nothing_left(before, f"opening, {interruption}")
        return ended

    async def open_and_close() -> None:
        manager = kit.target.open()
        await manager.__aenter__()
        await manager.__aexit__(None, None, None)

    await kit.store.aclose()
    async for _ in at_every_suspension(attempt, pairs=kit.count(20)):
        pass
    store = await kit.open()
    await still_works(kit, [store], "cancelled openings")


@check("cancel.closing")
async def closing(kit: Kit) -> None:
    """A close that is cancelled still releases everything, at the latest when `aclose` is called again."""

    async def attempt(interruption: Interruption) -> Interrupted:
        before = Surroundings()
        manager = kit.target.open()
        store = await manager.__aenter__()
        await outcome(store.load("kit-unknown"))
        ended = await interrupt(store.aclose, interruption, "aclose")
        await store.aclose()
        await manager.__aexit__(None, None, None)
        await _nothing_left(before, f"aclose, {interruption}")
        return ended

    await kit.store.aclose()
    async for _ in at_every_suspension(attempt):
        pass


async def _nothing_left(before: Surroundings, after: str) -> None:
    left = await before.left_behind_soon()
    holds(not left, f"what is left after {after}", expected="nothing", found=left)
