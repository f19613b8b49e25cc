"""Declared means done, undeclared means refused: no capability is taken on trust."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeAlias

import msgspec

from zidane_core.conformance import samples
from zidane_core.conformance.calls import READS, SCHEDULE_WRITES, WRITES, Ask, Subject, prepare
from zidane_core.conformance.check import Collector
from zidane_core.conformance.expectations import BrokenRuleError, equal, holds, outcome, raises
from zidane_core.conformance.kit import Kit
from zidane_core.conformance.recording import unrecorded
from zidane_core.errors import CapacityError, UnsupportedError
from zidane_core.store import CAPABILITIES, Capabilities, Guard, Health, SessionStore

check = Collector()


Calls: TypeAlias = "dict[str, Callable[[], Awaitable[object]]]"


def calls_needing(capability: str, subject: Subject, store: SessionStore) -> Calls:
    """Calls that a store without the capability has to refuse, by name."""
    if capability == "guards":
        fence, rev = Ask(subject, Guard(fence=1)), Ask(subject, Guard(expected_rev=1))
        return {"fence": partial(WRITES[0].act, store, fence), "expected_rev": partial(WRITES[0].act, store, rev)}
    if capability == "operations":
        return {"op_id": partial(WRITES[0].act, store, Ask(subject, Guard(op_id="kit-op")))}
    if capability == "scopes":
        return {"in_scope": partial(_in_scope, store)}
    calls: Calls = {
        write.method: partial(write.act, store, Ask(subject))
        for write in WRITES + SCHEDULE_WRITES
        if write.capability == capability
    }
    for name, (needed, read) in READS.items():
        if needed == capability:
            calls[name] = partial(read, store, subject.session_id)
    if capability == "claims":
        calls["renew_run"] = partial(store.renew_run, subject.session_id, fence=1)
    return calls


async def _in_scope(store: SessionStore) -> object:
    return store.in_scope("kit-scope")


async def keeps_its_word(kit: Kit, capability: str) -> None:
    """A declared capability's methods work; an undeclared one's raise UnsupportedError before doing anything."""
    subject = await prepare(kit)
    before = await kit.store.load(subject.session_id)
    for name, call in calls_needing(capability, subject, kit.store).items():
        if kit.declares(capability):
            answer = await outcome(call())
            if isinstance(answer, UnsupportedError | NotImplementedError | AttributeError):
                raise BrokenRuleError(f"{name}, which is declared", expected="that it works", found=repr(answer))
        else:
            await raises(UnsupportedError, call(), f"{name}, which is not declared")
            equal(await kit.store.load(subject.session_id), before, f"the session after {name} was refused")


def _add_check_of(capability: str) -> None:
    async def fn(kit: Kit) -> None:
        await keeps_its_word(kit, capability)

    fn.__doc__ = f"""The methods of `{capability}` work where it is declared; where it is not, each raises
    UnsupportedError before doing anything."""
    check(f"capability.{capability.replace('_', '-')}")(fn)


for _capability in CAPABILITIES:
    _add_check_of(_capability)


@check("capability.declared-data")
async def declared_data(kit: Kit) -> None:
    """`capabilities` is a Capabilities record of legal values, the same on every handle and at every time."""
    found = kit.store.capabilities
    equal(type(found), Capabilities, "the type of the capabilities")
    try:
        equal(msgspec.convert(msgspec.to_builtins(found), Capabilities), found, "the capabilities, read back")
    except msgspec.ValidationError as error:
        raise BrokenRuleError("the capabilities", expected="legal values", found=str(error)) from error
    await prepare(kit)
    equal(kit.store.capabilities, found, "the capabilities after some writes")
    equal((await kit.open()).capabilities, found, "the capabilities of another handle")


@check("capability.protocol")
async def protocol(kit: Kit) -> None:
    """A store has every member of the SessionStore protocol, whatever it declares."""
    store = unrecorded(kit.store)
    missing = [name for name in _members() if not hasattr(type(store), name) and not hasattr(store, name)]
    equal(missing, [], "the missing members of the protocol")
    equal(store.scope, "", "the scope of a store that was opened without one")


@check("capability.health")
async def health(kit: Kit) -> None:
    """`health` answers a Health record, that says the backend is well while the store works."""
    found = await kit.store.health()
    equal(type(found), Health, "the type of the answer")
    equal(found.ok, True, "health().ok")
    holds(bool(found.backend), "health().backend", expected="the backend's name", found=found.backend)


@check("capability.max-sessions")
async def max_sessions(kit: Kit) -> None:
    """A store that is full refuses another session with CapacityError; what it holds stays as it is."""
    limit = kit.capabilities.max_sessions
    if limit is None or limit > 50:
        return
    held = await kit.store.list_ids()
    first = [await kit.session(2) for _ in range(limit - len(held))]
    before = [await kit.store.load(session_id) for session_id in first]
    for write in ("append_turns", "save"):
        other = kit.session_id()
        call = (
            kit.store.append_turns(other, [samples.turn(0)], create=kit.header())
            if write == "append_turns"
            else kit.store.save(samples.snapshot(other), create=True)
        )
        await raises(CapacityError, call, f"{write} of one session too many")
        equal(await kit.store.load(other), None, "the session that there was no room for")
    equal([await kit.store.load(session_id) for session_id in first], before, "the sessions that the store holds")


def _members() -> list[str]:
    return sorted(name for name in vars(SessionStore) if not name.startswith("_"))
