"""`StoreMiddleware`: something to await around every operation of a store, such as tracing, retries or encryption."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Sequence
from typing import Literal

from zidane_core.blocks import JsonValue
from zidane_core.records import (
    RunOwner,
    Schedule,
    ScheduleFire,
    SendRequestRecord,
    SessionArtifact,
    SessionData,
    SessionHeader,
    SessionHistory,
    SessionMetaRow,
    SessionRun,
    SessionTurn,
    Status,
)

from .around import AroundCalls
from .protocol import SessionStore
from .values import (
    NO_GUARD,
    ArtifactFilter,
    Guard,
    Page,
    Patch,
    RunClaim,
    SendRequestClaim,
    SessionFilter,
    Written,
)


class StoreMiddleware(AroundCalls):
    """A store around a store. Override `around`; the rest forwards, capabilities included.

    class Traced(StoreMiddleware):
        async def around(self, operation, proceed):
            with tracer.start_as_current_span(operation.name):
                return await proceed()

    `proceed` may be awaited several times: repeating a call is harmless, with the same `Guard.op_id` or none. What is
    raised passes through. A handle from `in_scope` is wrapped alike.
    """

    def in_scope(self, scope: str) -> SessionStore:
        handle = copy.copy(self)
        handle._wrapped = self._wrapped.in_scope(scope)  # noqa: SLF001 -- a copy of this very object
        return handle

    # -- the core -----------------------------------------------------------------------------

    async def load(self, session_id: str, *, damaged: Literal["raise", "skip"] = "raise") -> SessionData | None:
        return await self._read("load", self._wrapped.load, session_id=session_id, damaged=damaged)

    async def save(self, session: SessionData, *, create: bool = False, guard: Guard = NO_GUARD) -> Written:
        return await self._write("save", self._wrapped.save, session=session, create=create, guard=guard)

    async def delete(self, session_id: str, *, guard: Guard = NO_GUARD) -> bool:
        return await self._write("delete", self._wrapped.delete, session_id=session_id, guard=guard)

    async def list_ids(
        self, where: SessionFilter | None = None, *, limit: int | None = None, after: str | None = None
    ) -> list[str]:
        return await self._read("list_ids", self._wrapped.list_ids, where=where, limit=limit, after=after)

    async def append_turns(
        self,
        session_id: str,
        turns: Sequence[SessionTurn],
        *,
        create: SessionHeader | None = None,
        run: SessionRun | None = None,
        metadata: Patch | None = None,
        guard: Guard = NO_GUARD,
    ) -> Written:
        return await self._write(
            "append_turns",
            self._wrapped.append_turns,
            session_id=session_id,
            turns=turns,
            create=create,
            run=run,
            metadata=metadata,
            guard=guard,
        )

    async def get_turns(
        self, session_id: str, start: int = 0, limit: int | None = None, *, last: int | None = None
    ) -> list[SessionTurn]:
        return await self._read(
            "get_turns", self._wrapped.get_turns, session_id=session_id, start=start, limit=limit, last=last
        )

    async def update_run(
        self, session_id: str, run: SessionRun, *, create: SessionHeader | None = None, guard: Guard = NO_GUARD
    ) -> Written:
        return await self._write(
            "update_run", self._wrapped.update_run, session_id=session_id, run=run, create=create, guard=guard
        )

    async def update_status(
        self,
        session_id: str,
        status: Status,
        *,
        owner: RunOwner | None = None,
        touch: bool = True,
        create: SessionHeader | None = None,
        guard: Guard = NO_GUARD,
    ) -> Written:
        return await self._write(
            "update_status",
            self._wrapped.update_status,
            session_id=session_id,
            status=status,
            owner=owner,
            touch=touch,
            create=create,
            guard=guard,
        )

    # -- meta ---------------------------------------------------------------------------------

    async def get_meta(self, session_id: str) -> SessionMetaRow | None:
        return await self._read("get_meta", self._wrapped.get_meta, session_id=session_id)

    async def list_meta(
        self, where: SessionFilter | None = None, *, limit: int | None = None, after: str | None = None
    ) -> Page[SessionMetaRow]:
        return await self._read("list_meta", self._wrapped.list_meta, where=where, limit=limit, after=after)

    async def save_meta(
        self, session: SessionData, *, keys: Collection[str] | None = None, guard: Guard = NO_GUARD
    ) -> Written:
        return await self._write("save_meta", self._wrapped.save_meta, session=session, keys=keys, guard=guard)

    async def patch_meta(self, session_id: str, patch: Patch, *, guard: Guard = NO_GUARD) -> Written:
        return await self._write(
            "patch_meta", self._wrapped.patch_meta, session_id=session_id, patch=patch, guard=guard
        )

    # -- history ------------------------------------------------------------------------------

    async def mutate_history(
        self,
        session_id: str,
        mutate: Callable[[SessionHistory], SessionHistory | None],
        *,
        guard: Guard = NO_GUARD,
    ) -> Written | None:
        return await self._write(
            "mutate_history", self._wrapped.mutate_history, session_id=session_id, mutate=mutate, guard=guard
        )

    async def truncate(self, session_id: str, turn_id: str, *, guard: Guard = NO_GUARD) -> list[SessionTurn]:
        return await self._write(
            "truncate", self._wrapped.truncate, session_id=session_id, turn_id=turn_id, guard=guard
        )

    # -- claims -------------------------------------------------------------------------------

    async def claim_run(
        self,
        session_id: str,
        *,
        owner: RunOwner | None = None,
        displaces: int | None = None,
        create: SessionHeader | None = None,
        guard: Guard = NO_GUARD,
    ) -> RunClaim:
        return await self._write(
            "claim_run",
            self._wrapped.claim_run,
            session_id=session_id,
            owner=owner,
            displaces=displaces,
            create=create,
            guard=guard,
        )

    async def renew_run(self, session_id: str, *, fence: int) -> None:
        await self._write("renew_run", self._wrapped.renew_run, session_id=session_id, fence=fence)

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
        return await self._write(
            "claim_send_request",
            self._wrapped.claim_send_request,
            session_id=session_id,
            request_id=request_id,
            fingerprint=fingerprint,
            owner=owner,
            create=create,
            guard=guard,
        )

    async def find_send_request(self, session_id: str, request_id: str) -> SendRequestRecord | None:
        return await self._read(
            "find_send_request", self._wrapped.find_send_request, session_id=session_id, request_id=request_id
        )

    async def settle_send_request(
        self, session_id: str, request_id: str, result: JsonValue, *, guard: Guard = NO_GUARD
    ) -> bool:
        return await self._write(
            "settle_send_request",
            self._wrapped.settle_send_request,
            session_id=session_id,
            request_id=request_id,
            result=result,
            guard=guard,
        )

    # -- artifacts ----------------------------------------------------------------------------

    async def upsert_artifact(self, artifact: SessionArtifact, *, guard: Guard = NO_GUARD) -> SessionArtifact:
        return await self._write("upsert_artifact", self._wrapped.upsert_artifact, artifact=artifact, guard=guard)

    async def list_artifacts(self, where: ArtifactFilter | None = None) -> list[SessionArtifact]:
        return await self._read("list_artifacts", self._wrapped.list_artifacts, where=where)

    async def delete_artifact(self, session_id: str, artifact_id: str, *, guard: Guard = NO_GUARD) -> bool:
        return await self._write(
            "delete_artifact",
            self._wrapped.delete_artifact,
            session_id=session_id,
            artifact_id=artifact_id,
            guard=guard,
        )

    # -- schedules ----------------------------------------------------------------------------

    async def save_schedule(
        self, schedule: Schedule, *, keep_next_fire_at: bool = False, guard: Guard = NO_GUARD
    ) -> None:
        await self._write(
            "save_schedule",
            self._wrapped.save_schedule,
            schedule=schedule,
            keep_next_fire_at=keep_next_fire_at,
            guard=guard,
        )

    async def list_schedules(self) -> list[Schedule]:
        return await self._read("list_schedules", self._wrapped.list_schedules)

    async def delete_schedule(self, schedule_id: str, *, guard: Guard = NO_GUARD) -> bool:
        return await self._write("delete_schedule", self._wrapped.delete_schedule, schedule_id=schedule_id, guard=guard)

    async def claim_schedule_fire(
        self, schedule_id: str, due_at: int, next_fire_at: int | None, *, guard: Guard = NO_GUARD
    ) -> bool:
        return await self._write(
            "claim_schedule_fire",
            self._wrapped.claim_schedule_fire,
            schedule_id=schedule_id,
            due_at=due_at,
            next_fire_at=next_fire_at,
            guard=guard,
        )

    async def record_schedule_fire(self, fire: ScheduleFire, *, guard: Guard = NO_GUARD) -> None:
        await self._write("record_schedule_fire", self._wrapped.record_schedule_fire, fire=fire, guard=guard)

    async def list_schedule_fires(self, schedule_id: str, limit: int) -> list[ScheduleFire]:
        return await self._read(
            "list_schedule_fires", self._wrapped.list_schedule_fires, schedule_id=schedule_id, limit=limit
        )

    # -- ids ----------------------------------------------------------------------------------

    async def generate_session_id(self) -> str:
        return await self._read("generate_session_id", self._wrapped.generate_session_id)

    async def generate_turn_id(self) -> str:
        return await self._read("generate_turn_id", self._wrapped.generate_turn_id)
