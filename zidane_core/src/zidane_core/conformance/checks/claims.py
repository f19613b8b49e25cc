"""Claims: one run at a time, and a run that lost its claim cannot write."""

from __future__ import annotations

import asyncio
import time

from msgspec.structs import replace

from zidane_core.conformance import samples
from zidane_core.conformance.calls import Ask, prepare, writes_of
from zidane_core.conformance.check import Collector
from zidane_core.conformance.expectations import equal, holds, raises
from zidane_core.conformance.kit import Kit
from zidane_core.conformance.samples import owner, run, turn, turns
from zidane_core.errors import RunFencedError, RunInProgressError, SessionNotFoundError
from zidane_core.records import SessionHistory, Status
from zidane_core.store import Guard, RunClaim

check = Collector("claims")

SLACK_MS = 3
"""Clocks count whole milliseconds at either end."""


def refused(claim: RunClaim) -> RunClaim:
    return replace(claim, quiet_ms=0)


@check("claim.granted")
async def granted(kit: Kit) -> None:
    """A claim on an idle session is granted: `running`, the owner recorded, the epoch the revision that it made."""
    session_id = await kit.session(1)
    await kit.store.update_status(session_id, "error")
    before = await kit.loaded(session_id)
    claim = await kit.store.claim_run(session_id, owner=owner("one"))
    found = await kit.loaded(session_id)
    wanted = RunClaim(
        claimed=True, epoch=claim.rev, rev=claim.rev, previous="error", previous_rev=before.rev or 0, holder=None
    )
    equal(claim, wanted, "the answer")
    holds(claim.rev > (before.rev or 0), "its revision", expected=f"more than {before.rev}", found=claim.rev)
    told = (found.status, found.run_owner, found.epoch, found.rev)
    equal(told, ("running", owner("one"), claim.epoch, claim.rev), "the claimed session")


@check("claim.refused")
async def refused_while_held(kit: Kit) -> None:
    """A claim on a claimed session is refused, tells the holder and its epoch, and changes nothing."""
    session_id = await kit.session(1)
    first = await kit.store.claim_run(session_id, owner=owner("one"))
    before = replace(await kit.loaded(session_id), quiet_ms=None)
    for displaces in (None, 0, first.epoch - 1, first.epoch + 1):
        claim = await kit.store.claim_run(session_id, owner=owner("two"), displaces=displaces)
        wanted = RunClaim(claimed=False, epoch=first.epoch, rev=first.rev, previous="running", holder=owner("one"))
        equal(refused(claim), wanted, f"the answer to a claim that displaces {displaces}")
    equal(replace(await kit.loaded(session_id), quiet_ms=None), before, "the session after the refusals")


@check("claim.displaced")
async def displaced(kit: Kit) -> None:
    """A claim that names the holder's epoch takes over, and tells whom it displaced."""
    session_id = await kit.session(1)
    first = await kit.store.claim_run(session_id, owner=owner("one"))
    second = await kit.store.claim_run(session_id, owner=owner("two"), displaces=first.epoch)
    equal((second.claimed, second.holder, second.previous), (True, owner("one"), "running"), "the answer")
    holds(second.epoch > first.epoch, "its epoch", expected=f"more than {first.epoch}", found=second.epoch)
    equal((await kit.loaded(session_id)).run_owner, owner("two"), "the owner")


@check("claim.ended", also=("guards",))
async def ended(kit: Kit) -> None:
    """A status other than `running`, written with the fence, ends the claim; the next claim is granted."""
    statuses: tuple[Status, ...] = ("idle", "completed", "error")
    for status in statuses:
        session_id = await kit.session(1)
        first = await kit.store.claim_run(session_id, owner=owner("one"))
        await kit.store.update_status(session_id, status, guard=Guard(fence=first.epoch))
        found = await kit.loaded(session_id)
        told = (found.status, found.run_owner, found.epoch, found.quiet_ms)
        equal(told, (status, None, None, None), "the session after its claim ended")
        again = await kit.store.claim_run(session_id, owner=owner("two"))
        equal((again.claimed, again.previous), (True, status), "the next claim")


@check("claim.marked-by-hand")
async def marked_by_hand(kit: Kit) -> None:
    """A session marked `running` without a claim has epoch 0 for claimants: refused, unless 0 is displaced."""
    session_id = await kit.session(1)
    await kit.store.update_status(session_id, "running", owner=owner("hand"))
    claim = await kit.store.claim_run(session_id, owner=owner("two"))
    equal((claim.claimed, claim.epoch, claim.holder), (False, 0, owner("hand")), "the answer")
    equal((await kit.loaded(session_id)).epoch, None, "the epoch")
    claim = await kit.store.claim_run(session_id, owner=owner("two"), displaces=0)
    equal((claim.claimed, claim.holder), (True, owner("hand")), "the answer to a claim that displaces 0")


@check("claim.protects-the-run")
async def protects_the_run(kit: Kit) -> None:
    """While a claim holds, a write without its fence cannot touch status, owner or runs: RunInProgressError with the
    holder."""
    for write in (each for each in writes_of(kit) if each.fenced):
        subject = await prepare(kit, claimed=True)
        before = replace(await kit.loaded(subject.session_id), quiet_ms=None)
        error = await raises(RunInProgressError, write.act(kit.store, Ask(subject)), f"{write.method} without a fence")
        equal((error.session_id, error.holder), (subject.session_id, samples.owner()), "what the error tells")
        after = replace(await kit.loaded(subject.session_id), quiet_ms=None)
        equal(after, before, f"the session after {write.method} was refused")


@check("claim.lets-others-write")
async def lets_others_write(kit: Kit) -> None:
    """While a claim holds, turns, metadata, artifacts and unchanged runs may be written without its fence; status,
    owner and epoch stay."""
    subject = await prepare(kit, claimed=True)
    session_id = subject.session_id
    data = replace(await kit.loaded(session_id), status="completed", run_owner=None)
    await kit.store.append_turns(session_id, [turn(3)], metadata={"title": "renamed"})
    await kit.store.save(replace(data, turns=turns(0, 4)))
    if kit.declares("meta"):
        await kit.store.save_meta(data)
        await kit.store.patch_meta(session_id, {"k": 5})
    if kit.declares("history"):
        await kit.store.truncate(session_id, "t3")
        await kit.store.mutate_history(session_id, _same_runs)
    if kit.declares("artifacts"):
        await kit.store.upsert_artifact(samples.artifact(session_id, "a7"))
    found = await kit.loaded(session_id)
    told = (found.status, found.run_owner, found.epoch)
    equal(told, ("running", samples.owner(), subject.epoch), "the claim after all that")


def _same_runs(history: SessionHistory) -> SessionHistory:
    return replace(history, turns=list(history.turns)[:-1], runs=list(history.runs))


@check("claim.zombie", also=("guards",))
async def zombie(kit: Kit) -> None:
    """A run that was displaced cannot write: every write with its fence is RunFencedError, and its successor's work."""
    for write in writes_of(kit):
        subject = await prepare(kit, claimed=True)
        taken = await kit.store.claim_run(subject.session_id, owner=owner("new"), displaces=subject.epoch)
        before = replace(await kit.loaded(subject.session_id), quiet_ms=None)
        call = write.act(kit.store, Ask(subject, Guard(fence=subject.epoch)))
        error = await raises(RunFencedError, call, f"{write.method} of the displaced run")
        equal((error.fence, error.epoch), (subject.epoch, taken.epoch), "what the error tells")
        after = replace(await kit.loaded(subject.session_id), quiet_ms=None)
        equal(after, before, f"the session after the displaced run's {write.method}")
        await kit.store.append_turns(subject.session_id, [turn(60)], guard=Guard(fence=taken.epoch))


@check("claim.fence-never-comes-back", also=("guards",))
async def fence_never_comes_back(kit: Kit) -> None:
    """The fence of a claim on a deleted session never fits the session that is made under its id."""
    session_id = kit.session_id()
    fences: list[int] = []
    for _ in range(4):
        claim = await kit.store.claim_run(session_id, owner=owner(), create=kit.header())
        for fence in fences:
            call = kit.store.append_turns(session_id, [turn(0)], guard=Guard(fence=fence))
            await raises(RunFencedError, call, "a write with the fence of a former life")
        fences.append(claim.epoch)
        await kit.store.delete(session_id)


@check("claim.renewed")
async def renewed(kit: Kit) -> None:
    """Renewing moves neither revision nor recency; with a superseded or ended claim's fence it is RunFencedError."""
    session_id = await kit.session(1)
    first = await kit.store.claim_run(session_id, owner=owner("one"))
    before = replace(await kit.loaded(session_id), quiet_ms=None)
    await kit.store.renew_run(session_id, fence=first.epoch)
    equal(replace(await kit.loaded(session_id), quiet_ms=None), before, "the session after renewing")
    second = await kit.store.claim_run(session_id, owner=owner("two"), displaces=first.epoch)
    for wrong in (first.epoch, second.epoch + 1, 0):
        await raises(RunFencedError, kit.store.renew_run(session_id, fence=wrong), "renewing a claim that is over")
    if kit.declares("guards"):
        await kit.store.update_status(session_id, "idle", guard=Guard(fence=second.epoch))
        call = kit.store.renew_run(session_id, fence=second.epoch)
        await raises(RunFencedError, call, "renewing a claim that has ended")
    call = kit.store.renew_run(kit.session_id(), fence=1)
    await raises(SessionNotFoundError, call, "renewing on an unknown session")


@check("claim.quiet-clock")
async def quiet_clock(kit: Kit) -> None:
    """`quiet_ms` is the time since the claim, its renewal or its fenced writes; others' writes do not shorten it."""
    session_id = await kit.session(1)
    since = time.monotonic()
    claim = await kit.store.claim_run(session_id, owner=owner("one"))
    acknowledged = time.monotonic()
    await asyncio.sleep(0.03)  # so that there is a silence to be told; nothing depends on its length
    await kit.store.append_turns(session_id, [turn(1)])
    await _is_quiet(kit, session_id, since, acknowledged, "after the claim and another's write")
    since = time.monotonic()
    await kit.store.renew_run(session_id, fence=claim.epoch)
    acknowledged = time.monotonic()
    await _is_quiet(kit, session_id, since, acknowledged, "after renewing")
    if kit.declares("guards"):
        await asyncio.sleep(0.03)
        since = time.monotonic()
        await kit.store.append_turns(session_id, [turn(2)], guard=Guard(fence=claim.epoch))
        await _is_quiet(kit, session_id, since, time.monotonic(), "after a fenced write")


async def _is_quiet(kit: Kit, session_id: str, since: float, acknowledged: float, when: str) -> None:
    asked = time.monotonic()
    claim = await kit.store.claim_run(session_id, owner=owner("asking"))
    least, most = (asked - acknowledged) * 1000 - SLACK_MS, (time.monotonic() - since) * 1000 + SLACK_MS
    expected = f"between {least:.0f} and {most:.0f}"
    holds(least <= claim.quiet_ms <= most, f"quiet_ms {when}", expected=expected, found=claim.quiet_ms)


@check("claim.one-winner", layer="tasks")
async def one_winner(kit: Kit) -> None:
    """Of concurrent claims exactly one is granted, on a new session and a known one; the others learn whose it is."""
    for round_ in range(kit.count(20, least=4)):
        session_id = await kit.next_session_id()
        create = kit.header()
        if round_ % 2:
            await kit.store.append_turns(session_id, [turn(0)], create=create)
        calls = [kit.store.claim_run(session_id, owner=owner(f"{each}"), create=create) for each in range(10)]
        claims = await asyncio.gather(*calls)
        winners = [claim for claim in claims if claim.claimed]
        equal(len(winners), 1, "how many claims were granted")
        holders = [claim.holder for claim in claims if not claim.claimed]
        holder = (await kit.loaded(session_id)).run_owner
        equal(holders, [holder] * 9, "the holder that the others were told")


@check("claim.one-displacer", layer="tasks")
async def one_displacer(kit: Kit) -> None:
    """Of concurrent claims that displace the same holder exactly one is granted."""
    session_id = await kit.session()
    claim = await kit.store.claim_run(session_id, owner=owner("first"))
    for _ in range(kit.count(20, least=4)):
        calls = [kit.store.claim_run(session_id, owner=owner(f"{at}"), displaces=claim.epoch) for at in range(8)]
        granted_ones = [each for each in await asyncio.gather(*calls) if each.claimed]
        equal(len(granted_ones), 1, "how many claims were granted")
        claim = granted_ones[0]


@check("claim.across-instances", layer="instances")
async def across_instances(kit: Kit) -> None:
    """A claim is seen through every handle: refused there, fenced there, renewed there."""
    other = await kit.open()
    session_id = await kit.session(1)
    first = await kit.store.claim_run(session_id, owner=owner("one"))
    equal((await other.claim_run(session_id, owner=owner("two"))).claimed, False, "a claim through the other handle")
    await other.renew_run(session_id, fence=first.epoch)
    second = await other.claim_run(session_id, owner=owner("two"), displaces=first.epoch)
    equal(second.claimed, True, "a displacing claim through the other handle")
    await raises(RunFencedError, kit.store.renew_run(session_id, fence=first.epoch), "renewing the displaced claim")
    if kit.declares("guards"):
        zombies = kit.store.append_turns(session_id, [turn(1)], run=run("r1"), guard=Guard(fence=first.epoch))
        await raises(RunFencedError, zombies, "an append of the displaced run")
        equal(await other.get_turns(session_id), turns(0, 1), "the history")


@check("claim.reopened", layer="reopen")
async def reopened(kit: Kit) -> None:
    """A claim outlives the handle that made it: after reopening it still holds, with its owner and epoch."""
    session_id = await kit.session(1)
    first = await kit.store.claim_run(session_id, owner=owner("one"))
    await kit.store.aclose()
    store = await kit.open()
    claim = await store.claim_run(session_id, owner=owner("two"))
    equal((claim.claimed, claim.epoch, claim.holder), (False, first.epoch, owner("one")), "the answer to a claim")
    await store.renew_run(session_id, fence=first.epoch)
