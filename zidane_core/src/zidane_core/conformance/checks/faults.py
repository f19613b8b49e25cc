"""Faults under the store: whichever operation of the backend fails, a call happens wholly or not at all."""

from __future__ import annotations

from collections.abc import Awaitable

from zidane_core.conformance.calls import Ask, Subject, prepare, writes_of
from zidane_core.conformance.check import Collector
from zidane_core.conformance.checks.cancellation import settled_shape, shape, still_works
from zidane_core.conformance.expectations import BrokenRuleError, equal, holds, outcome
from zidane_core.conformance.kit import Kit
from zidane_core.conformance.recording import unrecorded
from zidane_core.errors import ZidaneError

check = Collector(layer="faults")

MOST_FAULTS = 200


async def _with_fault(kit: Kit, at: int, call: Awaitable[object]) -> tuple[bool, object]:
    """Whether there was an operation to fail, and how the call ended."""
    if kit.target.faults is None:
        raise RuntimeError("the target has no way to inject faults")
    with kit.target.faults(unrecorded(kit.store), at) as fault:
        ended = await outcome(call)
    return fault.fired, ended


@check("fault.writes")
async def writes(kit: Kit) -> None:
    """When the n-th operation of the backend fails, for every n, a write has happened wholly or not at all, raises an
    error of ours, and can be repeated."""
    chosen = writes_of(kit, schedules=True)
    for write in kit.random.sample(chosen, min(len(chosen), kit.count(len(chosen), least=6))):
        before = await shape(kit, await prepare(kit))
        subject = await prepare(kit)
        await write.act(kit.store, Ask(subject))
        states = [before, await shape(kit, subject)]
        for at in range(1, MOST_FAULTS):
            subject = await prepare(kit)
            what = f"{write.method}, the backend's operation {at} failing"
            fired, ended = await _with_fault(kit, at, write.act(kit.store, Ask(subject)))
            if not fired:
                break
            await _is_whole(kit, subject, states, what)
            if isinstance(ended, Exception):
                holds(isinstance(ended, ZidaneError), what, expected="an error of ours", found=ended)
            await still_works(kit, [kit.store], what)


async def _is_whole(kit: Kit, subject: Subject, states: list[list[dict[str, object]]], what: str) -> None:
    found = await settled_shape(kit, subject, states)
    if found not in states:
        raise BrokenRuleError(what, expected="all of it or nothing", found=repr(found))


@check("fault.reads")
async def reads(kit: Kit) -> None:
    """When an operation of the backend fails, a read raises: a failure is never an absence, nor a shorter answer."""
    subject = await prepare(kit)
    expected = await kit.store.load(subject.session_id)
    for at in range(1, MOST_FAULTS):
        fired, ended = await _with_fault(kit, at, kit.store.load(subject.session_id))
        if not fired:
            return
        if not isinstance(ended, ZidaneError):
            equal(ended, expected, f"load, the backend's operation {at} failing")
