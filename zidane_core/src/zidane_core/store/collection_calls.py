"""The checked calls for send requests, artifacts, schedules and ids."""

from __future__ import annotations

from uuid import uuid4

from zidane_core import codec
from zidane_core.blocks import JsonValue
from zidane_core.records import RunOwner, Schedule, ScheduleFire, SendRequestRecord, SessionArtifact, SessionHeader

from .checks import check_count, check_id, check_label, check_schedule_guard
from .foundation import StoreFoundation
from .values import NO_GUARD, ArtifactFilter, Guard, SendRequestClaim


class CollectionCalls(StoreFoundation):
    """A part of `BaseStore`."""

    # -- send requests ------------------------------------------------------------------------

    async def claim_send_request(
        self,
        session_id: str,
        request_id: str,
        fingerprint: str,
        *,
        owner: RunOwner | None = None,
        create: SessionHeader | None = None,
        guard: Guard = NO_GUARD,
    ) -> SendRequestClaim:
        self._begin("claim_send_request", "send_requests", guard)
        check_id("the session id", session_id)
        check_id("the request id", request_id)
        check_label("$.fingerprint", fingerprint)
        self._check_header(create)
        return await self._claim_send_request(
            session_id, request_id, fingerprint, owner=owner, create=create, guard=guard
        )

    async def find_send_request(self, session_id: str, request_id: str) -> SendRequestRecord | None:
        self._begin("find_send_request", "send_requests")
        check_id("the session id", session_id)
        check_id("the request id", request_id)
        return await self._find_send_request(session_id, request_id)

    async def settle_send_request(
        self, session_id: str, request_id: str, result: JsonValue, *, guard: Guard = NO_GUARD
    ) -> bool:
        self._begin("settle_send_request", "send_requests", guard)
        check_id("the session id", session_id)
        check_id("the request id", request_id)
        return await self._settle_send_request(session_id, request_id, codec.check_value(result, "$.result"), guard)

    # -- artifacts ----------------------------------------------------------------------------

    async def upsert_artifact(self, artifact: SessionArtifact, *, guard: Guard = NO_GUARD) -> SessionArtifact:
        self._begin("upsert_artifact", "artifacts", guard)
        check_id("the session id", artifact.session_id)
        check_id("the artifact id", artifact.id)
        return await self._upsert_artifact(codec.copy_of(artifact), guard)

    async def list_artifacts(self, where: ArtifactFilter | None = None) -> list[SessionArtifact]:
        self._begin("list_artifacts", "artifacts")
        where = where or ArtifactFilter()
        check_count("limit", where.limit)
        return [] if where.limit == 0 else await self._list_artifacts(where)

    async def delete_artifact(self, session_id: str, artifact_id: str, *, guard: Guard = NO_GUARD) -> bool:
        self._begin("delete_artifact", "artifacts", guard)
        check_id("the session id", session_id)
        check_id("the artifact id", artifact_id)
        return await self._delete_artifact(session_id, artifact_id, guard)

    # -- schedules ----------------------------------------------------------------------------

    async def save_schedule(
        self, schedule: Schedule, *, keep_next_fire_at: bool = False, guard: Guard = NO_GUARD
    ) -> None:
        self._begin("save_schedule", "schedules", guard)
        check_schedule_guard(guard)
        check_id("the schedule id", schedule.id)
        await self._save_schedule(codec.copy_of(schedule), keep_next_fire_at=keep_next_fire_at, guard=guard)

    async def list_schedules(self) -> list[Schedule]:
        self._begin("list_schedules", "schedules")
        return await self._list_schedules()

    async def delete_schedule(self, schedule_id: str, *, guard: Guard = NO_GUARD) -> bool:
        self._begin("delete_schedule", "schedules", guard)
        check_schedule_guard(guard)
        check_id("the schedule id", schedule_id)
        return await self._delete_schedule(schedule_id, guard)

    async def claim_schedule_fire(
        self, schedule_id: str, due_at: int, next_fire_at: int | None, *, guard: Guard = NO_GUARD
    ) -> bool:
        self._begin("claim_schedule_fire", "schedules", guard)
        check_schedule_guard(guard)
        check_id("the schedule id", schedule_id)
        return await self._claim_schedule_fire(schedule_id, due_at, next_fire_at, guard)

    async def record_schedule_fire(self, fire: ScheduleFire, *, guard: Guard = NO_GUARD) -> None:
        self._begin("record_schedule_fire", "schedules", guard)
        check_schedule_guard(guard)
        check_id("the schedule id", fire.schedule_id)
        check_id("the fire id", fire.id)
        await self._record_schedule_fire(codec.copy_of(fire), guard)

    async def list_schedule_fires(self, schedule_id: str, limit: int) -> list[ScheduleFire]:
        self._begin("list_schedule_fires", "schedules")
        check_id("the schedule id", schedule_id)
        check_count("limit", limit)
        return [] if limit == 0 else await self._list_schedule_fires(schedule_id, limit)

    # -- ids ----------------------------------------------------------------------------------

    async def generate_session_id(self) -> str:
        self._begin("generate_session_id", "ids")
        return uuid4().hex

    async def generate_turn_id(self) -> str:
        self._begin("generate_turn_id", "ids")
        return uuid4().hex

    # -- primitives ---------------------------------------------------------------------------

    async def _claim_send_request(
        self,
        session_id: str,
        request_id: str,
        fingerprint: str,
        *,
        owner: RunOwner | None,
        create: SessionHeader | None,
        guard: Guard,
    ) -> SendRequestClaim:
        raise NotImplementedError

    async def _find_send_request(self, session_id: str, request_id: str) -> SendRequestRecord | None:
        raise NotImplementedError

    async def _settle_send_request(self, session_id: str, request_id: str, result: JsonValue, guard: Guard) -> bool:
        raise NotImplementedError

    async def _upsert_artifact(self, artifact: SessionArtifact, guard: Guard) -> SessionArtifact:
        raise NotImplementedError

    async def _list_artifacts(self, where: ArtifactFilter) -> list[SessionArtifact]:
        raise NotImplementedError

    async def _delete_artifact(self, session_id: str, artifact_id: str, guard: Guard) -> bool:
        raise NotImplementedError

    async def _save_schedule(self, schedule: Schedule, *, keep_next_fire_at: bool, guard: Guard) -> None:
        raise NotImplementedError

    async def _list_schedules(self) -> list[Schedule]:
        raise NotImplementedError

    async def _delete_schedule(self, schedule_id: str, guard: Guard) -> bool:
        raise NotImplementedError

    async def _claim_schedule_fire(self, schedule_id: str, due_at: int, next_fire_at: int | None, guard: Guard) -> bool:
        raise NotImplementedError

    async def _record_schedule_fire(self, fire: ScheduleFire, guard: Guard) -> None:
        raise NotImplementedError

    async def _list_schedule_fires(self, schedule_id: str, limit: int) -> list[ScheduleFire]:
        raise NotImplementedError
