"""Ids are opaque, and no two collide; scopes are apart."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from msgspec.structs import replace

from zidane_core.conformance import samples
from zidane_core.conformance.calls import READS, SCHEDULE_WRITES, WRITES, Ask, Subject
from zidane_core.conformance.check import Collector
from zidane_core.conformance.expectations import equal, holds, raises
from zidane_core.conformance.kit import Kit
from zidane_core.conformance.samples import turn, turns
from zidane_core.errors import InvalidContentError, InvalidIdError, StoreClosedError
from zidane_core.store import Guard, SessionFilter, SessionStore

check = Collector()

SHAPES = (
    "{}",
    "{}:turns",
    "{}:turns:1",
    "{}/turns",
    "{}/../{}",
    "../{}",
    "..{}",
    "{}.",
    "{} ",
    " {}",
    "{{}}",
    "{}}b",
    "{}{b",
    "*{}",
    "{}*",
    "{}?",
    "[{}]",
    "{}%",
    "{}_",
    "%{}",
    "{}'",
    '{}"',
    "{}`",
    "{};--",
    "{}\\",
    "{}\n",
    "{}\t",
    "{}\x01",
    "{}\x7f",
    "{}#a",
    "{}?a=b",
    "{}%2F",
    "{}%00",
    "{}é",
    "{}e\u0301",
    "{}\U0001f600",
    "{}\ufeff",
    "{}\u202e",
    "C:{}",
    "con.{}",
    "{}~",
    "~{}",
    "{}-.#",
    "{}|{}",
    "-{}",
    "{}::",
    "{}:",
    "http://x/{}",
)
"""What a random name is put into. `{}` is the name."""


def awkward(name: str) -> list[str]:
    """Ids that a careless key, path, pattern or query would take for one another."""
    ids = [shape.replace("{}", name) for shape in SHAPES]
    ids += [f"{{{name}}}", name.upper(), f"{name}x", name + "x" * (512 - len(name)), name + "é" * (512 - len(name))]
    return list(dict.fromkeys(ids))


ILLEGAL: dict[str, Any] = {
    "empty": "",
    "NUL": "a\0b",
    "a lone surrogate": "a\ud83d",
    "513 characters": "x" * 513,
    "a number": 7,
    "None": None,
    "bytes": b"x",
}


@check("id.apart", sessions=60)
async def apart(kit: Kit) -> None:
    """Any non-empty text of up to 512 characters without NUL is an id, and no two sessions share anything, deletion
    included."""
    ids = awkward(kit.unique())
    calls = [
        kit.store.append_turns(kit.adopt(session_id), [turn(0, f"of {at}")], create=kit.header(), metadata={"at": at})
        for at, session_id in enumerate(ids)
    ]
    await asyncio.gather(*calls)
    await _are_whole(kit, dict(enumerate(ids)))
    left = dict(enumerate(ids))
    for at in list(left)[::2]:
        equal(await kit.store.delete(left.pop(at)), True, f"the answer to deleting {ids[at]!a}")
    await _are_whole(kit, left)
    listed = set(await kit.store.list_ids())
    equal([each for each in ids if each in listed], list(left.values()), "the ids that are listed after deleting half")


async def _are_whole(kit: Kit, sessions: dict[int, str]) -> None:
    for at, session_id in sessions.items():
        found = await kit.loaded(session_id)
        told = (found.id, found.turns, found.metadata)
        equal(told, (session_id, [turn(0, f"of {at}")], {"at": at}), f"the session {session_id!a}")
        equal(await kit.store.list_ids(limit=1, after=session_id[:-1] or None) != [], True, "list_ids with such ids")
        if kit.declares("meta"):
            equal((await kit.row(session_id)).metadata, {"at": at}, f"the meta row of {session_id!a}")


@check("id.awkward-parts")
async def awkward_parts(kit: Kit) -> None:
    """Turn, run, artifact, request, operation and schedule ids are opaque too."""
    session_id = await kit.session()
    ids = awkward("p")
    await kit.store.append_turns(session_id, [turn(at, id=each) for at, each in enumerate(ids)])
    await kit.store.update_run(session_id, samples.run(ids[0]))
    await kit.store.save(replace(await kit.loaded(session_id), runs=[samples.run(each) for each in ids]))
    for each in ids[::4]:
        await kit.store.update_run(session_id, samples.run(each))
    found = await kit.loaded(session_id)
    equal([each.id for each in found.turns], ids, "the turn ids")
    equal([each.id for each in found.runs], ids, "the run ids")
    if kit.declares("artifacts"):
        await asyncio.gather(*(kit.store.upsert_artifact(samples.artifact(session_id, each)) for each in ids))
        await kit.store.delete_artifact(session_id, ids[0])
        listed = {row.id for row in await kit.store.list_artifacts() if row.session_id == session_id}
        equal(listed, set(ids[1:]), "the artifact ids")
    if kit.declares("send_requests"):
        claims = await asyncio.gather(*(kit.store.claim_send_request(session_id, each, each) for each in ids))
        equal([each.claimed for each in claims], [True] * len(ids), "the claims of awkward request ids")
    if kit.declares("operations"):
        calls = [
            kit.store.append_turns(session_id, [turn(900 + at)], guard=Guard(op_id=each)) for at, each in enumerate(ids)
        ]
        added = [each.added for each in await asyncio.gather(*calls)]
        equal(added, [1] * len(ids), "appends under awkward operation ids")


@check("id.awkward-schedules", capability="schedules")
async def awkward_schedules(kit: Kit) -> None:
    """Schedules with awkward ids are apart, their fires too."""
    ids = awkward(kit.unique())[:30]
    for each in ids:
        kit.schedule_id(each)
        await kit.store.save_schedule(samples.schedule(each, name=each))
        await kit.store.record_schedule_fire(samples.fire(each, "f0", error=each))
    for each in ids:
        equal([fire.error for fire in await kit.store.list_schedule_fires(each, 9)], [each], f"the fires of {each!a}")
    for each in ids[::2]:
        await kit.store.delete_schedule(each)
    listed = {each.id for each in await kit.store.list_schedules()}
    equal([each for each in ids if each in listed], ids[1::2], "the schedules after deleting half")


@check("id.refused")
async def refused(kit: Kit) -> None:
    """What is no id is InvalidIdError on every method, before anything is stored."""
    session_id = await kit.session(1)
    before, ids = await kit.loaded(session_id), await kit.store.list_ids()
    for name, illegal in ILLEGAL.items():
        for method, call in _calls_on(kit, illegal).items():
            await raises(InvalidIdError, call(), f"{method} with {name} as the session id")
        bad_turn = kit.store.append_turns(session_id, [turn(1), turn(2, id=illegal)])
        await raises(InvalidIdError, bad_turn, f"a turn with {name} as its id")
        bad_run = kit.store.update_run(session_id, samples.run(illegal))
        await raises(InvalidIdError, bad_run, f"a run with {name} as its id")
        if kit.declares("operations") and illegal is not None:
            bad_operation = kit.store.append_turns(session_id, [turn(1)], guard=Guard(op_id=illegal))
            await raises(InvalidIdError, bad_operation, f"an operation with {name} as its id")
    equal(await kit.store.load(session_id), before, "the session")
    equal(await kit.store.list_ids(), ids, "the ids")


def _calls_on(kit: Kit, session_id: Any) -> dict[str, Callable[[], Awaitable[object]]]:
    calls: dict[str, Callable[[], Awaitable[object]]] = {}
    ask = Ask(Subject(session_id, session_id))
    for write in WRITES + SCHEDULE_WRITES:
        if write.capability == "core" or kit.declares(write.capability):
            calls[write.method] = partial(write.act, kit.store, ask)
    for name in ("load", "get_turns", "get_meta", "find_send_request"):
        capability, read = READS[name]
        if capability == "core" or kit.declares(capability):
            calls[name] = partial(read, kit.store, session_id)
    if kit.declares("claims"):
        calls["renew_run"] = partial(kit.store.renew_run, session_id, fence=1)
    return calls


@check("id.labels")
async def labels(kit: Kit) -> None:
    """An agent id or project root with NUL or a lone surrogate is refused, since listings filter by them; others are
    kept as they are."""
    for bad in ("a\0b", "\ud83d"):
        for fields in ({"agent_id": bad}, {"project_root": bad}):
            session_id = kit.session_id()
            call = kit.store.append_turns(session_id, [], create=kit.header(**fields))
            await raises(InvalidContentError, call, f"a creation with {fields}")
            equal(await kit.store.load(session_id), None, "the refused session")
    label = "/Ünïcode '%_*\\ \U0001f600"
    session_id = await kit.session(agent_id=label, project_root=label)
    found = await kit.loaded(session_id)
    equal((found.agent_id, found.project_root), (label, label), "the labels")
    listed = await kit.store.list_ids(SessionFilter(agent_id=label, project_root=label))
    holds(session_id in listed, "the ids with that label", expected="the session", found=listed)


# -- scopes -----------------------------------------------------------------------------------


@check("scope.apart", capability="scopes", sessions=2)
async def scopes_apart(kit: Kit) -> None:
    """The same id in two scopes is two sessions: reads, listings and deletions of one never reach the other."""
    name, session_id = kit.unique(), kit.session_id()
    stores: dict[str, SessionStore] = {"": kit.store}
    for scope in (name, f"{name}:x", f"{name}%", f"{name.upper()}", f"..{name}", f"{{{name}}}"):
        stores[scope] = kit.store.in_scope(scope)
        kit.adopt(session_id, scope=scope)
        equal(stores[scope].scope, scope, "the handle's scope")
    for at, (scope, store) in enumerate(stores.items()):
        await store.append_turns(session_id, [turn(at)], create=kit.header(agent_id=name))
        await store.append_turns(session_id, turns(10, 12), metadata={"scope": scope})
    for at, (scope, store) in enumerate(stores.items()):
        found = await kit.loaded(session_id, store=store)
        told = (found.turns, found.metadata)
        equal(told, ([turn(at), *turns(10, 12)], {"scope": scope}), f"the session in scope {scope!a}")
        if scope:
            equal(await store.list_ids(), [session_id], f"the ids in scope {scope!a}")
    equal(await stores[name].delete(session_id), True, "the answer to deleting it in one scope")
    equal(await stores[name].list_ids(), [], "the ids in that scope")
    for scope, store in stores.items():
        if scope != name:
            holds(await store.load(session_id) is not None, f"the session in {scope!a}", expected="there", found=None)


@check("scope.collections-apart", capability="scopes")
async def scope_collections_apart(kit: Kit) -> None:
    """Artifacts, schedules, send requests, operations and meta listings of two scopes are apart."""
    scope, session_id = kit.unique(), kit.session_id()
    inner = kit.store.in_scope(scope)
    kit.adopt(session_id, scope=scope)
    await kit.store.append_turns(session_id, [], create=kit.header())
    await inner.append_turns(session_id, [], create=kit.header())
    if kit.declares("artifacts"):
        await kit.store.upsert_artifact(samples.artifact(session_id, "a0"))
        equal(await inner.list_artifacts(), [], "the artifacts of the other scope")
    if kit.declares("send_requests"):
        await kit.store.claim_send_request(session_id, "q", "p")
        equal(await inner.find_send_request(session_id, "q"), None, "the send request in the other scope")
    if kit.declares("schedules"):
        await kit.store.save_schedule(samples.schedule(kit.schedule_id()))
        equal(await inner.list_schedules(), [], "the schedules of the other scope")
    if kit.declares("meta"):
        equal([row.id for row in (await inner.list_meta()).items], [session_id], "the meta rows of the other scope")
    if kit.declares("operations"):
        guard = Guard(op_id=f"op-{kit.unique()}")
        await kit.store.append_turns(session_id, [turn(0)], guard=guard)
        equal((await inner.append_turns(session_id, [turn(0)], guard=guard)).added, 1, "the same operation there")


@check("scope.handles", capability="scopes")
async def scope_handles(kit: Kit) -> None:
    """A scoped handle closes alone; "" is the scope without a name; what is no id is no scope."""
    session_id = await kit.session(1)
    inner = kit.store.in_scope(kit.unique())
    equal(await inner.load(session_id), None, "the session in another scope")
    equal(await inner.in_scope("").load(session_id), await kit.store.load(session_id), "the session in scope ''")
    await inner.aclose()
    await raises(StoreClosedError, inner.load(session_id), "a call on the closed scoped handle")
    holds(await kit.store.load(session_id) is not None, "the outer handle", expected="still open", found=None)
    for illegal in ("a\0b", "\ud83d", "x" * 513):
        await raises(InvalidIdError, _scoped(kit.store, illegal), f"the scope {illegal[:9]!a}")


async def _scoped(store: SessionStore, scope: str) -> object:
    return store.in_scope(scope)
