"""SIGKILL: what was acknowledged is there, and everything is whole."""

from __future__ import annotations

import asyncio
from typing import Any

from zidane_core.claims import claim_run
from zidane_core.conformance.check import Collector
from zidane_core.conformance.expectations import equal, holds, raises
from zidane_core.conformance.kit import Kit
from zidane_core.conformance.processes import Worker, together, workers
from zidane_core.conformance.samples import owner, run, turn, turns
from zidane_core.errors import RunFencedError
from zidane_core.store import Guard

check = Collector(layer="crash")


async def _killed_amid(kit: Kit, job: str, arguments: list[dict[str, Any]]) -> list[Worker]:
    """Let workers write for ever, and kill them at some moment after the first acknowledgements."""
    async with workers(kit, job, arguments) as started:
        for worker in started:
            worker.go()
        lines = kit.random.randint(1, 12)
        await together(*(worker.listen(lines) for worker in started))
        await asyncio.sleep(kit.random.random() * 0.02)  # any moment will do
        for worker in started:
            await worker.kill()
        return started


@check("kill.acknowledged-is-kept")
async def acknowledged_is_kept(kit: Kit) -> None:
    """After SIGKILL of the writers every acknowledged append is there, once, in order; the last one, whole or not at
    all."""
    writers = 2 if kit.capabilities.shared in ("host", "network") else 1
    for _ in range(kit.count(5)):
        session_id = await kit.session()
        if writers == 1:
            await kit.store.aclose()
        jobs: list[dict[str, Any]] = [{"session_id": session_id, "writer": writer} for writer in range(writers)]
        killed = await _killed_amid(kit, "append-for-ever", jobs)
        store = await kit.open()
        found = await kit.loaded(session_id, store=store)
        for writer, worker in enumerate(killed):
            _is_whole(kit, worker, writer, [each.id for each in found.turns], [each.id for each in found.runs])
        equal(len(found.metadata), len(found.runs), "the metadata keys, one for each run")
        equal(len(found.turns), 2 * len(found.runs), "the turns, two for each run")
        equal((await store.append_turns(session_id, [turn(9_999_999)])).added, 1, "the next append")
        if writers == 1:
            return


def _is_whole(kit: Kit, worker: Worker, writer: int, turn_ids: list[str], run_ids: list[str]) -> None:
    acknowledged = [each for message in worker.told for each in message["ids"]]
    mine = [each for each in turn_ids if int(each[1:]) // 1_000_000 == writer]
    what = f"the turns of the killed writer {writer}"
    equal(mine[: len(acknowledged)], acknowledged, f"{what}, those acknowledged")
    holds(len(mine) % 2 == 0, what, expected="whole batches of two", found=len(mine))
    holds(len(mine) <= len(acknowledged) + 2, what, expected="at most one batch more", found=len(mine))
    wanted = [f"r{writer}-{at}" for at in range(len(mine) // 2)]
    equal([each for each in run_ids if each.startswith(f"r{writer}-")], wanted, f"the runs of writer {writer}")


@check("kill.creation-is-whole", sessions=50)
async def creation_is_whole(kit: Kit) -> None:
    """A session whose creator was killed is there with all that its first write carried, or not at all."""
    for _ in range(kit.count(3)):
        prefix = kit.session_id("kit-made-{}")
        (worker,) = await _killed_amid(kit, "create-for-ever", [{"prefix": prefix}])
        store = await kit.open()
        for message in worker.told:
            session_id = kit.adopt(message.get("began") or message["made"])
            found = await store.load(session_id)
            if "made" in message or found is not None:
                whole = await kit.loaded(session_id, store=store)
                equal((whole.turns, whole.runs), (turns(0, 2), [run()]), "the created session")
            listed = session_id in await store.list_ids()
            equal(listed, found is not None, "whether it is listed, and whether it is there")


@check("kill.claim-is-free-at-once", capability="claims")
async def claim_is_free_at_once(kit: Kit) -> None:
    """The claim of a killed process on this host is displaced at once, and the dead run's fence is over."""
    session_id = await kit.session(1)
    shared = kit.capabilities.shared in ("host", "network")
    if not shared:
        await kit.store.aclose()
    async with workers(kit, "hold", [{"session_id": session_id}]) as (worker,):
        worker.go()
        await worker.listen(1)
        epoch = worker.told[0]["epoch"]
        if shared:
            claim = await kit.store.claim_run(session_id, owner=owner())
            equal((claim.claimed, claim.epoch), (False, epoch), "a claim while the process lives")
        await worker.kill()
    store = await kit.open()
    claim = await claim_run(store, session_id, stale_after_ms=3_600_000)
    equal(claim.claimed, True, "whether the dead process's claim was displaced")
    if kit.declares("guards"):
        zombie = store.append_turns(session_id, [turn(2)], guard=Guard(fence=epoch))
        await raises(RunFencedError, zombie, "a write with the dead run's fence")
    found = await kit.loaded(session_id, store=store)
    equal(found.turns, turns(0, 2), "the history that the dead run wrote")


@check("kill.rev-goes-on")
async def rev_goes_on(kit: Kit) -> None:
    """After SIGKILL no revision that was answered comes again."""
    session_id = await kit.session()
    if kit.capabilities.shared == "instance":
        await kit.store.aclose()
    job = {"session_id": session_id, "writer": 0, "turns": 10_000}
    (worker,) = await _killed_amid(kit, "append", [job])
    store = await kit.open()
    last = max(message["rev"] for message in worker.told)
    written = await store.append_turns(session_id, [turn(999_999)])
    holds(written.rev > last, "the next revision", expected=f"more than {last}", found=written.rev)
