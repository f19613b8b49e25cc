"""Broken in meta, history, send requests, artifacts, schedules, ids."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from tests.conformance.mutants.base import MutantStore, mutant
from zidane_core.errors import (
    ScheduleNotFoundError,
    TurnNotFoundError,
)
from zidane_core.store import NO_GUARD

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
