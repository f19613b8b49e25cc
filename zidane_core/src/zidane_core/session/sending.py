"""An idempotent send: the same request id has one effect and one result, whoever repeats it."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Self

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

if TYPE_CHECKING:
    from .session import Session

_TAKEOVER_TRIES = 10


class SendRequest:
    """One send. See `Session.send_request`."""

    def __init__(self, session: Session, request_id: str, fingerprint: str) -> None:
        self._session, self._request_id, self._fingerprint = session, request_id, fingerprint
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
        store = self._session._required_store()  # noqa: SLF001 -- its own room
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
        raise SendInProgressError(self._session.id, self._request_id)

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
        session = self._session
        store = session._required_store()  # noqa: SLF001 -- its own room
        async with session._writing:  # noqa: SLF001 -- its own room
            claim = await store.claim_send_request(
                session.id,
                self._request_id,
                self._fingerprint,
                owner=current_run_owner(),
                create=session._state.creation,  # noqa: SLF001 -- its own room
            )
            session._state.is_stored = True  # noqa: SLF001 -- its own room
            return claim

    async def _settle(self, result: JsonValue) -> None:
        session = self._session
        store = session._required_store()  # noqa: SLF001 -- its own room
        async with session._writing:  # noqa: SLF001 -- its own room
            await store.settle_send_request(session.id, self._request_id, result)

    async def _take_over(self, store: SessionStore, record: SendRequestRecord) -> None:
        """Drop the claim of a dead process, unless another got there first; both are then seen by claiming again."""
        if not is_run_owner_dead(record.owner):
            raise SendInProgressError(self._session.id, self._request_id, holder=record.owner)
        data = await store.get_meta(self._session.id) if store.capabilities.meta else await store.load(self._session.id)
        again = await store.find_send_request(self._session.id, self._request_id)
        if data is None or again != record:
            return
        try:
            guard = Guard(expected_rev=data.rev) if store.capabilities.guards else Guard()
            await store.settle_send_request(self._session.id, self._request_id, None, guard=guard)
        except RevisionConflictError:
            return
