"""Opening and closing: closed is closed, and nothing is left behind."""

from __future__ import annotations

import asyncio

from zidane_core.conformance.calls import Ask, Subject, prepare, reads_of, writes_of
from zidane_core.conformance.check import Collector
from zidane_core.conformance.expectations import equal, outcome, raises
from zidane_core.conformance.kit import Kit
from zidane_core.conformance.samples import turn, turns
from zidane_core.conformance.surroundings import Surroundings
from zidane_core.errors import StoreClosedError
from zidane_core.store import SessionStore

check = Collector()


@check("close.refuses-every-call")
async def refuses_every_call(kit: Kit) -> None:
    """After `aclose` every method, an empty append and one that asks nothing included, is StoreClosedError."""
    subject = await prepare(kit)
    store = await kit.open()
    inner = store.in_scope(kit.unique()) if kit.declares("scopes") else None
    await store.aclose()
    for handle in [store] if inner is None else [store, inner]:
        for write in writes_of(kit, schedules=True):
            await raises(StoreClosedError, write.act(handle, Ask(subject)), f"{write.method} on a closed store")
        for name, read in reads_of(kit).items():
            await raises(StoreClosedError, read(handle, subject.session_id), f"{name} on a closed store")
        await raises(StoreClosedError, handle.append_turns(subject.session_id, []), "an empty append on a closed store")
        await raises(StoreClosedError, handle.list_ids(limit=0), "list_ids(limit=0) on a closed store")
        await raises(StoreClosedError, handle.get_turns(subject.session_id, limit=0), "get_turns(limit=0) on one")
    await raises(StoreClosedError, store.__aenter__(), "opening a closed store again")


@check("close.twice")
async def twice(kit: Kit) -> None:
    """Closing twice, and several times at once, is fine; what was written stays written for others."""
    store = await kit.open()
    await store.append_turns(kit.session_id(), [turn(0)], create=kit.header())
    await asyncio.gather(*(store.aclose() for _ in range(5)))
    await store.aclose()


@check("close.amid-calls", layer="tasks")
async def amid_calls(kit: Kit) -> None:
    """Closing while calls are under way hangs nothing: each call succeeds or raises, and what succeeded is whole."""
    store = await kit.open()
    session_id = await kit.session(0, store=store)
    calls = [asyncio.create_task(store.append_turns(session_id, [turn(at)])) for at in range(20)]
    await asyncio.sleep(0)
    await store.aclose()
    answers = await asyncio.gather(*(outcome(call) for call in calls))
    kept = [f"t{at}" for at, answer in enumerate(answers) if not isinstance(answer, Exception)]
    if kit.capabilities.shared != "instance":
        found = [each.id for each in await kit.store.get_turns(session_id)]
        equal([each for each in kept if each not in found], [], "acknowledged turns that are missing")


@check("close.leaves-nothing")
async def leaves_nothing(kit: Kit) -> None:
    """Opening, using and closing many times leaves no task, thread, file or connection behind."""
    session_id = await kit.session(1)
    await kit.store.aclose()
    before = Surroundings()
    for at in range(kit.count(100, least=10)):
        async with kit.target.open() as store:
            await store.load(session_id)
            if at % 3 == 0:
                await outcome(store.append_turns(session_id, [turn(0, "conflict")]))
    left = await before.left_behind_soon()
    equal(left, [], "what is left after closing")


@check("open.first-use-at-once", layer="tasks")
async def first_use_at_once(kit: Kit) -> None:
    """Many first calls at once on a store that was just opened all work."""
    store = await kit.open()
    session_id, create = kit.session_id(), kit.header()
    calls = [store.append_turns(session_id, [turn(at)], create=create) for at in range(20)]
    reads = [read(store, "kit-unknown") for name, read in reads_of(kit).items() if name != "get_turns"]
    await asyncio.gather(*calls, *reads)
    found = sorted(each.id for each in await store.get_turns(session_id))
    equal(found, sorted(f"t{at}" for at in range(20)), "the turns")


@check("open.failing-body")
async def failing_body(kit: Kit) -> None:
    """A failing body of `async with` closes the store all the same, and its error comes out as it is."""

    async def body() -> None:
        async with kit.target.open() as store:
            opened.append(store)
            raise ZeroDivisionError("from the body")

    opened: list[SessionStore] = []
    await raises(ZeroDivisionError, body(), "an error in the body of `async with`")
    await raises(StoreClosedError, opened[0].load("kit"), "a call after the body failed")


@check("open.several-loops")
async def several_loops(kit: Kit) -> None:
    """A store can be opened in one event loop after another, in the same process."""
    session_id = await kit.session(2)

    def in_a_loop_of_its_own() -> object:
        async def read() -> object:
            async with kit.target.open() as store:
                return await store.load(session_id)

        with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
            return runner.run(read())

    for _ in range(2):
        found = await asyncio.to_thread(in_a_loop_of_its_own)
        if kit.capabilities.shared != "instance":
            equal(found, await kit.store.load(session_id), "the session, read in another event loop")


@check("reopen.all-is-there", layer="reopen")
async def all_is_there(kit: Kit) -> None:
    """What was acknowledged is there, equal in every field, after closing and opening again."""
    subject: Subject = await prepare(kit)
    before = await kit.loaded(subject.session_id)
    rows = await kit.store.list_artifacts() if kit.declares("artifacts") else []
    fires = await kit.store.list_schedules() if kit.declares("schedules") else []
    await kit.store.aclose()
    store = await kit.open()
    equal(await store.load(subject.session_id), before, "the session after reopening")
    if kit.declares("artifacts"):
        equal(await store.list_artifacts(), rows, "the artifacts after reopening")
    if kit.declares("schedules"):
        equal(await store.list_schedules(), fires, "the schedules after reopening")
    written = await store.append_turns(subject.session_id, turns(1, 4))
    equal((written.added, written.previous), (1, before.rev), "the first append after reopening")
    equal(await store.get_turns(subject.session_id), turns(0, 4), "the history after it")


@check("reopen.rev-goes-on", layer="reopen")
async def rev_goes_on(kit: Kit) -> None:
    """Revisions never repeat, not even for a session that is made again after reopening."""
    session_id = await kit.session(1)
    last = (await kit.store.append_turns(session_id, [turn(1)])).rev
    await kit.store.delete(session_id)
    await kit.store.aclose()
    store = await kit.open()
    again = await store.append_turns(session_id, [turn(0)], create=kit.header())
    equal(again.rev > last, True, f"whether the revision {again.rev} is past {last}")
