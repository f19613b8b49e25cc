"""Operation ids: a call that is sent again gets the first answer and takes effect once."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from zidane_core.conformance import samples
from zidane_core.conformance.calls import Ask, Subject, Write, prepare, writes_of
from zidane_core.conformance.check import Collector
from zidane_core.conformance.expectations import equal, outcome, raises
from zidane_core.conformance.kit import Kit
from zidane_core.conformance.samples import turn
from zidane_core.errors import OperationConflictError, TurnConflictError
from zidane_core.records import SessionHistory
from zidane_core.store import OPERATION_HISTORY, Guard

check = Collector("operations")


async def _state(kit: Kit, subject: Subject) -> list[object]:
    """What the operation can have changed, times apart."""
    with kit.unseen():
        data = await kit.store.load(subject.session_id)
        state: list[object] = [None if data is None else replace(data, quiet_ms=None)]
        if kit.declares("schedules"):
            schedules = await kit.store.list_schedules()
            state.append([each for each in schedules if each.id == subject.schedule_id])
            state.append(await kit.store.list_schedule_fires(subject.schedule_id, 100))
    return state


def _op(kit: Kit) -> Guard:
    return Guard(op_id=f"op-{kit.unique()}")


@check("operation.repeated")
async def repeated(kit: Kit) -> None:
    """Every write, sent again with its operation id, gets the first answer and changes nothing more."""
    for write in writes_of(kit, schedules=True):
        subject = await prepare(kit, write=write)
        ask = Ask(subject, _op(kit))
        first = await write.act(kit.store, ask)
        after = await _state(kit, subject)
        again = await write.act(kit.store, ask)
        equal(again, first, f"the answer to the repeated {write.method}")
        equal(await _state(kit, subject), after, f"what is stored after the repeated {write.method}")


@check("operation.repeated-later")
async def repeated_later(kit: Kit) -> None:
    """The first answer is given though others have written since, and the guard no longer holds."""
    for write in (each for each in writes_of(kit) if each.method != "delete"):
        subject = await prepare(kit, write=write)
        guard = _op(kit)
        if kit.declares("guards"):
            guard = Guard(op_id=guard.op_id, expected_rev=(await kit.loaded(subject.session_id)).rev)
        first = await write.act(kit.store, Ask(subject, guard))
        await kit.store.append_turns(subject.session_id, [turn(200)])
        after = await _state(kit, subject)
        equal(await write.act(kit.store, Ask(subject, guard)), first, f"the answer to the repeated {write.method}")
        equal(await _state(kit, subject), after, f"what is stored after the repeated {write.method}")


@check("operation.other-payload")
async def other_payload(kit: Kit) -> None:
    """The same operation id with another payload, or on another method, is OperationConflictError."""
    for write in (each for each in writes_of(kit, schedules=True) if each.varies):
        subject = await prepare(kit, write=write)
        guard = _op(kit)
        await write.act(kit.store, Ask(subject, guard))
        after = await _state(kit, subject)
        call = write.act(kit.store, Ask(subject, guard, variant=1))
        await raises(OperationConflictError, call, f"{write.method} with a used id and another payload")
        equal(await _state(kit, subject), after, f"what is stored after {write.method} was refused")
    subject, guard = await prepare(kit), _op(kit)
    await kit.store.append_turns(subject.session_id, [turn(50)], guard=guard)
    call = kit.store.update_run(subject.session_id, samples.run(), guard=guard)
    await raises(OperationConflictError, call, "another method with a used id")
    if kit.declares("history"):
        call = kit.store.mutate_history(subject.session_id, lambda now: replace(now, turns=[]), guard=guard)
        await raises(OperationConflictError, call, "mutate_history with the id of an append")
        mutation = _op(kit)
        await kit.store.mutate_history(
            subject.session_id, lambda now: replace(now, turns=now.turns[1:]), guard=mutation
        )
        call = kit.store.append_turns(subject.session_id, [turn(51)], guard=mutation)
        await raises(OperationConflictError, call, "an append with the id of a mutation")


@check("operation.mutation-runs-once", also=("history",))
async def mutation_runs_once(kit: Kit) -> None:
    """A repeated `mutate_history` does not edit what the first one made."""
    subject, guard = await prepare(kit), _op(kit)
    calls: list[int] = []

    def drop_first(history: SessionHistory) -> SessionHistory:
        calls.append(1)
        return replace(history, turns=list(history.turns)[1:])

    first = await kit.store.mutate_history(subject.session_id, drop_first, guard=guard)
    again = await kit.store.mutate_history(subject.session_id, drop_first, guard=guard)
    equal(again, first, "the answer to the repeated mutation")
    left = [each.id for each in await kit.store.get_turns(subject.session_id)]
    equal(left, ["t1", "t2"], "the history")


@check("operation.failure-is-not-kept")
async def failure_is_not_kept(kit: Kit) -> None:
    """A call that failed has used no operation id up: it may be sent again, and with another payload."""
    session_id, guard = await kit.session(1), _op(kit)
    call = kit.store.append_turns(session_id, [turn(0, "other")], guard=guard)
    await raises(TurnConflictError, call, "a conflicting append")
    written = await kit.store.append_turns(session_id, [turn(1)], guard=guard)
    equal(written.added, 1, "how many turns the corrected append added")


@check("operation.deletion-is-kept")
async def deletion_is_kept(kit: Kit) -> None:
    """A repeated deletion gets its first answer, and leaves alone a session that was created since."""
    session_id, guard = await kit.session(1), _op(kit)
    await kit.store.delete(session_id, guard=guard)
    await kit.store.append_turns(session_id, [turn(5)], create=kit.header())
    equal(await kit.store.delete(session_id, guard=guard), True, "the answer to the repeated deletion")
    equal([each.id for each in await kit.store.get_turns(session_id)], ["t5"], "the turns of the new session")
    await kit.store.delete(session_id)
    equal(await kit.store.delete(session_id, guard=guard), True, "the answer once the new session is deleted too")


@check("operation.concurrent", layer="tasks")
async def concurrent(kit: Kit) -> None:
    """The same call sent several times at once takes effect once; all get one answer."""
    session_id = await kit.session()
    for at in range(kit.count(20, least=3)):
        guard, given = _op(kit), [turn(at)]
        calls = [kit.store.append_turns(session_id, given, metadata={"at": at}, guard=guard) for _ in range(6)]
        answers = await asyncio.gather(*calls)
        equal(list(answers), [answers[0]] * 6, "the answers")
        equal(len(await kit.store.get_turns(session_id)), at + 1, "how many turns are stored")


@check("operation.kept-long-enough")
async def kept_long_enough(kit: Kit) -> None:
    """The answers of a session's last 256 operations are kept."""
    session_id = await kit.session()
    guards = [_op(kit) for _ in range(OPERATION_HISTORY)]
    with kit.unseen():
        calls = [kit.store.append_turns(session_id, [turn(at)], guard=guard) for at, guard in enumerate(guards)]
        answers = await asyncio.gather(*calls)
    for at in (0, 1, OPERATION_HISTORY // 2, OPERATION_HISTORY - 1):
        again = await kit.store.append_turns(session_id, [turn(at)], guard=guards[at])
        equal(again, answers[at], f"the answer to operation {at} of {OPERATION_HISTORY}, repeated")


@check("operation.apart", sessions=2)
async def apart(kit: Kit) -> None:
    """An operation on one session says nothing of another session's."""
    one, other, guard = await kit.session(1), await kit.session(1), _op(kit)
    await kit.store.append_turns(one, [turn(1)], guard=guard)
    answer = await outcome(kit.store.append_turns(other, [turn(1)], guard=guard))
    if not isinstance(answer, OperationConflictError):  # a store may keep its ids for all sessions together
        equal(len(await kit.store.get_turns(other)), 2, "how many turns the other session has")


async def _repeat_through(kit: Kit, write: Write) -> None:
    subject = await prepare(kit)
    ask = Ask(subject, _op(kit))
    first = await write.act(kit.store, ask)
    other = await kit.open()
    equal(await write.act(other, ask), first, f"the answer to {write.method}, repeated through another handle")


@check("operation.through-other-instances", layer="instances")
async def through_other_instances(kit: Kit) -> None:
    """A call repeated through another handle gets the first answer."""
    for write in writes_of(kit, schedules=True)[:6]:
        await _repeat_through(kit, write)


@check("operation.reopened", layer="reopen")
async def reopened(kit: Kit) -> None:
    """A call repeated after the store was closed and opened again gets the first answer."""
    subject = await prepare(kit)
    given, guard = [turn(50)], _op(kit)
    first = await kit.store.append_turns(subject.session_id, given, metadata={"a": 1}, guard=guard)
    await kit.store.aclose()
    store = await kit.open()
    again = await store.append_turns(subject.session_id, given, metadata={"a": 1}, guard=guard)
    equal(again, first, "the answer to the repeated append")
