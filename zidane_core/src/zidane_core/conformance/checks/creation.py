"""Creating and deleting: no ghosts, no overwriting, no resurrection."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from msgspec.structs import replace as changed

from zidane_core.conformance import samples
from zidane_core.conformance.calls import Ask, Subject, Write, prepare, writes_of
from zidane_core.conformance.check import Collector
from zidane_core.conformance.expectations import equal, holds, outcome, raises
from zidane_core.conformance.kit import Kit
from zidane_core.conformance.samples import turn, turns
from zidane_core.errors import (
    InvalidContentError,
    RevisionConflictError,
    RunFencedError,
    SessionExistsError,
    SessionNotFoundError,
)
from zidane_core.records import SessionData, SessionHeader
from zidane_core.store import Guard

check = Collector()


async def is_absent(kit: Kit, session_id: str, when: str) -> None:
    """No read finds the session."""
    equal(await kit.store.load(session_id), None, f"load {when}")
    holds(session_id not in await kit.store.list_ids(), f"list_ids {when}", expected="not the id", found=session_id)
    await raises(SessionNotFoundError, kit.store.get_turns(session_id), f"get_turns {when}")
    if kit.declares("meta"):
        equal(await kit.store.get_meta(session_id), None, f"get_meta {when}")


@check("create.no-ghosts")
async def no_ghosts(kit: Kit) -> None:
    """A write on an unknown id raises SessionNotFoundError, or answers False where the contract says so, and creates
    nothing."""
    for write in writes_of(kit):
        session_id = kit.session_id()
        call = write.act(kit.store, Ask(Subject(session_id)))
        if write.unknown is False:
            equal(await call, False, f"{write.method} on an unknown id")
        else:
            await raises(SessionNotFoundError, call, f"{write.method} on an unknown id")
        await is_absent(kit, session_id, f"after {write.method} on an unknown id")
    if kit.declares("claims"):
        session_id = kit.session_id()
        await raises(SessionNotFoundError, kit.store.renew_run(session_id, fence=1), "renew_run on an unknown id")
        await is_absent(kit, session_id, "after renew_run on an unknown id")


@check("create.with-any-first-write")
async def with_any_first_write(kit: Kit) -> None:
    """Every write that takes `create` makes the session with the header that it carries."""
    for write in (each for each in writes_of(kit) if each.creates):
        session_id = kit.session_id()
        create = kit.header(agent_id="agent", project_root="/p", metadata={"m": [1]}, created_at=12345)
        await _create_by(kit, write, session_id, create)
        found = await kit.loaded(session_id)
        told = (found.id, found.created_at, found.creation_id, found.agent_id, found.project_root)
        wanted = (session_id, 12345, create.creation_id, "agent", "/p")
        equal(told, wanted, f"the header that {write.method} created")
        equal(found.metadata.get("m"), [1], f"the metadata that {write.method} created")
        holds((found.rev or 0) > 0, f"the revision after {write.method}", expected="more than 0", found=found.rev)
        holds(found.updated_at >= 0, "updated_at", expected="a time", found=found.updated_at)
        holds(session_id in await kit.store.list_ids(), "list_ids", expected="the new id", found="it is missing")
        await kit.store.delete(session_id)


async def _create_by(kit: Kit, write: Write, session_id: str, create: SessionHeader) -> None:
    if write.method != "save":
        await write.act(kit.store, Ask(Subject(session_id), create=create))
        return
    data = samples.snapshot(
        session_id,
        created_at=create.created_at,
        creation_id=create.creation_id,
        agent_id=create.agent_id,
        project_root=create.project_root,
        metadata=create.metadata,
    )
    await kit.store.save(data, create=True)


@check("create.repeated")
async def repeated(kit: Kit) -> None:
    """A write that carries the session's own creation again goes on as if it carried none."""
    session_id, create = kit.session_id(), kit.header(metadata={"first": 1})
    await kit.store.append_turns(session_id, turns(0, 2), create=create)
    await kit.store.append_turns(session_id, turns(0, 2), create=create)
    await kit.store.append_turns(session_id, turns(1, 3), create=create, metadata={"second": 2})
    await kit.store.update_run(session_id, samples.run(), create=create)
    found = await kit.loaded(session_id)
    equal(found.turns, turns(0, 3), "the history")
    equal(found.metadata, {"first": 1, "second": 2}, "the metadata")


@check("create.is-not-overwriting")
async def is_not_overwriting(kit: Kit) -> None:
    """A creation under an id that another creation holds is SessionExistsError; what is stored stays."""
    subject = await prepare(kit)
    before = await kit.store.load(subject.session_id)
    for write in (each for each in writes_of(kit) if each.creates):
        call = write.act(kit.store, Ask(subject, create=kit.header()))
        await raises(SessionExistsError, call, f"{write.method} with another creation")
        equal(await kit.store.load(subject.session_id), before, f"the session after {write.method} was refused")
    unnamed = samples.snapshot(subject.session_id)
    await raises(SessionExistsError, kit.store.save(unnamed, create=True), "a creating save without a creation id")
    equal(await kit.store.load(subject.session_id), before, "the session after the save was refused")


@check("create.refused-creates-nothing")
async def refused_creates_nothing(kit: Kit) -> None:
    """A first write that is refused leaves no session behind."""
    bad = turn(0, content=[{"type": "text", "text": b"bytes"}])
    refused: list[tuple[type[Exception], Guard | None]] = [(InvalidContentError, None)]
    if kit.declares("guards"):
        refused += [(RunFencedError, Guard(fence=1)), (RevisionConflictError, Guard(expected_rev=7))]
    for error, guard in refused:
        session_id, create = await kit.next_session_id(), kit.header()
        given = [turn(0)] if guard is not None else [turn(1), bad]
        call = kit.store.append_turns(session_id, given, create=create, guard=guard or Guard())
        await raises(error, call, "a creating append that cannot succeed")
        await is_absent(kit, session_id, f"after {error.__name__}")
        await kit.store.append_turns(session_id, [turn(0)], create=create)
        equal(await kit.store.get_turns(session_id), [turn(0)], "the history after the creation worked")


@check("create.concurrent-others", layer="tasks")
async def concurrent_others(kit: Kit) -> None:
    """Of concurrent creations under one id one wins; the others are SessionExistsError, and the winner is whole."""
    for _ in range(kit.count(20, least=3)):
        session_id = await kit.next_session_id()
        tries: list[Awaitable[object]] = [
            kit.store.append_turns(session_id, [turn(0, f"from {each}")], create=kit.header(agent_id=f"{each}"))
            for each in range(8)
        ]
        answers = await asyncio.gather(*(outcome(call) for call in tries))
        winners = [at for at, answer in enumerate(answers) if not isinstance(answer, Exception)]
        losers = [type(answer) for answer in answers if isinstance(answer, Exception)]
        equal(losers, [SessionExistsError for _ in range(7)], "what the others got")
        found = await kit.loaded(session_id)
        wanted = (f"{winners[0]}", [turn(0, f"from {winners[0]}")])
        equal((found.agent_id, found.turns), wanted, "the winner's session")


@check("create.concurrent-repeats", layer="tasks")
async def concurrent_repeats(kit: Kit) -> None:
    """Concurrent first writes that carry the same creation all succeed, and nothing of them is lost."""
    count = kit.count(50, least=10)
    session_id, create = kit.session_id(), kit.header()
    await asyncio.gather(*(kit.store.append_turns(session_id, [turn(at)], create=create) for at in range(count)))
    found = await kit.store.get_turns(session_id)
    equal(sorted(each.id for each in found), sorted(f"t{at}" for at in range(count)), "the turns")


@check("delete.removes-all")
async def removes_all(kit: Kit) -> None:
    """Deleting removes the session with its turns, runs, artifacts and send requests; made again it is empty."""
    subject = await prepare(kit, claimed=kit.declares("claims"))
    session_id = subject.session_id
    before = await kit.loaded(session_id)
    equal(await kit.store.delete(session_id), True, "the answer to delete")
    await is_absent(kit, session_id, "after delete")
    equal(await kit.store.delete(session_id), False, "the answer to a second delete")
    if kit.declares("send_requests"):
        equal(await kit.store.find_send_request(session_id, "q0"), None, "a send request of the deleted session")
    if kit.declares("artifacts"):
        rows = await kit.store.list_artifacts()
        equal([row for row in rows if row.session_id == session_id], [], "artifacts of the deleted session")
    await kit.store.append_turns(session_id, [], create=kit.header())
    await _is_empty(kit, session_id, before)


async def _is_empty(kit: Kit, session_id: str, before: SessionData) -> None:
    found = await kit.loaded(session_id)
    counts = (len(found.turns), len(found.runs), len(found.metadata))
    equal(counts, (0, 0, 0), "the turns, runs and metadata of the session that was made again")
    told = (found.status, found.run_owner, found.epoch)
    equal(told, ("idle", None, None), "the status of the session that was made again")
    holds((found.rev or 0) > (before.rev or 0), "its revision", expected=f"more than {before.rev}", found=found.rev)
    if kit.declares("meta"):
        row = await kit.row(session_id)
        of_row = (row.turn_count, row.user_message_count, row.run_count, row.artifact_count or 0)
        equal((*of_row, row.first_user_turn), (0, 0, 0, 0, None), "the counts of the session that was made again")
    if kit.declares("send_requests"):
        equal(await kit.store.find_send_request(session_id, "q0"), None, "a send request of the former session")


@check("delete.no-resurrection")
async def no_resurrection(kit: Kit) -> None:
    """A deleted session is not brought back by a write of a run that is still going on, fenced or not."""
    for write in writes_of(kit):
        subject = await prepare(kit, claimed=kit.declares("claims"), write=write)
        await kit.store.delete(subject.session_id)
        guards = [Guard()] + ([Guard(fence=subject.epoch)] if kit.declares("claims", "guards") else [])
        for guard in guards:
            await outcome(write.act(kit.store, Ask(subject, guard)))
            await is_absent(kit, subject.session_id, f"after delete, then {write.method}")
    if kit.declares("claims"):
        subject = await prepare(kit, claimed=True)
        await kit.store.delete(subject.session_id)
        await outcome(kit.store.renew_run(subject.session_id, fence=subject.epoch or 0))
        await is_absent(kit, subject.session_id, "after delete, then renew_run")


@check("delete.others-stay", sessions=3)
async def others_stay(kit: Kit) -> None:
    """Deleting one session leaves others whole, though their ids begin alike."""
    one = await prepare(kit)
    names = [f"{one.session_id}{rest}" for rest in ("x", ":turns", "/", "%", "_", "*", " ")]
    if kit.capabilities.max_sessions is not None:
        names = names[:1]
    for name in names:
        kit.adopt(name)
        await kit.store.append_turns(name, turns(0, 2), create=kit.header())
    before = [await kit.store.load(name) for name in names]
    await kit.store.delete(one.session_id)
    equal([await kit.store.load(name) for name in names], before, "the other sessions")


@check("save.snapshot")
async def snapshot(kit: Kit) -> None:
    """`save` makes the session what the snapshot says: turns, runs in their order, metadata, labels."""
    subject = await prepare(kit)
    data = samples.snapshot(
        subject.session_id,
        turns=[turn(2), turn(0), turn(9)],
        runs=[samples.run("r5"), samples.run("r0", status="completed", ended_at=5)],
        metadata={"only": True},
        agent_id="other",
        status="completed",
    )
    await kit.store.save(data)
    found = await kit.loaded(subject.session_id)
    told = (found.turns, found.runs, found.metadata, found.agent_id, found.status)
    equal(told, (data.turns, data.runs, data.metadata, "other", "completed"), "the saved session")
    equal(await kit.store.get_turns(subject.session_id, last=1), [turn(9)], "the tail of the saved history")
    await kit.store.append_turns(subject.session_id, [turn(1)])
    wanted = [turn(2), turn(0), turn(9), turn(1)]
    equal(await kit.store.get_turns(subject.session_id), wanted, "the history after one more append")


@check("save.refused-keeps-old")
async def refused_keeps_old(kit: Kit) -> None:
    """A save whose third turn cannot be stored leaves the session as it was."""
    subject = await prepare(kit)
    before = await kit.store.load(subject.session_id)
    bad = turn(9, content=[{"type": "text", "text": object()}])
    data = samples.snapshot(subject.session_id, turns=[turn(7), turn(8), bad])
    await raises(InvalidContentError, kit.store.save(data), "a save with an object in its third turn")
    equal(await kit.store.load(subject.session_id), before, "the session after the refused save")


@check("save.running-is-the-stores")
async def running_is_the_stores(kit: Kit) -> None:
    """`running` in a snapshot keeps the stored status and owner; another status is written."""
    session_id = await kit.session(1)
    loaded = await kit.loaded(session_id)
    await kit.store.save(changed(loaded, status="running", run_owner=samples.owner("snapshot")))
    found = await kit.loaded(session_id)
    equal((found.status, found.run_owner), ("idle", None), "an idle session after a `running` snapshot")
    await kit.store.update_status(session_id, "running", owner=samples.owner("stored"))
    await kit.store.save(changed(loaded, status="running"))
    found = await kit.loaded(session_id)
    equal((found.status, found.run_owner), ("running", samples.owner("stored")), "a running one after it")
    await kit.store.save(changed(loaded, status="error"))
    found = await kit.loaded(session_id)
    equal((found.status, found.run_owner), ("error", None), "a running one after an `error` snapshot")
