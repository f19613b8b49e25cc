"""`TransactionalStore`: the whole contract for a backend that can run one function in a transaction."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from zidane_core.blocks import JsonValue
from zidane_core.records import (
    RunOwner,
    Schedule,
    ScheduleFire,
    SendRequestRecord,
    SessionArtifact,
    SessionData,
    SessionHeader,
    SessionMetaRow,
    SessionTurn,
    Status,
)

from . import collections, contract
from .base import BaseStore
from .checks import check_id
from .metadata import MetadataChange
from .operations import OPERATION, Operation, fingerprint_of, once, recall_mutation
from .reading import SessionTexts
from .requests import AppendRequest, HistoryRequest, SnapshotRequest
from .transaction import Transaction
from .values import ArtifactFilter, Guard, RunClaim, SendRequestClaim, SessionFilter, Written

T = TypeVar("T")


class TransactionalStore(BaseStore):
    """A `BaseStore` on two primitives, `_read` and `_write`, which run a function on a `Transaction` of the scope."""

    @abstractmethod
    async def _read(self, step: Callable[[Transaction], T]) -> T:
        """Run a step that only reads, on a snapshot."""

    @abstractmethod
    async def _write(self, step: Callable[[Transaction], T]) -> T:
        """Run a step in a transaction: commit when it returns, undo all of it when it raises.

        The step is pure but for the transaction, so it may run again after an undo.
        """

    async def _once(
        self,
        method: str,
        keeper: str | None,
        guard: Guard,
        given: object,
        answer_type: Any,
        step: Callable[[Any], T],
        *,
        kind: str = OPERATION,
    ) -> T:
        """Run a write; where the guard names an operation, only the first time."""
        if guard.op_id is None:
            return await self._write(step)
        conditions = (guard.fence, guard.expected_rev)
        operation = Operation(
            id=guard.op_id,
            fingerprint=fingerprint_of(method, keeper, given, conditions),
            keeper=keeper,
            answer_type=answer_type,
            kind=kind,
        )
        return await self._write(lambda tx: once(tx, operation, step))

    # -- the core -----------------------------------------------------------------------------

    async def _load(self, session_id: str, *, skip_damaged: bool) -> SessionData | None:
        return await self._read(lambda tx: contract.load(tx, session_id, skip_damaged=skip_damaged))

    async def load_texts(self, session_id: str) -> SessionTexts | None:
        """`load`, with the turns and runs as the JSON texts that are stored: for servers that hand a history on.

        Their checksums are checked, so damage is loud here too.
        """
        self._begin("load_texts")
        check_id("the session id", session_id)
        return await self._read(lambda tx: contract.load_texts(tx, session_id))

    async def _save(self, request: SnapshotRequest, guard: Guard) -> Written:
        turns = None if request.turns is None else [turn.digest for turn in request.turns]
        session = request.session
        header = (session.creation_id, session.agent_id, session.status, session.updated_at)
        return await self._once(
            "save",
            request.session.id,
            guard,
            (header, turns, request.runs, request.metadata, request.create is not None),
            Written,
            lambda tx: contract.save(tx, request, guard),
        )

    async def _delete(self, session_id: str, guard: Guard) -> bool:
        return await self._once(
            "delete", None, guard, session_id, bool, lambda tx: contract.delete(tx, session_id, guard)
        )

    async def _list_ids(self, where: SessionFilter, *, limit: int | None, after: str | None) -> list[str]:
        return await self._read(lambda tx: tx.list_by_id(where, after=after, limit=limit))

    async def _append_turns(self, request: AppendRequest, guard: Guard) -> Written:
        return await self._once(
            "append_turns",
            request.session_id,
            guard,
            ([turn.digest for turn in request.turns], request.create, request.run, request.metadata),
            Written,
            lambda tx: contract.append_turns(tx, request, guard),
        )

    async def _get_turns(
        self, session_id: str, *, start: int, limit: int | None, last: int | None
    ) -> list[SessionTurn]:
        return await self._read(lambda tx: contract.get_turns(tx, session_id, start, limit, last))

    async def _update_run(self, request: AppendRequest, guard: Guard) -> Written:
        return await self._once(
            "update_run",
            request.session_id,
            guard,
            (request.create, request.run),
            Written,
            lambda tx: contract.update_run(tx, request, guard),
        )

    async def _update_status(
        self,
        session_id: str,
        status: Status,
        *,
        owner: RunOwner | None,
        touch: bool,
        create: SessionHeader | None,
        guard: Guard,
    ) -> Written:
        return await self._once(
            "update_status",
            session_id,
            guard,
            (status, owner, touch, create),
            Written,
            lambda tx: contract.update_status(
                tx, session_id, status, owner=owner, touch=touch, create=create, guard=guard
            ),
        )

    # -- meta ---------------------------------------------------------------------------------

    async def _get_meta(self, session_id: str) -> SessionMetaRow | None:
        return await self._read(lambda tx: contract.get_meta(tx, session_id))

    async def _list_meta(
        self, where: SessionFilter, *, after: tuple[int, str] | None, limit: int | None
    ) -> list[SessionMetaRow]:
        return await self._read(lambda tx: contract.list_meta(tx, where, after, limit))

    async def _patch_meta(self, session_id: str, change: MetadataChange, guard: Guard) -> Written:
        return await self._once(
            "patch_meta",
            session_id,
            guard,
            change,
            Written,
            lambda tx: contract.patch_meta(tx, session_id, change, guard),
        )

    # -- history ------------------------------------------------------------------------------

    async def _replace_history(self, request: HistoryRequest, guard: Guard) -> Written | None:
        return await self._once(
            "mutate_history",
            request.session_id,
            Guard(op_id=guard.op_id),  # as in `mutation_fingerprint`; the step judges the whole guard
            None,
            Written | None,
            lambda tx: contract.replace_history(tx, request, guard),
        )

    async def _recall_mutation(self, session_id: str, op_id: str) -> Written | None:
        stored = await self._read(lambda tx: recall_mutation(tx, session_id, op_id))
        return None if stored is None else msgspec.convert(stored, Written)

    async def _truncate(self, session_id: str, turn_id: str, guard: Guard) -> list[SessionTurn]:
        return await self._once(
            "truncate",
            session_id,
            guard,
            turn_id,
            list[SessionTurn],
            lambda tx: contract.truncate(tx, session_id, turn_id, guard),
        )

    # -- claims -------------------------------------------------------------------------------

    async def _claim_run(
        self,
        session_id: str,
        *,
        owner: RunOwner | None,
        displaces: int | None,
        create: SessionHeader | None,
        guard: Guard,
    ) -> RunClaim:
        return await self._once(
            "claim_run",
            session_id,
            guard,
            (owner, displaces, create),
            RunClaim,
            lambda tx: contract.claim_run(tx, session_id, owner=owner, displaces=displaces, create=create, guard=guard),
        )

    async def _renew_run(self, session_id: str, fence: int) -> None:
        await self._write(lambda tx: contract.renew_run(tx, session_id, fence))

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
        return await self._once(
            "claim_send_request",
            session_id,
            guard,
            (request_id, fingerprint, owner, create),
            SendRequestClaim,
            lambda tx: collections.claim_send_request(
                tx, session_id, request_id, fingerprint, owner=owner, create=create, guard=guard
            ),
        )

    async def _find_send_request(self, session_id: str, request_id: str) -> SendRequestRecord | None:
        return await self._read(lambda tx: collections.find_send_request(tx, session_id, request_id))

    async def _settle_send_request(self, session_id: str, request_id: str, result: JsonValue, guard: Guard) -> bool:
        return await self._once(
            "settle_send_request",
            session_id,
            guard,
            (request_id, result),
            bool,
            lambda tx: collections.settle_send_request(tx, session_id, request_id, result, guard),
        )

    # -- artifacts ----------------------------------------------------------------------------

    async def _upsert_artifact(self, artifact: SessionArtifact, guard: Guard) -> SessionArtifact:
        return await self._once(
            "upsert_artifact",
            artifact.session_id,
            guard,
            artifact,
            SessionArtifact,
            lambda tx: collections.upsert_artifact(tx, artifact, guard),
        )

    async def _list_artifacts(self, where: ArtifactFilter) -> list[SessionArtifact]:
        return await self._read(lambda tx: collections.list_artifacts(tx, where))

    async def _delete_artifact(self, session_id: str, artifact_id: str, guard: Guard) -> bool:
        return await self._once(
            "delete_artifact",
            session_id,
            guard,
            artifact_id,
            bool,
            lambda tx: collections.delete_artifact(tx, session_id, artifact_id, guard),
        )

    # -- schedules ----------------------------------------------------------------------------

    async def _save_schedule(self, schedule: Schedule, *, keep_next_fire_at: bool, guard: Guard) -> None:
        await self._once(
            "save_schedule",
            None,
            guard,
            (schedule, keep_next_fire_at),
            None,
            lambda tx: collections.save_schedule(tx, schedule, keep_next_fire_at=keep_next_fire_at),
        )

    async def _list_schedules(self) -> list[Schedule]:
        return await self._read(collections.list_schedules)

    async def _delete_schedule(self, schedule_id: str, guard: Guard) -> bool:
        return await self._once(
            "delete_schedule", None, guard, schedule_id, bool, lambda tx: collections.delete_schedule(tx, schedule_id)
        )

    async def _claim_schedule_fire(self, schedule_id: str, due_at: int, next_fire_at: int | None, guard: Guard) -> bool:
        return await self._once(
            "claim_schedule_fire",
            None,
            guard,
            (schedule_id, due_at, next_fire_at),
            bool,
            lambda tx: collections.claim_schedule_fire(tx, schedule_id, due_at, next_fire_at),
        )

    async def _record_schedule_fire(self, fire: ScheduleFire, guard: Guard) -> None:
        await self._once(
            "record_schedule_fire", None, guard, fire, None, lambda tx: collections.record_schedule_fire(tx, fire)
        )

    async def _list_schedule_fires(self, schedule_id: str, limit: int) -> list[ScheduleFire]:
        return await self._read(lambda tx: collections.list_schedule_fires(tx, schedule_id, limit))
