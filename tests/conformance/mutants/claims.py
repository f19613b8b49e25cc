"""Broken in claims."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from tests.conformance.mutants.base import MutantStore, broken_method, mutant
from zidane_core.errors import (
    RunFencedError,
    RunInProgressError,
)
from zidane_core.records import RunOwner
from zidane_core.store import NO_GUARD, Guard

# -- claims -----------------------------------------------------------------------------------


NOBODY = RunOwner(host_id="", pid=0, token="")


@mutant("claim.granted", "claim.refused", "status.owner")
class NoOwner(MutantStore):
    """A claim does not record whose it is."""

    async def claim_run(self, session_id: str, *, owner: Any = None, **kwargs: Any) -> Any:
        return await super().claim_run(session_id, owner=NOBODY, **kwargs)

    async def update_status(self, session_id: str, status: Any, *, owner: Any = None, **kwargs: Any) -> Any:
        return await super().update_status(session_id, status, owner=None, **kwargs)


@mutant("claim.refused", "claim.one-winner", "claim.one-displacer", "claim.marked-by-hand")
class EveryClaimIsGranted(MutantStore):
    """A claim takes the run from whoever has it."""

    async def claim_run(self, session_id: str, *, displaces: Any = None, **kwargs: Any) -> Any:
        entry = self._data.scopes[self._scope].sessions.get(session_id)
        holder = None if entry is None else entry.head.epoch or 0
        return await super().claim_run(session_id, displaces=holder, **kwargs)


@mutant("claim.displaced", "claim.zombie", "claim.renewed")
class NobodyIsDisplaced(MutantStore):
    """A claim is never taken over."""

    async def claim_run(self, session_id: str, *, displaces: Any = None, **kwargs: Any) -> Any:
        return await super().claim_run(session_id, displaces=None, **kwargs)


@mutant("claim.ended")
class ClaimNeverEnds(MutantStore):
    """Ending a run leaves the claim in place."""

    async def update_status(self, session_id: str, status: Any, **kwargs: Any) -> Any:
        entry = self._data.scopes[self._scope].sessions.get(session_id)
        epoch = None if entry is None else entry.head.epoch
        written = await super().update_status(session_id, status, **kwargs)
        if entry is not None:
            entry.head = replace(entry.head, epoch=epoch)
        return written


def _unprotected(method: str, *killed_by: str) -> None:
    async def body(inner: Any, self: Any, *args: Any, guard: Any = NO_GUARD, **kwargs: Any) -> Any:
        try:
            return await inner(self, *args, guard=guard, **kwargs)
        except RunInProgressError:
            session_id = getattr(args[0], "id", args[0])
            epoch = self._data.scopes[self._scope].sessions[session_id].head.epoch
            return await inner(self, *args, guard=replace(guard, fence=epoch), **kwargs)

    broken_method(
        f"{method} needs no fence", f"{method} touches a claimed run without its fence", method, body, *killed_by
    )


for _method in ("append_turns", "save", "update_run", "update_status", "save_meta", "mutate_history"):
    _unprotected(_method, "claim.protects-the-run")


@mutant("claim.lets-others-write")
class ClaimLocksAll(MutantStore):
    """While a claim holds, nobody else may write anything."""

    async def append_turns(self, session_id: str, turns: Any, *, guard: Any = NO_GUARD, **kwargs: Any) -> Any:
        entry = self._data.scopes[self._scope].sessions.get(session_id)
        if entry is not None and entry.head.epoch is not None and guard.fence is None:
            raise RunInProgressError(session_id, holder=entry.head.owner)
        return await super().append_turns(session_id, turns, guard=guard, **kwargs)


@mutant("claim.renewed")
class RenewingIsActivity(MutantStore):
    """Renewing a claim moves recency and revision."""

    async def renew_run(self, session_id: str, *, fence: int) -> None:
        await super().renew_run(session_id, fence=fence)
        await self.append_turns(session_id, [], metadata={}, guard=Guard(fence=fence))
        await self.update_status(session_id, "running", guard=Guard(fence=fence))


@mutant("claim.renewed")
class RenewingIsBlind(MutantStore):
    """Renewing never looks whose claim it is."""

    async def renew_run(self, session_id: str, *, fence: int) -> None:
        try:
            await super().renew_run(session_id, fence=fence)
        except RunFencedError:
            return


@mutant("claim.quiet-clock")
class QuietSinceTheClaim(MutantStore):
    """Renewals do not reset the quiet clock."""

    async def renew_run(self, session_id: str, *, fence: int) -> None:
        entry = self._data.scopes[self._scope].sessions.get(session_id)
        active = None if entry is None else entry.head.active_at
        await super().renew_run(session_id, fence=fence)
        if entry is not None and active is not None:
            entry.head = replace(entry.head, active_at=active)


@mutant("claim.quiet-clock")
class QuietInSeconds(MutantStore):
    """Silence is told in whole seconds."""

    async def claim_run(self, session_id: str, **kwargs: Any) -> Any:
        claim = await super().claim_run(session_id, **kwargs)
        return replace(claim, quiet_ms=claim.quiet_ms // 1000 * 1000)


@mutant("claim.marked-by-hand")
class HandMarksCount(MutantStore):
    """A session that was marked running by hand counts as idle for claims."""

    async def claim_run(self, session_id: str, *, displaces: Any = None, **kwargs: Any) -> Any:
        entry = self._data.scopes[self._scope].sessions.get(session_id)
        if entry is not None and entry.head.epoch is None:
            displaces = 0
        return await super().claim_run(session_id, displaces=displaces, **kwargs)
