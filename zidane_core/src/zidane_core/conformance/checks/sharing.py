"""Many writers on one session: tasks, handles, processes. Nothing is lost, nothing doubled, order is one."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from zidane_core.conformance import samples
from zidane_core.conformance.check import Collector
from zidane_core.conformance.expectations import equal, holds
from zidane_core.conformance.kit import Kit
from zidane_core.conformance.processes import run_workers, workers
from zidane_core.conformance.samples import owner, turn
from zidane_core.store import SessionStore

check = Collector()


async def _interleaved(kit: Kit, handles: list[SessionStore]) -> None:
    """Several writers on one session, each in order; batches stay together."""
    session_id = await kit.session()
    batches = kit.count(20, least=6)

    async def write(writer: int) -> list[int]:
        revs: list[int] = []
        for at in range(batches):
            given = [turn(writer * 1000 + at * 3 + each) for each in range(3)]
            revs.append((await handles[writer % len(handles)].append_turns(session_id, given)).rev)
        return revs

    writers = 5
    revs = await asyncio.gather(*(write(writer) for writer in range(writers)))
    found = [int(each.id[1:]) for each in await kit.store.get_turns(session_id)]
    equal(len(found), writers * batches * 3, "how many turns are stored")
    for writer in range(writers):
        mine = [each for each in found if each // 1000 == writer]
        equal(mine, [writer * 1000 + at for at in range(batches * 3)], f"the turns of writer {writer}, in order")
    apart = [at for at in range(0, len(found), 3) if found[at : at + 3] != list(range(found[at], found[at] + 3))]
    equal(apart, [], "batches that are torn apart")
    flat = [rev for each in revs for rev in each]
    equal(len(set(flat)), len(flat), "how many different revisions were answered")


@check("append.concurrent-tasks", layer="tasks")
async def concurrent_tasks(kit: Kit) -> None:
    """Concurrent appends on one handle all arrive, each batch whole, each writer's in order."""
    await _interleaved(kit, [kit.store])


@check("append.concurrent-instances", layer="instances")
async def concurrent_instances(kit: Kit) -> None:
    """Concurrent appends through several handles all arrive, each batch whole, each writer's in order."""
    await _interleaved(kit, [kit.store, await kit.open(), await kit.open()])


@check("append.same-turn-at-once", layer="tasks")
async def same_turn_at_once(kit: Kit) -> None:
    """The same turn, appended several times at once, is stored once, and one append says that it was new."""
    session_id = await kit.session()
    for at in range(kit.count(30, least=5)):
        written = await asyncio.gather(*(kit.store.append_turns(session_id, [turn(at)]) for _ in range(6)))
        equal(sum(each.added for each in written), 1, "how many appends say that the turn was new")
        equal(len(await kit.store.get_turns(session_id)), at + 1, "how many turns are stored")


@check("instances.see-each-other", layer="instances", sessions=2)
async def see_each_other(kit: Kit) -> None:
    """What one handle wrote the next read through another sees: no handle answers from what it once read."""
    other = await kit.open()
    session_id = await kit.session(1)
    for at in range(1, 6):
        await kit.store.append_turns(session_id, [turn(at)], metadata={"at": at}, run=samples.run(f"r{at}"))
        seen = await kit.loaded(session_id, store=other)
        told = (len(seen.turns), seen.metadata, len(seen.runs))
        equal(told, (at + 1, {"at": at}, at), "the session through the other handle")
        equal(await other.get_turns(session_id, last=1), [turn(at)], "its tail through the other handle")
        await other.update_status(session_id, "running" if at % 2 else "completed", owner=owner())
        status = (await kit.loaded(session_id)).status
        equal(status, "running" if at % 2 else "completed", "the status that the other handle wrote")
    await other.delete(session_id)
    equal(await kit.store.load(session_id), None, "the session that the other handle deleted")
    equal(session_id in await kit.store.list_ids(), False, "whether it is listed still")


# -- processes --------------------------------------------------------------------------------


def _count(kit: Kit) -> int:
    """How many processes, this one included."""
    return kit.count(4, least=2) if kit.profile.scale <= 1 else 6


@check("append.concurrent-processes", layer="processes")
async def concurrent_processes(kit: Kit) -> None:
    """Concurrent appends of several processes to one session all arrive, each batch whole, each process's in order."""
    session_id = await kit.session()
    turns = kit.count(100, least=15)
    jobs: list[dict[str, Any]] = [
        {"session_id": session_id, "writer": writer, "turns": turns, "size": 2} for writer in range(_count(kit))
    ]
    told = await run_workers(kit, "append", jobs)
    found = [each.id for each in await kit.store.get_turns(session_id)]
    for writer, messages in enumerate(told):
        wanted = [each for message in messages for each in message["ids"]]
        mine = [each for each in found if int(each[1:]) // 10_000 == writer]
        equal(mine, wanted, f"the turns of process {writer}, in order")
    revs = [message["rev"] for messages in told for message in messages]
    equal(len(set(revs)), len(revs), "how many different revisions were answered")
    equal((await kit.loaded(session_id)).rev, max(revs), "the session's revision")


@check("guard.compare-and-swap-processes", capability="guards", layer="processes")
async def compare_and_swap_processes(kit: Kit) -> None:
    """Writes of several processes under an expected revision each follow the one before: none is lost or doubled."""
    session_id = await kit.session()
    rounds = kit.count(40, least=8)
    jobs: list[dict[str, Any]] = [
        {"session_id": session_id, "writer": writer, "rounds": rounds} for writer in range(_count(kit))
    ]
    told = [message for messages in await run_workers(kit, "compare-and-swap", jobs) for message in messages]
    told.sort(key=lambda message: message["rev"])
    equal([message["expected"] for message in told], [message["previous"] for message in told], "expected and found")
    equal([message["previous"] for message in told][1:], [message["rev"] for message in told][:-1], "the chain of revs")
    equal(len(await kit.store.get_turns(session_id)), len(told), "how many turns are stored")


@check("claim.across-processes", capability="claims", layer="processes", sessions=12)
async def claims_across_processes(kit: Kit) -> None:
    """Of several processes that claim the same runs and requests exactly one gets each."""
    ids = [await kit.session() for _ in range(kit.count(12, least=6))]
    jobs: list[dict[str, Any]] = [{"session_ids": ids, "writer": writer} for writer in range(_count(kit))]
    told = [message for messages in await run_workers(kit, "claim", jobs) for message in messages]
    equal(sorted(message["run"] for message in told if "run" in message), sorted(ids), "the runs that were granted")
    for session_id in ids:
        epoch = next(message["epoch"] for message in told if message.get("run") == session_id)
        equal((await kit.loaded(session_id)).epoch, epoch, "the epoch of the granted claim")
    if kit.declares("send_requests"):
        requests = sorted(message["request"] for message in told if "request" in message)
        equal(requests, sorted(f"q{at}" for at in range(len(ids))), "the requests that were granted")


@check("create.across-processes", layer="processes", sessions=10)
async def created_across_processes(kit: Kit) -> None:
    """Of several processes that create the same ids exactly one creates each; no other's turns get into it."""
    ids = [kit.session_id() for _ in range(kit.count(10, least=5))]
    jobs: list[dict[str, Any]] = [{"session_ids": ids, "writer": writer} for writer in range(_count(kit))]
    told = await run_workers(kit, "create", jobs)
    made = {message["made"]: writer for writer, messages in enumerate(told) for message in messages}
    equal(sum(len(messages) for messages in told), len(ids), "how many creations succeeded")
    for session_id in ids:
        found = await kit.loaded(session_id)
        wanted = (f"{made[session_id]}", [turn(made[session_id])])
        equal((found.agent_id, found.turns), wanted, "the creator's session")


@check("history.edit-amid-appends-processes", capability="history", layer="processes")
async def edits_across_processes(kit: Kit) -> None:
    """Nothing that this process appends is lost while another edits the history."""
    session_id = await kit.session()
    async with workers(kit, "edit", [{"session_id": session_id, "rounds": 5}]) as (worker,):
        worker.go()
        total = kit.count(60, least=15)
        for at in range(total):
            await kit.store.append_turns(session_id, [turn(at)])
        await worker.listen()
    found = [each.id for each in await kit.store.get_turns(session_id)]
    equal(found, ["t999999", *(f"t{at}" for at in range(total))], "the history")


@check("exit.forgotten-close", layer="processes")
async def forgotten_close(kit: Kit) -> None:
    """A program that ends without closing its store, by an error or without, exits, and what it wrote is there."""
    await asyncio.gather(_ends_by_itself(kit, "forget", 0), _ends_by_itself(kit, "raise", 1))


async def _ends_by_itself(kit: Kit, how: str, code: int) -> None:
    session_id = kit.session_id()
    async with workers(kit, "write-once", [{"session_id": session_id}], leave=how) as (worker,):
        worker.go()
        await worker.listen(1)
        equal(await worker.exit_code(), code, f"the exit code of a program that leaves its store by {how!r}")
    if kit.capabilities.durable != "no":
        equal(await kit.store.get_turns(session_id), [turn(0)], "what that program wrote")


@check("exit.fork-is-refused", layer="processes")
async def fork_is_refused(kit: Kit) -> None:
    """A store used in a fork of the process that opened it raises StoreForkedError or answers, and never waits; the
    parent's goes on."""
    if not hasattr(os, "fork"):
        return
    session_id = await kit.session(1)
    async with workers(kit, "fork", [{"session_id": session_id}]) as (worker,):
        worker.go()
        await worker.listen()
        told = worker.told
    child = next(message["child"] for message in told if "child" in message)
    holds(child in ("refused", "answered"), "a load in the fork", expected="StoreForkedError", found=child)
    equal([message["parent"] for message in told if "parent" in message], [True], "the parent's load after it")
