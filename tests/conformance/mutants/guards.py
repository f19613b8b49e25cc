"""Broken in what guards a write."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from tests.conformance.mutants.base import MutantStore, broken_method, mutant
from zidane_core.errors import (
    RunFencedError,
    TurnConflictError,
)
from zidane_core.store import NO_GUARD, Written

# -- guards, ignored by one method each -------------------------------------------------------

GUARDED = (
    "append_turns",
    "save",
    "delete",
    "update_run",
    "update_status",
    "save_meta",
    "patch_meta",
    "mutate_history",
    "truncate",
    "claim_run",
    "claim_send_request",
    "settle_send_request",
    "upsert_artifact",
    "delete_artifact",
)
FIELDS = {
    "fence": ("guard.fence-everywhere", "guard.fence-without-claim", "claim.zombie"),
    "expected_rev": ("guard.expected-rev-everywhere",),
    "op_id": ("operation.repeated",),
}


def _ignoring(field: str) -> Any:
    async def body(inner: Any, self: Any, *args: Any, guard: Any = NO_GUARD, **kwargs: Any) -> Any:
        return await inner(self, *args, guard=replace(guard, **{field: None}), **kwargs)

    return body


for _method in GUARDED:
    for _field, _killed_by in FIELDS.items():
        _name = f"{_method} ignores {_field}"
        if _field == "op_id" and _method in ("save", "update_status", "save_meta"):
            _killed_by = ("operation.repeated", "operation.other-payload")
        broken_method(_name, f"{_method} does not look at {_field}", _method, _ignoring(_field), *_killed_by)


@mutant("guard.fence-without-claim", "claim.zombie", "claim.fence-never-comes-back")
class FenceOnlyWhileClaimed(MutantStore):
    """A fence counts only while some claim holds, and any older one fits once it has ended."""

    async def append_turns(self, session_id: str, turns: Any, *, guard: Any = NO_GUARD, **kwargs: Any) -> Written:
        data = await self.load(session_id)
        if data is None or data.epoch is None or (guard.fence or 0) < data.epoch:
            guard = replace(guard, fence=None)
        return await super().append_turns(session_id, turns, guard=guard, **kwargs)


@mutant("guard.order", "guard.repeated-append-first")
class ConflictsFirst(MutantStore):
    """Conflicting turns are judged before the guard, and the guard before the repeated append."""

    async def append_turns(self, session_id: str, turns: Any, *, guard: Any = NO_GUARD, **kwargs: Any) -> Written:
        data = await self.load(session_id)
        if data is not None:
            stored = {each.id: each for each in data.turns}
            if any(stored.get(turn.id, turn) != turn for turn in turns):
                raise TurnConflictError(session_id, turns[0].id)
            if guard.fence not in (None, data.epoch):
                raise RunFencedError(session_id, fence=guard.fence, epoch=data.epoch)
        return await super().append_turns(session_id, turns, guard=guard, **kwargs)


@mutant("guard.not-for-schedules")
class GuardsOnSchedulesAreIgnored(MutantStore):
    """A write on a schedule forgets the fence and the revision that it was given."""

    async def save_schedule(self, schedule: Any, *, keep_next_fire_at: bool = False, guard: Any = NO_GUARD) -> None:
        await super().save_schedule(
            schedule, keep_next_fire_at=keep_next_fire_at, guard=replace(guard, fence=None, expected_rev=None)
        )


@mutant("guard.first-write")
class ZeroMeansNoExpectation(MutantStore):
    """An expected revision of 0 is taken for none."""

    async def append_turns(self, session_id: str, turns: Any, *, guard: Any = NO_GUARD, **kwargs: Any) -> Written:
        guard = replace(guard, expected_rev=guard.expected_rev or None)
        return await super().append_turns(session_id, turns, guard=guard, **kwargs)
