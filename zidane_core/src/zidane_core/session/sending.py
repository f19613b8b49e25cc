"""An idempotent send: the same request id has one effect and one result, whoever repeats it."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from zidane_core.blocks import JsonValue
from zidane_core.errors import (
    OperationConflictError,
    RevisionConflictError,
    SendInProgressError,
    ZidaneError,
)
from zidane_core.records import SendRequestRecord
from zidane_core.run_owner import current_run_owner, is_run_owner_dead
from zidane_core.store import Guard, SendRequestClaim, SessionStore

from .heartbeat import undisturbed
from .link import SessionLink

_TAKEOVER_TRIES = 10


class SendRequest:
    """One send. See `Session.send_request`."""

    def __init__(self, link: SessionLink, request_id: str, fingerprint: str) -> None:
        self._link, self._request_id, self._fingerprint = link, request_id, fingerprint
        self._result: JsonValue = None
        self._replayed = False

    @property
    def replayed(self) -> bool:
        """Whether this id was sent before, and `result` is what came of it."""
        return self._replayed

    @property
    def result(self) -> JsonValue:
        return self._result

    def settle(self, result: JsonValue) -> None:
        """Give the send's result, which is stored on leaving. Raises ValueError for None."""
        if result is None:
            raise ValueError("a send's result must not be None: None means that there is none")
        self._result = result

    async def __aenter__(self) -> Self:
        store = self._link.required_store()
        for _ in range(_TAKEOVER_TRIES):
            claim = await undisturbed(self._claim())
            if claim.claimed or claim.record is None:
                return self
            if claim.record.fingerprint != self._fingerprint:
                raise OperationConflictError(self._request_id)
            if claim.record.result is not None:
                self._replayed, self._result = True, claim.record.result
                return self
            await self._take_over(store, claim.record)
        raise SendInProgressError(self._link.state.id, self._request_id)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._replayed:
            return
        try:
            await undisturbed(self._settle(self._result if error is None else None))
        except ZidaneError as failed:
            if error is None:
                raise
            error.add_note(f"the claim of send request {self._request_id!r} could not be dropped: {failed}")

    async def _claim(self) -> SendRequestClaim:
        store = self._link.required_store()
        async with self._link.writing:
            claim = await store.claim_send_request(
                self._link.state.id,
                self._request_id,
                self._fingerprint,
                owner=current_run_owner(),
                create=self._link.state.creation,
            )
            self._link.state.is_stored = True
            return claim

    async def _settle(self, result: JsonValue) -> None:
        store = self._link.required_store()
        async with self._link.writing:
            await store.settle_send_request(self._link.state.id, self._request_id, result)

    async def _take_over(self, store: SessionStore, record: SendRequestRecord) -> None:
        """Drop the claim of a dead process, unless another got there first; both are then seen by claiming again."""
        if not is_run_owner_dead(record.owner):
            raise SendInProgressError(self._link.state.id, self._request_id, holder=record.owner)
        session_id = self._link.state.id
        data = await (store.get_meta(session_id) if store.capabilities.meta else store.load(session_id))
        again = await store.find_send_request(self._link.state.id, self._request_id)
        if data is None or again != record:
            return
        try:
            guard = Guard(expected_rev=data.rev) if store.capabilities.guards else Guard()
            await store.settle_send_request(self._link.state.id, self._request_id, None, guard=guard)
        except RevisionConflictError:
            return
