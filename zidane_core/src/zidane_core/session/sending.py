"""An idempotent send: the same request id has one effect and one result, whoever repeats it."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from zidane_core.blocks import JsonValue
from zidane_core.errors import (
    OperationConflictError,
    RevisionConflictError,
    SendInProgressError,
    StoreError,
)
from zidane_core.records import SendRequestRecord
from zidane_core.run_owner import Holding, is_run_owner_dead
from zidane_core.store import NO_GUARD, Guard, SendRequestClaim, SessionStore

from .heartbeat import undisturbed
from .link import SessionLink

_TAKEOVER_TRIES = 10


class SendRequest:
    """One send. See `Session.send_request`."""

    _holding: Holding | None = None
    _claimed = False

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
        self._holding = Holding()
        try:
            record = await self._claim_or_find(store)
            if record is not None:
                self._replayed, self._result = True, record.result
        except BaseException as error:
            await self._leave(error)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._leave(error)

    # -- claiming -----------------------------------------------------------------------------

    async def _claim_or_find(self, store: SessionStore) -> SendRequestRecord | None:
        """Claim the id: None; or the record of the send that settled it."""
        for _ in range(_TAKEOVER_TRIES):
            # Not to be disturbed: a claim that is granted must be known, to be dropped.
            claim = await undisturbed(self._claim())
            record = None if claim is None else claim.record
            if record is None:
                return None
            if record.fingerprint != self._fingerprint:
                raise OperationConflictError(self._request_id)
            if record.result is not None:
                return record
            await self._take_over(store, record)
        raise SendInProgressError(self._link.state.id, self._request_id)

    async def _claim(self) -> SendRequestClaim | None:
        owner = None if self._holding is None else self._holding.owner
        claim = await self._link.send(
            lambda store, create, _: store.claim_send_request(
                self._link.state.id, self._request_id, self._fingerprint, owner=owner, create=create
            ),
            touches=False,
        )
        self._claimed = claim is not None and claim.claimed
        return claim

    async def _take_over(self, store: SessionStore, record: SendRequestRecord) -> None:
        """Drop the claim of a dead process, unless another got there first; both are then seen by claiming again.

        The revision is read before the record: of two that found it dead, the second to drop it finds the revision
        moved by the first, and so cannot drop the first one's new claim.
        """
        session_id = self._link.state.id
        if not is_run_owner_dead(record.owner):
            raise SendInProgressError(session_id, self._request_id, holder=record.owner)
        data = await (store.get_meta(session_id) if store.capabilities.meta else store.load(session_id))
        again = await store.find_send_request(session_id, self._request_id)
        if data is None or again != record:
            return
        guard = Guard(expected_rev=data.rev) if store.capabilities.guards else NO_GUARD
        try:
            await store.settle_send_request(session_id, self._request_id, None, guard=guard)
        except RevisionConflictError:
            return

    # -- leaving ------------------------------------------------------------------------------

    async def _leave(self, error: BaseException | None) -> None:
        """Store the result, or drop the claim where there is none; the body's own error stays the one raised."""
        try:
            if self._claimed:
                await undisturbed(self._settle(self._result if error is None else None))
        except Exception as failed:
            if error is None:
                raise
            error.add_note(f"the claim of send request {self._request_id!r} could not be dropped: {failed}")
        finally:
            if self._holding is not None:
                self._holding.end()

    async def _settle(self, result: JsonValue) -> None:
        session_id = self._link.state.id
        kept = await self._link.send(
            lambda store, _, __: store.settle_send_request(session_id, self._request_id, result), touches=False
        )
        if result is not None and not kept:
            raise StoreError(
                f"send request {self._request_id!r} of session {session_id!r} is claimed no more "
                "(the session was deleted, or many later sends pushed it out): its result was not kept"
            )
