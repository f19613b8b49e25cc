"""Guards: the fence and the expected revision, honoured by every write, atomically."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from zidane_core.conformance.calls import SCHEDULE_WRITES, Ask, Subject, prepare, writes_of
from zidane_core.conformance.check import Collector
from zidane_core.conformance.expectations import equal, holds, outcome, raises
from zidane_core.conformance.kit import Kit
from zidane_core.conformance.samples import turn, turns
from zidane_core.errors import RevisionConflictError, RunFencedError, TurnConflictError
from zidane_core.store import Guard, Written

check = Collector("guards")


async def _state(kit: Kit, subject: Subject) -> list[object]:
    """All that a session's writes can change."""
    with kit.unseen():
        state: list[object] = [replace(await kit.loaded(subject.session_id), quiet_ms=None)]
        if kit.declares("artifacts"):
            state.append([r for r in await kit.store.list_artifacts() if r.session_id == subject.session_id])
        if kit.declares("send_requests"):
            state += [await kit.store.find_send_request(subject.session_id, each) for each in ("q0", "q1")]
        return state


@check("guard.expected-rev-everywhere")
async def expected_rev_everywhere(kit: Kit) -> None:
    """Every write takes `expected_rev`: with the stored revision it happens, with another it is RevisionConflictError
    and nothing happens."""
    for write in writes_of(kit):
        subject = await prepare(kit)
        rev = (await kit.loaded(subject.session_id)).rev or 0
        before = await _state(kit, subject)
        for wrong in (rev - 1, rev + 1, 0):
            call = write.act(kit.store, Ask(subject, Guard(expected_rev=wrong)))
            error = await raises(RevisionConflictError, call, f"{write.method} with a wrong expected_rev")
            equal((error.expected, error.found), (wrong, rev), "what the error tells")
            equal(await _state(kit, subject), before, f"the session after {write.method} was refused")
        await write.act(kit.store, Ask(subject, Guard(expected_rev=rev)))


@check("guard.fence-everywhere", also=("claims",))
async def fence_everywhere(kit: Kit) -> None:
    """Every write takes `fence`: with the claim's epoch it happens, with another it is RunFencedError and nothing
    happens."""
    for write in writes_of(kit):
        subject = await prepare(kit, claimed=True)
        before = await _state(kit, subject)
        for wrong in ((subject.epoch or 0) - 1, (subject.epoch or 0) + 1, 0):
            call = write.act(kit.store, Ask(subject, Guard(fence=wrong)))
            await raises(RunFencedError, call, f"{write.method} with a wrong fence")
            equal(await _state(kit, subject), before, f"the session after {write.method} was refused")
        await write.act(kit.store, Ask(subject, Guard(fence=subject.epoch)))


@check("guard.fence-without-claim", also=("claims",))
async def fence_without_claim(kit: Kit) -> None:
    """Once the claim has ended every write with its fence is RunFencedError."""
    for write in writes_of(kit):
        subject = await prepare(kit, claimed=True)
        await kit.store.update_status(subject.session_id, "completed", guard=Guard(fence=subject.epoch))
        before = await _state(kit, subject)
        call = write.act(kit.store, Ask(subject, Guard(fence=subject.epoch)))
        await raises(RunFencedError, call, f"{write.method} with the fence of a claim that has ended")
        equal(await _state(kit, subject), before, f"the session after {write.method} was refused")


@check("guard.first-write")
async def first_write(kit: Kit) -> None:
    """`expected_rev=0` asks that the session does not exist yet."""
    session_id = kit.session_id()
    guard = Guard(expected_rev=0)
    create = kit.header()
    await kit.store.append_turns(session_id, [turn(0)], create=create, guard=guard)
    call = kit.store.append_turns(session_id, [turn(1)], create=create, guard=guard)
    await raises(RevisionConflictError, call, "a second write that expects revision 0")
    equal(await kit.store.get_turns(session_id), [turn(0)], "the history")


@check("guard.repeated-append-first")
async def repeated_append_first(kit: Kit) -> None:
    """An append of stored, equal turns succeeds though its guard no longer holds: a retry does not conflict with
    itself."""
    session_id = await kit.session(1)
    rev = (await kit.loaded(session_id)).rev or 0
    written = await kit.store.append_turns(session_id, turns(1, 3), guard=Guard(expected_rev=rev))
    again = await kit.store.append_turns(session_id, turns(1, 3), guard=Guard(expected_rev=rev))
    equal(again, Written(rev=written.rev, previous=written.rev), "the answer to the repeated append")
    zombie = await kit.store.append_turns(session_id, turns(1, 3), guard=Guard(fence=1))
    equal(zombie, again, "the answer to the append, repeated with a fence that is over")


@check("guard.order", also=("claims",))
async def order(kit: Kit) -> None:
    """The fence is judged before the expected revision, and that before conflicting turns."""
    subject = await prepare(kit, claimed=True)
    rev = (await kit.loaded(subject.session_id)).rev or 0
    conflicting = [turn(1, "other")]
    append = kit.store.append_turns
    wrong_both = Guard(fence=1, expected_rev=rev + 1)
    await raises(RunFencedError, append(subject.session_id, conflicting, guard=wrong_both), "both guards wrong")
    wrong_rev = Guard(fence=subject.epoch, expected_rev=rev + 1)
    await raises(RevisionConflictError, append(subject.session_id, conflicting, guard=wrong_rev), "the revision wrong")
    right = Guard(fence=subject.epoch, expected_rev=rev)
    await raises(TurnConflictError, append(subject.session_id, conflicting, guard=right), "both guards right")
    partly = [turn(1), turn(50)]
    await raises(RunFencedError, append(subject.session_id, partly, guard=wrong_both), "some turns stored, not all")


@check("guard.not-for-schedules", also=("schedules",))
async def not_for_schedules(kit: Kit) -> None:
    """A schedule has no revision and no run, so a write on it that names one is a ValueError, and never ignores it."""
    subject = await prepare(kit)
    before = [each for each in await kit.store.list_schedules() if each.id == subject.schedule_id]
    for write in SCHEDULE_WRITES:
        for guard in (Guard(fence=1), Guard(expected_rev=1)):
            await raises(ValueError, write.act(kit.store, Ask(subject, guard)), f"{write.method} with {guard}")
    after = [each for each in await kit.store.list_schedules() if each.id == subject.schedule_id]
    equal(after, before, "the schedule after the refusals")
    equal(await kit.store.list_schedule_fires(subject.schedule_id, 9), [], "its fires")


@check("guard.compare-and-swap", layer="tasks")
async def compare_and_swap(kit: Kit) -> None:
    """Of concurrent writes that expect the same revision exactly one happens."""
    session_id = await kit.session()
    writers = 8
    for at in range(kit.count(30, least=5)):
        rev = (await kit.loaded(session_id)).rev or 0
        calls = [
            kit.store.append_turns(session_id, [turn(at * writers + each)], guard=Guard(expected_rev=rev))
            for each in range(writers)
        ]
        answers = await asyncio.gather(*(outcome(call) for call in calls))
        lost = [type(answer) for answer in answers if isinstance(answer, Exception)]
        equal(lost, [RevisionConflictError] * (writers - 1), "what the others got")
        found = await kit.store.get_turns(session_id)
        holds(len(found) == at + 1, "how many turns are stored", expected=f"{at + 1}", found=len(found))


@check("guard.compare-and-swap-instances", layer="instances")
async def compare_and_swap_instances(kit: Kit) -> None:
    """Of concurrent writes through several handles that expect the same revision exactly one happens."""
    handles = [kit.store, await kit.open(), await kit.open()]
    session_id = await kit.session()
    for at in range(kit.count(30, least=5)):
        rev = (await kit.loaded(session_id)).rev or 0
        calls = [
            handle.append_turns(session_id, [turn(at * 10 + each)], guard=Guard(expected_rev=rev))
            for each, handle in enumerate(handles)
        ]
        answers = await asyncio.gather(*(outcome(call) for call in calls))
        lost = [type(answer) for answer in answers if isinstance(answer, Exception)]
        equal(lost, [RevisionConflictError] * (len(handles) - 1), "what the others got")
        equal(len(await kit.store.get_turns(session_id)), at + 1, "how many turns are stored")
