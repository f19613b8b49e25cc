"""Send requests, artifacts and schedules in Redis."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from zidane_core import codec
from zidane_core.blocks import JsonValue
from zidane_core.errors import InvalidContentError, SessionNotFoundError, StoreBusyError
from zidane_core.records import RunOwner, Schedule, ScheduleFire, SendRequestRecord, SessionArtifact, SessionHeader
from zidane_core.store import (
    FIRE_HISTORY,
    SEND_REQUEST_HISTORY,
    ArtifactFilter,
    Guard,
    SendRequestClaim,
    fingerprint_of,
    matches_artifact_filter,
    may_fire,
    merge_artifact,
    select_artifact_evictions,
    sort_artifacts,
)

from . import _requests as requests
from . import _scripts as scripts
from ._listing import ListingCalls
from ._replies import ArtifactIdError, StaleError, answer_of, in_order, send_request_of
from ._scripts import Script

T = TypeVar("T")

TRIES = 50
"""Of a decision that the writes of others made stale."""


class CollectionParts(ListingCalls):
    """A part of `RedisStore`."""

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
        fields = {
            "request_id": request_id,
            "fingerprint_sent": fingerprint,
            "owner": requests.stored_owner(owner),
            "limit": SEND_REQUEST_HISTORY,
            **requests.creation(create),
        }
        given = (request_id, fingerprint, owner, create)
        answer = await self._write(scripts.CLAIM_SEND_REQUEST, "claim_send_request", session_id, guard, fields, *given)
        if answer[0] == 1:
            return SendRequestClaim(claimed=True)
        return SendRequestClaim(claimed=False, record=send_request_of(session_id, request_id, answer[1]))

    async def _find_send_request(self, session_id: str, request_id: str) -> SendRequestRecord | None:
        key = self._keys_of(session_id).sends
        raw: bytes | None = await self._calls.command("HGET", key, request_id.encode(), session_id=session_id)
        return None if raw is None else send_request_of(session_id, request_id, raw.partition(b":")[2])

    async def _settle_send_request(self, session_id: str, request_id: str, result: JsonValue, guard: Guard) -> bool:
        fields: dict[str, Any] = {"request_id": request_id}
        if result is not None:
            fields["result"] = requests.blob(codec.encode_value(result))
        given = (request_id, result)
        answer = await self._write(
            scripts.SETTLE_SEND_REQUEST, "settle_send_request", session_id, guard, fields, *given
        )
        return bool(answer[0] == 1)

    # -- artifacts ----------------------------------------------------------------------------

    async def _upsert_artifact(self, artifact: SessionArtifact, guard: Guard) -> SessionArtifact:
        try:
            async with self._calls.one_at_a_time(self._keys_of(artifact.session_id).artifacts):
                stored = await _decided(lambda: self._try_upsert(artifact, guard))
        except ArtifactIdError:
            raise InvalidContentError("$.id", f"another artifact of the session has the id {artifact.id!r}") from None
        return codec.decode(SessionArtifact, stored, session_id=artifact.session_id, where="an artifact")

    async def _try_upsert(self, artifact: SessionArtifact, guard: Guard) -> bytes:
        ((state, current),) = await self._read_artifacts([artifact.session_id])
        if state is None:
            raise SessionNotFoundError(artifact.session_id)
        fields: dict[str, Any] = {"artifacts_at": state.decode(), "evicted": ()}
        twin = next((other for other in current if (other.kind, other.uri) == (artifact.kind, artifact.uri)), None)
        row = artifact if twin is None else merge_artifact(twin, artifact)
        fields["artifact_id"] = row.id
        if twin is not None or all(other.id != row.id for other in current):
            fields["stored"] = requests.blob(codec.encode(row))
        if twin is None:
            fields["evicted"] = select_artifact_evictions(current)
        answer = await self._write(
            scripts.PUT_ARTIFACT, "upsert_artifact", artifact.session_id, guard, fields, artifact
        )
        stored: bytes = answer[0]
        return stored

    async def _list_artifacts(self, where: ArtifactFilter) -> list[SessionArtifact]:
        rows: list[SessionArtifact] = []
        if where.session_id is not None:
            ids: list[str] = [where.session_id]
        else:
            ids = await self._ids_with_artifacts()
        for _, found in await self._read_artifacts(ids):
            rows += (row for row in found if matches_artifact_filter(row, where))
        return sort_artifacts(rows)[: where.limit]

    async def _delete_artifact(self, session_id: str, artifact_id: str, guard: Guard) -> bool:
        fields = {"artifact_id": artifact_id}
        answer = await self._write(scripts.DELETE_ARTIFACT, "delete_artifact", session_id, guard, fields, artifact_id)
        return bool(answer[0] == 1)

    async def _read_artifacts(self, ids: Iterable[str]) -> list[tuple[bytes | None, list[SessionArtifact]]]:
        """Of each session the state of its artifacts, None without a session, and the artifacts as first put."""
        found: list[tuple[bytes | None, list[SessionArtifact]]] = []
        for batch in self._by_shard(ids):
            names = [self._keys_of(each) for each in batch]
            keys = [key for name in names for key in (name.head, name.artifacts)]
            reply: list[Any] = await self._calls.read(scripts.READ_ARTIFACTS, keys)
            for session_id, (state, flat) in zip(batch, reply, strict=True):
                entries = in_order(flat, session_id=session_id, where="the artifacts")
                found.append((state, [_artifact_of(session_id, stored) for _, stored in entries]))
        return found

    # -- schedules ----------------------------------------------------------------------------

    async def _save_schedule(self, schedule: Schedule, *, keep_next_fire_at: bool, guard: Guard) -> None:
        stored = requests.blob(codec.encode(replace(schedule, last_fire=None)))
        given = (schedule, keep_next_fire_at)
        if not keep_next_fire_at:
            await self._put_schedule("save_schedule", schedule.id, guard, {"compare": False, "stored": stored}, given)
            return

        async def keeping() -> None:
            current = await self._stored_schedule(schedule.id)
            row = schedule
            if current is not None:
                row = replace(schedule, next_fire_at=_schedule_of(schedule.id, current).next_fire_at)
            fields = {
                "compare": True,
                "expected": _blob(current),
                "stored": requests.blob(codec.encode(replace(row, last_fire=None))),
            }
            await self._put_schedule("save_schedule", schedule.id, guard, fields, given)

        await _decided(keeping)

    async def _claim_schedule_fire(self, schedule_id: str, due_at: int, next_fire_at: int | None, guard: Guard) -> bool:
        async def claiming() -> bool:
            current = await self._stored_schedule(schedule_id)
            fields: dict[str, Any] = {"compare": True, "expected": _blob(current)}
            schedule = None if current is None else _schedule_of(schedule_id, current)
            if schedule is not None and may_fire(schedule, due_at):
                fields["stored"] = requests.blob(codec.encode(replace(schedule, next_fire_at=next_fire_at)))
            given = (due_at, next_fire_at)
            return await self._put_schedule("claim_schedule_fire", schedule_id, guard, fields, given)

        return await _decided(claiming)

    async def _stored_schedule(self, schedule_id: str) -> bytes | None:
        key = self._keys.scope_of_schedules(self._scope).schedules
        raw: bytes | None = await self._calls.command("HGET", key, schedule_id.encode())
        return None if raw is None else raw.partition(b":")[2]

    async def _put_schedule(
        self, method: str, schedule_id: str, guard: Guard, fields: dict[str, Any], given: object
    ) -> bool:
        answer = await self._write_schedule(scripts.PUT_SCHEDULE, method, schedule_id, guard, fields, given)
        return bool(answer[0] == 1)

    async def _delete_schedule(self, schedule_id: str, guard: Guard) -> bool:
        answer = await self._write_schedule(scripts.DELETE_SCHEDULE, "delete_schedule", schedule_id, guard, {}, ())
        return bool(answer[0] == 1)

    async def _record_schedule_fire(self, fire: ScheduleFire, guard: Guard) -> None:
        fields = {"fire_id": fire.id, "stored": requests.blob(codec.encode(fire)), "limit": FIRE_HISTORY}
        await self._write_schedule(scripts.RECORD_FIRE, "record_schedule_fire", fire.schedule_id, guard, fields, fire)

    async def _write_schedule(
        self, script: Script, method: str, schedule_id: str, guard: Guard, fields: dict[str, Any], given: object
    ) -> list[Any]:
        shared = self._keys.scope_of_schedules(self._scope)
        keys = [shared.operations, shared.operations_before, shared.schedules]
        if script is not scripts.PUT_SCHEDULE:
            keys.append(self._keys.fires(self._scope, schedule_id))
        reply = await self._calls.write(
            script,
            keys,
            {"id": schedule_id, **fields},
            guard=guard,
            fingerprint=lambda: fingerprint_of(method, schedule_id, given, (guard.fence, guard.expected_rev)),
        )
        return answer_of(reply, schedule_id, op_id=guard.op_id)

    async def _list_schedules(self) -> list[Schedule]:
        key = self._keys.scope_of_schedules(self._scope).schedules
        entries = in_order(await self._calls.command("HGETALL", key), session_id=None, where="the schedules")
        schedules = [_schedule_of(field.decode(), stored) for field, stored in entries]
        fires = await asyncio.gather(*(self._list_schedule_fires(schedule.id, 1) for schedule in schedules))
        return [replace(each, last_fire=next(iter(found), None)) for each, found in zip(schedules, fires, strict=True)]

    async def _list_schedule_fires(self, schedule_id: str, limit: int) -> list[ScheduleFire]:
        key = self._keys.fires(self._scope, schedule_id)
        where = f"the fires of schedule {schedule_id!r}"
        entries = in_order(await self._calls.command("HGETALL", key), session_id=None, where=where)
        newest = entries[::-1][:limit]
        return [codec.decode(ScheduleFire, stored, where=f"fire {key.decode()!r}") for key, stored in newest]


async def _decided(attempt: Callable[[], Awaitable[T]]) -> T:
    """What an attempt to read, decide and write brings about, once nobody wrote in between."""
    for tried in range(TRIES):
        try:
            return await attempt()
        except StaleError:
            await asyncio.sleep(random.uniform(0, 0.001 * min(2**tried, 50)))  # noqa: S311 -- jitter
    raise StoreBusyError(f"others kept changing the same record through {TRIES} tries")


def _blob(stored: bytes | None) -> msgspec.Raw | None:
    return None if stored is None else requests.blob(stored)


def _artifact_of(session_id: str, stored: bytes) -> SessionArtifact:
    return codec.decode(SessionArtifact, stored, session_id=session_id, where="an artifact")


def _schedule_of(schedule_id: str, stored: bytes) -> Schedule:
    return codec.decode(Schedule, stored, where=f"schedule {schedule_id!r}")
