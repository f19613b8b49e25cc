"""Broken in one capability: claims, meta, history, send requests, artifacts, schedules; and stores that are none."""

from __future__ import annotations

from typing import Any, Self

import msgspec
from msgspec.structs import replace

from tests.conformance.mutants.base import MutantStore, add, broken_method, mutant
from zidane_core.errors import (
    RunFencedError,
    RunInProgressError,
    ScheduleNotFoundError,
    TurnNotFoundError,
    UnsupportedError,
)
from zidane_core.memory import MEMORY_CAPABILITIES, MemoryStore
from zidane_core.records import RunOwner
from zidane_core.store import NO_GUARD, Capabilities, Guard

NOBODY = RunOwner(host_id="", pid=0, token="")

# -- declared and not done, done and not declared ---------------------------------------------

CAPABILITIES = [name for name in Capabilities.__struct_fields__ if getattr(MEMORY_CAPABILITIES, name) is True]


class UncheckedStore(MutantStore):
    """Does what it is asked, declared or not."""

    def _require(self, capability: str, what: str) -> None:
        return


for _name in CAPABILITIES:
    _declared = replace(MEMORY_CAPABILITIES, **{_name: False})
    _id = f"capability.{_name.replace('_', '-')}"
    add(
        f"{_name} undeclared",
        f"{_name} is not declared, and works all the same",
        type(f"Undeclared{_name}", (UncheckedStore,), {"declared": _declared}),
        _id,
    )
    _lying = type(f"Lacking{_name}", (MutantStore,), {"declared": _declared})

    def _opener(lying: Any = _lying) -> Any:
        class Claiming(lying):  # type: ignore[misc]
            @property
            def capabilities(self) -> Capabilities:
                return MEMORY_CAPABILITIES

            def _require(self, capability: str, what: str) -> None:
                if not getattr(lying.declared, capability):
                    raise UnsupportedError("mutant", capability, what)

        return Claiming()

    add(f"{_name} declared only", f"{_name} is declared, and refused", _opener, _id)


@mutant("capability.declared-data")
class CapabilitiesAsDict(MutantStore):
    """The capabilities change with what the store holds."""

    @property
    def capabilities(self) -> Capabilities:
        return replace(MEMORY_CAPABILITIES, max_batch_turns=1000 + len(self._data.scopes[""].sessions))


@mutant("capability.max-sessions")
class FullOverwrites(MutantStore):
    """A store for one session makes room by removing the one that it has."""

    declared = replace(MEMORY_CAPABILITIES, max_sessions=1)

    async def append_turns(self, session_id: str, turns: Any, *, create: Any = None, **kwargs: Any) -> Any:
        for other in list(self._data.scopes[self._scope].sessions):
            if create is not None and other != session_id:
                await self.delete(other)
        return await super().append_turns(session_id, turns, create=create, **kwargs)


# -- claims -----------------------------------------------------------------------------------


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


# -- meta and history -------------------------------------------------------------------------


@mutant("model.walk", "meta.patch", "meta.save-keys", "append.with-run-and-metadata", "meta.concurrent-patches")
class PatchReplaces(MutantStore):
    """Metadata that is written replaces all that is there."""

    async def patch_meta(self, session_id: str, patch: Any, **kwargs: Any) -> Any:
        data = await self.load(session_id)
        removed = dict.fromkeys(data.metadata if data is not None else (), msgspec.UNSET)
        return await super().patch_meta(session_id, {**removed, **patch}, **kwargs)

    async def save_meta(self, session: Any, *, keys: Any = None, **kwargs: Any) -> Any:
        return await super().save_meta(session, keys=None, **kwargs)

    async def append_turns(self, session_id: str, turns: Any, *, metadata: Any = None, **kwargs: Any) -> Any:
        data = await self.load(session_id)
        if metadata is not None and data is not None:
            metadata = {**dict.fromkeys(data.metadata, msgspec.UNSET), **metadata}
        return await super().append_turns(session_id, turns, metadata=metadata, **kwargs)


@mutant("meta.save-never-turns")
class SaveMetaSavesAll(MutantStore):
    """`save_meta` writes the snapshot's turns too."""

    async def save_meta(self, session: Any, *, keys: Any = None, guard: Any = NO_GUARD) -> Any:
        await self.load(session.id)
        await super().save_meta(session, keys=keys, guard=guard)
        return await self.save(session)


@mutant("meta.counts", "meta.first-user-turn")
class CountsOnlyGrow(MutantStore):
    """Counts are added to by appends and never taken from."""

    async def get_meta(self, session_id: str) -> Any:
        row = await super().get_meta(session_id)
        if row is None:
            return None
        most = self.__dict__.setdefault("most", {})
        kept = most.setdefault(session_id, row)
        most[session_id] = replace(
            row,
            turn_count=max(row.turn_count, kept.turn_count),
            first_user_turn=row.first_user_turn or kept.first_user_turn,
        )
        return most[session_id]


@mutant("history.edit-in-place", "history.shrinks-to-none", "history.truncate")
class EditsMoveToTheEnd(MutantStore):
    """A turn that is edited is deleted and appended, and the last one cannot be deleted."""

    async def mutate_history(self, session_id: str, mutate: Any, **kwargs: Any) -> Any:
        def moving(now: Any) -> Any:
            after = mutate(now)
            if after is None:
                return None
            old = {turn.id: turn for turn in now.turns}
            turns = sorted(after.turns, key=lambda turn: old.get(turn.id) != turn)
            return replace(after, turns=turns or list(now.turns)[:1])

        return await super().mutate_history(session_id, moving, **kwargs)

    async def truncate(self, session_id: str, turn_id: str, **kwargs: Any) -> Any:
        return (await super().truncate(session_id, turn_id, **kwargs))[::-1]


@mutant("history.unchanged")
class UnchangedIsWritten(MutantStore):
    """A mutation that changes nothing is written all the same."""

    async def mutate_history(self, session_id: str, mutate: Any, **kwargs: Any) -> Any:
        written = await super().mutate_history(session_id, mutate, **kwargs)
        return written if written is not None else await self.patch_meta(session_id, {})


@mutant("history.gets-all")
class MutateSeesAWindow(MutantStore):
    """`mutate` gets the newest two turns, and the rest is put back."""

    async def mutate_history(self, session_id: str, mutate: Any, **kwargs: Any) -> Any:
        def windowed(now: Any) -> Any:
            after = mutate(replace(now, turns=list(now.turns)[-2:]))
            return None if after is None else replace(after, turns=[*list(now.turns)[:-2], *after.turns])

        return await super().mutate_history(session_id, windowed, **kwargs)


@mutant("history.runs")
class RunsAreNotEdited(MutantStore):
    """Runs that a mutation returns are left out."""

    async def mutate_history(self, session_id: str, mutate: Any, **kwargs: Any) -> Any:
        def turns_only(now: Any) -> Any:
            after = mutate(now)
            return None if after is None else replace(after, runs=now.runs)

        return await super().mutate_history(session_id, turns_only, **kwargs)


@mutant("history.raising-mutate")
class MutateErrorsAreSwallowed(MutantStore):
    """An error in `mutate` is taken for None."""

    async def mutate_history(self, session_id: str, mutate: Any, **kwargs: Any) -> Any:
        def careful(now: Any) -> Any:
            try:
                return mutate(now)
            except Exception:
                return None

        return await super().mutate_history(session_id, careful, **kwargs)


@mutant("history.truncate")
class UnknownTurnTruncatesNothing(MutantStore):
    """Truncating at an unknown turn is taken for done."""

    async def truncate(self, session_id: str, turn_id: str, **kwargs: Any) -> Any:
        try:
            return await super().truncate(session_id, turn_id, **kwargs)
        except TurnNotFoundError:
            return []


# -- send requests, artifacts, schedules, ids -------------------------------------------------


@mutant("send.claimed-once", "send.one-winner")
class RequestsAreGrantedAgain(MutantStore):
    """A claimed request id is granted to whoever asks."""

    async def claim_send_request(self, session_id: str, request_id: str, fingerprint: str, **kwargs: Any) -> Any:
        claim = await super().claim_send_request(session_id, request_id, fingerprint, **kwargs)
        return replace(claim, claimed=True, record=None)


@mutant("send.settled")
class FalsyResultsAreNone(MutantStore):
    """A result that is falsy drops the claim."""

    async def settle_send_request(self, session_id: str, request_id: str, result: Any, **kwargs: Any) -> bool:
        return await super().settle_send_request(session_id, request_id, result or None, **kwargs)


@mutant("send.kept")
class RequestsForgottenEarly(MutantStore):
    """The 64 newest request ids are kept."""

    async def claim_send_request(self, session_id: str, *args: Any, **kwargs: Any) -> Any:
        claim = await super().claim_send_request(session_id, *args, **kwargs)
        kept = self._data.scopes[self._scope].sessions[session_id].items["send"]
        for key in list(kept)[:-64]:
            del kept[key]
        return claim


@mutant("artifact.upserted", "artifact.counted")
class ArtifactsById(MutantStore):
    """Artifacts are told apart by id only, so that one uri can stand twice."""

    async def upsert_artifact(self, artifact: Any, **kwargs: Any) -> Any:
        marked = replace(artifact, uri=f"{artifact.uri}#{artifact.id}")
        row = await super().upsert_artifact(marked, **kwargs)
        return replace(row, uri=artifact.uri)


@mutant("artifact.filters")
class ArtifactsByLabel(MutantStore):
    """Artifacts are listed by label."""

    async def list_artifacts(self, where: Any = None) -> Any:
        return sorted(await super().list_artifacts(where), key=lambda row: row.label)


@mutant("artifact.cap")
class OldestOfAllGoes(MutantStore):
    """At the cap the artifact that was recorded first goes, whatever its kind."""

    async def upsert_artifact(self, artifact: Any, **kwargs: Any) -> Any:
        entry = self._data.scopes[self._scope].sessions.get(artifact.session_id)
        if entry is not None and len(entry.items["artifact"]) >= 200 and artifact.id.startswith("n"):
            await self.delete_artifact(artifact.session_id, next(iter(entry.items["artifact"])))
        return await super().upsert_artifact(artifact, **kwargs)


@mutant("schedule.saved")
class SchedulesByName(MutantStore):
    """An edited schedule moves to the end of the list."""

    async def save_schedule(self, schedule: Any, **kwargs: Any) -> None:
        self._data.scopes[self._scope].items["schedule"].pop(schedule.id, None)
        await super().save_schedule(schedule, **kwargs)


@mutant("schedule.edit-undoes-no-fire")
class EditUndoesTheFire(MutantStore):
    """An edit writes its own next fire."""

    async def save_schedule(self, schedule: Any, *, keep_next_fire_at: bool = False, **kwargs: Any) -> None:
        await super().save_schedule(schedule, **kwargs)


@mutant("schedule.fire-claimed-once", "schedule.one-winner")
class EveryFireIsGranted(MutantStore):
    """A fire is granted to whoever asks, whatever the schedule says."""

    async def claim_schedule_fire(self, *args: Any, **kwargs: Any) -> bool:
        await super().claim_schedule_fire(*args, **kwargs)
        return True


@mutant("schedule.fires")
class FiresByTime(MutantStore):
    """Fires are listed by the time that they tell."""

    async def list_schedule_fires(self, schedule_id: str, limit: int) -> Any:
        return sorted(await super().list_schedule_fires(schedule_id, limit), key=lambda fire: -fire.fired_at)


@mutant("schedule.unknown")
class FiresOfNoSchedule(MutantStore):
    """A fire of an unknown schedule is dropped silently."""

    async def record_schedule_fire(self, fire: Any, **kwargs: Any) -> None:
        try:
            await super().record_schedule_fire(fire, **kwargs)
        except ScheduleNotFoundError:
            return


@mutant("schedule.outlives-sessions")
class SchedulesDieWithSessions(MutantStore):
    """Deleting a session deletes the schedules that name it."""

    async def delete(self, session_id: str, **kwargs: Any) -> bool:
        for schedule in await self.list_schedules():
            if schedule.session_id == session_id:
                await self.delete_schedule(schedule.id)
        return await super().delete(session_id, **kwargs)


@mutant("ids.generated")
class IdsRepeat(MutantStore):
    """Generated ids are a counter that starts again."""

    async def generate_session_id(self) -> str:
        return "session-1"

    async def generate_turn_id(self) -> str:
        return "turn-1"


# -- no stores at all -------------------------------------------------------------------------


class EmptyStore:
    """Opens and closes, and has nothing else but a claim to be conformant."""

    capabilities = Capabilities()
    scope = ""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return


class SkipAll(EmptyStore):
    """Has every method, and each raises NotImplementedError or UnsupportedError: nothing can be checked."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)

        async def unsupported(*_: object, **__: object) -> None:
            raise UnsupportedError("mutant", "everything", name)

        return unsupported


class Forwarding:
    """Forwards every name to another store, and so declares what that one only pretends to have."""

    def __init__(self) -> None:
        class Limited(MemoryStore):
            @property
            def capabilities(self) -> Capabilities:
                return Capabilities()

        self.inner = Limited()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    @property
    def capabilities(self) -> Capabilities:
        return MEMORY_CAPABILITIES

    async def __aenter__(self) -> Self:
        await self.inner.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.inner.aclose()


add("EmptyStore", EmptyStore.__doc__ or "", EmptyStore, "capability.protocol", "append.order", "load.whole")
add("SkipAll", SkipAll.__doc__ or "", SkipAll, "append.order", "load.whole", "turns.window")
add(
    "Forwarding",
    Forwarding.__doc__ or "",
    Forwarding,
    *(f"capability.{name.replace('_', '-')}" for name in CAPABILITIES),
)
