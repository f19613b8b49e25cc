"""Send requests, artifacts, schedules and ids of a remote store."""

from __future__ import annotations

from typing import cast

import msgspec

from zidane_core import codec
from zidane_core.blocks import JsonValue
from zidane_core.records import RunOwner, Schedule, ScheduleFire, SendRequestRecord, SessionArtifact, SessionHeader
from zidane_core.store import ArtifactFilter, Guard, SendRequestClaim

from ._calls import RemoteCalls, given
from ._requests import optional
from ._wire.bodies import ClaimScheduleFire, NewId, SaveSchedule
from ._wire.json_text import object_of, text_of


class RemoteCollections(RemoteCalls):
    """A part of `RemoteStore`."""

    # -- send requests ------------------------------------------------------------------------

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
        body = object_of(fingerprint=msgspec.json.encode(fingerprint), owner=optional(owner), create=optional(create))
        answer = await self._ask("claim_send_request", guard=guard, body=body, session=session_id, request=request_id)
        return cast("SendRequestClaim", answer)

    async def _find_send_request(self, session_id: str, request_id: str) -> SendRequestRecord | None:
        answer = await self._ask("find_send_request", session=session_id, request=request_id)
        return cast("SendRequestRecord | None", answer.record)

    async def _settle_send_request(self, session_id: str, request_id: str, result: JsonValue, guard: Guard) -> bool:
        body = object_of(result=codec.json_of(codec.encode_value(result)))
        answer = await self._ask("settle_send_request", guard=guard, body=body, session=session_id, request=request_id)
        return cast("bool", answer.changed)

    # -- artifacts ----------------------------------------------------------------------------

    async def _upsert_artifact(self, artifact: SessionArtifact, guard: Guard) -> SessionArtifact:
        body = object_of(artifact=text_of(artifact))
        return cast("SessionArtifact", await self._ask("upsert_artifact", guard=guard, body=body))

    async def _list_artifacts(self, where: ArtifactFilter) -> list[SessionArtifact]:
        query = {
            "sessionId": given(where.session_id),
            "kind": given(where.kind),
            "uri": given(where.uri),
            "projectRoot": where.project_root,
            "since": given(where.since),
            "limit": given(where.limit),
        }
        answer = await self._ask("list_artifacts", query=query)
        return cast("list[SessionArtifact]", answer.items)

    async def _delete_artifact(self, session_id: str, artifact_id: str, guard: Guard) -> bool:
        answer = await self._ask("delete_artifact", guard=guard, session=session_id, artifact=artifact_id)
        return cast("bool", answer.changed)

    # -- schedules ----------------------------------------------------------------------------

    async def _save_schedule(self, schedule: Schedule, *, keep_next_fire_at: bool, guard: Guard) -> None:
        body = text_of(SaveSchedule(schedule=schedule, keep_next_fire_at=keep_next_fire_at))
        await self._ask("save_schedule", guard=guard, body=body)

    async def _list_schedules(self) -> list[Schedule]:
        return cast("list[Schedule]", (await self._ask("list_schedules")).items)

    async def _delete_schedule(self, schedule_id: str, guard: Guard) -> bool:
        return cast("bool", (await self._ask("delete_schedule", guard=guard, schedule=schedule_id)).changed)

    async def _claim_schedule_fire(self, schedule_id: str, due_at: int, next_fire_at: int | None, guard: Guard) -> bool:
        body = text_of(ClaimScheduleFire(due_at=due_at, next_fire_at=next_fire_at))
        answer = await self._ask("claim_schedule_fire", guard=guard, body=body, schedule=schedule_id)
        return cast("bool", answer.changed)

    async def _record_schedule_fire(self, fire: ScheduleFire, guard: Guard) -> None:
        await self._ask("record_schedule_fire", guard=guard, body=object_of(fire=text_of(fire)))

    async def _list_schedule_fires(self, schedule_id: str, limit: int) -> list[ScheduleFire]:
        answer = await self._ask("list_schedule_fires", query={"limit": limit}, schedule=schedule_id)
        return cast("list[ScheduleFire]", answer.items)

    # -- ids: the served store's own ----------------------------------------------------------

    async def generate_session_id(self) -> str:
        self._begin("generate_session_id", "ids")
        return cast("str", (await self._ask("new_id", body=text_of(NewId(kind="session")))).id)

    async def generate_turn_id(self) -> str:
        self._begin("generate_turn_id", "ids")
        return cast("str", (await self._ask("new_id", body=text_of(NewId(kind="turn")))).id)
