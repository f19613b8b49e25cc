"""Edits of the history: nothing lost that is appended meanwhile, nothing moved that was not asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from msgspec.structs import replace

from zidane_core.conformance.calls import prepare
from zidane_core.conformance.check import Collector
from zidane_core.conformance.expectations import equal, holds, raises
from zidane_core.conformance.kit import Kit
from zidane_core.conformance.samples import run, turn, turns
from zidane_core.errors import SessionNotFoundError, TurnConflictError, TurnNotFoundError
from zidane_core.records import SessionHistory
from zidane_core.store import SessionStore

check = Collector("history")


@check("history.edit-in-place")
async def edit_in_place(kit: Kit) -> None:
    """An edited turn keeps its place and the others theirs; turns can be dropped and inserted anywhere."""
    session_id = await kit.session(6)
    edits = [
        [turn(0), turn(1), turn(2, "edited"), *turns(3, 6)],
        [turn(0), turn(2, "edited"), turn(3), turn(5)],
        [turn(9), turn(0), turn(2, "edited"), turn(8), turn(5), turn(3)],
        [],
        [turn(7)],
    ]
    for wanted in edits:
        written = await kit.store.mutate_history(session_id, lambda now, to=wanted: replace(now, turns=to))  # type: ignore[misc]
        found = await kit.loaded(session_id)
        equal(found.turns, wanted, "the history")
        equal(None if written is None else written.rev, found.rev, "the revision in the answer")
    await kit.store.append_turns(session_id, [turn(0)])
    equal(await kit.store.get_turns(session_id), [turn(7), turn(0)], "the history after one more append")


@check("history.unchanged")
async def unchanged(kit: Kit) -> None:
    """None from `mutate`, or the same turns and runs, changes nothing, and the answer is None."""
    subject = await prepare(kit)
    before = await kit.loaded(subject.session_id)
    mutations: list[Callable[[SessionHistory], SessionHistory | None]] = [
        lambda _: None,
        lambda now: now,
        lambda now: SessionHistory(turns=list(now.turns), runs=now.runs),
    ]
    for mutate in mutations:
        equal(await kit.store.mutate_history(subject.session_id, mutate), None, "the answer")
        equal(await kit.store.load(subject.session_id), before, "the session")


@check("history.gets-all")
async def gets_all(kit: Kit) -> None:
    """`mutate` gets the whole history as it is stored: turns and runs."""
    subject = await prepare(kit)
    seen: list[SessionHistory] = []
    await kit.store.mutate_history(subject.session_id, seen.append)
    equal((seen[-1].turns, seen[-1].runs), (turns(0, 3), [run("r0")]), "what mutate got")


@check("history.runs")
async def runs(kit: Kit) -> None:
    """Runs are written when `mutate` returns another `runs` object: replaced, dropped and put in its order."""
    subject = await prepare(kit)
    await kit.store.update_run(subject.session_id, run("r1"))
    wanted = [run("r1", label="x"), run("r5"), run("r0")]
    await kit.store.mutate_history(subject.session_id, lambda now: replace(now, runs=wanted))
    found = await kit.loaded(subject.session_id)
    equal((found.turns, found.runs), (turns(0, 3), wanted), "the turns and runs")
    await kit.store.mutate_history(subject.session_id, lambda now: replace(now, runs=[run("r5")]))
    equal((await kit.loaded(subject.session_id)).runs, [run("r5")], "the runs")


@check("history.raising-mutate")
async def raising_mutate(kit: Kit) -> None:
    """An error in `mutate` reaches the caller as it is and changes nothing; the store stays usable."""
    subject = await prepare(kit)
    before = await kit.loaded(subject.session_id)

    def fail(_: SessionHistory) -> SessionHistory:
        raise ZeroDivisionError("from mutate")

    await raises(ZeroDivisionError, kit.store.mutate_history(subject.session_id, fail), "a mutate that raises")
    twice = [turn(0), turn(0, "other")]
    call = kit.store.mutate_history(subject.session_id, lambda now: replace(now, turns=twice))
    await raises(TurnConflictError, call, "a mutate that gives one id to two turns")
    equal(await kit.store.load(subject.session_id), before, "the session")
    await kit.store.append_turns(subject.session_id, [turn(3)])
    unknown = kit.store.mutate_history(kit.session_id(), lambda now: now)
    await raises(SessionNotFoundError, unknown, "a mutation of an unknown session")


@check("history.truncate")
async def truncate(kit: Kit) -> None:
    """`truncate` removes the turn and all after it, and returns them in order; an unknown turn is TurnNotFoundError."""
    session_id = await kit.session(6)
    await raises(TurnNotFoundError, kit.store.truncate(session_id, "t6"), "truncating at an unknown turn")
    equal(await kit.store.truncate(session_id, "t4"), turns(4, 6), "what was removed")
    equal(await kit.store.get_turns(session_id), turns(0, 4), "the history")
    await kit.store.append_turns(session_id, [turn(5), turn(4, "new")])
    wanted = [*turns(0, 4), turn(5), turn(4, "new")]
    equal(await kit.store.get_turns(session_id), wanted, "the history after appending removed ids again")
    equal(await kit.store.truncate(session_id, "t0"), wanted, "what truncating at the first turn removed")
    equal(await kit.store.get_turns(session_id), [], "the emptied history")
    await raises(TurnNotFoundError, kit.store.truncate(session_id, "t0"), "truncating an empty history")


@check("history.shrinks-to-none")
async def shrinks_to_none(kit: Kit) -> None:
    """Turns can be deleted from the middle and from the end until none is left, and the session is still there."""
    session_id = await kit.session(3)
    for left in (["t0", "t2"], ["t0"], []):
        await kit.store.mutate_history(
            session_id,
            lambda now, ids=left: replace(now, turns=[each for each in now.turns if each.id in ids]),  # type: ignore[misc]
        )
        equal([each.id for each in await kit.store.get_turns(session_id)], left, "the history")
    await kit.store.append_turns(session_id, [turn(1)])
    equal(await kit.store.get_turns(session_id), [turn(1)], "the history after one more append")


async def _edit_amid_appends(kit: Kit, editing: SessionStore, appending: SessionStore) -> None:
    session_id = await kit.session(4)
    total = kit.count(60, least=15)

    async def append() -> None:
        for at in range(4, total):
            await appending.append_turns(session_id, [turn(at)])
            await asyncio.sleep(0)

    async def edit() -> None:
        for at in range(10):

            def compact(now: SessionHistory, at: int = at) -> SessionHistory:
                return replace(now, turns=[turn(1000, f"summary {at}"), *(t for t in now.turns if t.id != "t1000")])

            await editing.mutate_history(session_id, compact)
            await asyncio.sleep(0)

    await asyncio.gather(append(), edit())
    found = await kit.store.get_turns(session_id)
    equal([each.id for each in found], ["t1000", *(f"t{at}" for at in range(total))], "the history")
    holds(found[0] == turn(1000, "summary 9"), "the summary", expected="the last edit", found=found[0])


@check("history.edit-amid-appends", layer="tasks")
async def edit_amid_appends(kit: Kit) -> None:
    """Nothing that is appended while a history is edited is lost, and neither is an edit."""
    await _edit_amid_appends(kit, kit.store, kit.store)


@check("history.edit-amid-appends-instances", layer="instances")
async def edit_amid_appends_instances(kit: Kit) -> None:
    """The same through two handles on the same data."""
    await _edit_amid_appends(kit, kit.store, await kit.open())


@check("history.concurrent-edits", layer="tasks")
async def concurrent_edits(kit: Kit) -> None:
    """Concurrent edits of one history happen one after the other: none undoes another."""
    session_id = await kit.session(1)
    count = kit.count(20, least=6)

    def adding(at: int) -> object:
        return kit.store.mutate_history(session_id, lambda now: replace(now, turns=[*now.turns, turn(100 + at)]))

    await asyncio.gather(*(adding(at) for at in range(count)))  # type: ignore[call-overload]
    found = sorted(each.id for each in await kit.store.get_turns(session_id))
    equal(found, sorted(["t0", *(f"t{100 + at}" for at in range(count))]), "the turns")
