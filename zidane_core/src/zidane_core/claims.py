"""Taking a session for a run: a compare-and-swap in the store, and the judgement here."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from .records import RunOwner, SessionData, SessionHeader, SessionRun
from .run_owner import current_run_owner, liveness_of
from .store import NO_GUARD, Guard, RunClaim, SessionStore

RUN_OWNER_HOLD_MS = 3_600_000
"""How long a live process of this host may be silent before its run may be displaced."""

STALE_AFTER_MS = 60_000
"""How long a run of another host may be silent before it may be displaced; a live run renews well within it."""


def may_displace(holder: RunOwner | None, quiet_ms: int, stale_after_ms: int = STALE_AFTER_MS) -> bool:
    """Whether a run may be taken over from its holder.

    At once when the holder's process is known to be dead; from a live process of this host only after
    `RUN_OWNER_HOLD_MS` of silence; from any other after `stale_after_ms`. `quiet_ms` is measured by the store.
    """
    match liveness_of(holder):
        case "dead":
            return True
        case "alive":
            return quiet_ms >= RUN_OWNER_HOLD_MS
        case "unknown":
            return quiet_ms >= stale_after_ms


async def claim_run(
    store: SessionStore,
    session_id: str,
    *,
    owner: RunOwner | None = None,
    stale_after_ms: int = STALE_AFTER_MS,
    create: SessionHeader | None = None,
    guard: Guard = NO_GUARD,
) -> RunClaim:
    """Take the session for a run, displacing a holder that is dead or silent for too long.

    A refusal is an answer, not an error: `claimed` is False, and `holder` and `quiet_ms` tell who holds it. `owner` is
    this process unless given.

    Raises:
        UnsupportedError: the store has no claims.
        SessionNotFoundError: unknown id, without `create`.
        SessionExistsError: `create`, and another creation holds the id.
    """
    owner = current_run_owner() if owner is None else owner
    claim = await store.claim_run(session_id, owner=owner, create=create, guard=guard)
    if claim.claimed or not may_displace(claim.holder, claim.quiet_ms, stale_after_ms):
        return claim
    again = guard if guard.op_id is None else replace(guard, op_id=f"{guard.op_id}-displacing")
    return await store.claim_run(session_id, owner=owner, displaces=claim.epoch, create=create, guard=again)


def has_stale_run(data: SessionData, stale_after_ms: int = STALE_AFTER_MS) -> bool:
    """Whether what the session shows as running has died: a claim to displace, or runs that nobody holds."""
    if data.status == "running":
        return may_displace(data.run_owner, data.quiet_ms or 0, stale_after_ms)
    return any(run.status == "running" for run in data.runs)


def demote_stale_running_status(data: SessionData) -> SessionData:
    """The session as it is once its run is known to have died: `running` becomes `idle`, its runs `aborted`.

    Pure; call it where `has_stale_run` says so. Nothing to demote gives the same object back.
    """
    runs = demoted_runs(data.runs)
    if data.status != "running":
        return data if runs is data.runs else replace(data, runs=runs)
    return replace(data, status="idle", run_owner=None, epoch=None, quiet_ms=None, runs=runs)


def demoted_runs(runs: Sequence[SessionRun]) -> Sequence[SessionRun]:
    if all(run.status != "running" for run in runs):
        return runs
    return [replace(run, status="aborted") if run.status == "running" else run for run in runs]
