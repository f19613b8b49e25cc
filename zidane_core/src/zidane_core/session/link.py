"""How a session is tied to its store: its state, its claim, and the one way in which it writes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias, TypeVar
from uuid import uuid4

import anyio

from zidane_core.errors import SessionExistsError, SessionNotFoundError, StoreError
from zidane_core.store import NO_GUARD, Guard, RunClaim, SessionStore, Written

from .state import SessionState

if TYPE_CHECKING:
    from zidane_core.records import SessionHeader

W = TypeVar("W", bound="Written | RunClaim | None")
Call: TypeAlias = "Callable[[SessionStore, SessionHeader | None, Guard], Awaitable[W]]"


class SessionLink:
    """Shared by a session and its runs and sends."""

    def __init__(
        self,
        state: SessionState,
        store: SessionStore | None,
        *,
        clock: Callable[[], int],
        new_id: Callable[[], str] | None,
        adopts: bool,
    ) -> None:
        self.state, self.store = state, store
        self.clock = clock
        self._given_new_id = new_id
        self.fence: int | None = None
        """The epoch of the claim that the session's run holds."""
        self.writing = anyio.Lock()
        """Held during each write, so that they reach the store in the order of the calls."""
        self._adopts = adopts

    def required_store(self) -> SessionStore:
        if self.store is None:
            raise StoreError(f"session {self.state.id!r} has no store to save it in: pass one to create_session")
        return self.store

    def new_id(self) -> str:
        return uuid4().hex if self._given_new_id is None else self._given_new_id()

    async def new_turn_id(self) -> str:
        """The store's own id where it makes them, and no generator was given."""
        if self._given_new_id is None and self.store is not None and self.store.capabilities.ids:
            return await self.store.generate_turn_id()
        return self.new_id()

    def guard(self, *, expected_rev: int | None = None) -> Guard:
        if self.fence is None and expected_rev is None:
            return NO_GUARD
        return Guard(fence=self.fence, expected_rev=expected_rev)

    async def send(self, call: Call[W]) -> W | None:
        """One write, after those before it; with the creation until one was acknowledged. None without a store."""
        if self.store is None:
            self._note(None)
            return None
        async with self.writing:
            try:
                answer = await call(self.store, self.state.creation, self.guard())
            except SessionExistsError:
                if not self._adopts or self.state.is_stored:
                    raise
                await self.refresh()  # another host opened it first: it is the same conversation
                answer = await call(self.store, None, self.guard())
            self._note(answer)
            return answer

    async def refresh(self) -> None:
        """Take in what is stored. Raises SessionNotFoundError."""
        data = await self.required_store().load(self.state.id)
        if data is None:
            raise SessionNotFoundError(self.state.id)
        self.state.refresh(data)

    def touch(self) -> None:
        self.state.updated_at = max(self.state.updated_at, self.clock())

    def _note(self, answer: Written | RunClaim | None) -> None:
        self.touch()
        if isinstance(answer, Written):
            self.state.acknowledge(rev=answer.rev, previous=answer.previous)
        elif answer is not None and answer.claimed:
            self.state.acknowledge(rev=answer.rev, previous=answer.previous_rev)
