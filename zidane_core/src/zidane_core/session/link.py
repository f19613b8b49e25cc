"""How a session is tied to its store: its state, its claim, and the one way in which it writes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias, TypeVar
from uuid import uuid4

import anyio

from zidane_core.errors import RevisionConflictError, SessionExistsError, SessionNotFoundError, StoreError
from zidane_core.records import SessionHeader
from zidane_core.store import NO_GUARD, Guard, RunClaim, SessionStore, Written

from .state import SessionState

if TYPE_CHECKING:
    from zidane_core.records import SessionData

A = TypeVar("A")
Call: TypeAlias = "Callable[[SessionStore, SessionHeader | None, Guard], Awaitable[A]]"
"""One write: to a store, with the creation until one was acknowledged, under the fence that the session held."""

_OVERWRITE_TRIES = 5


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
        self._writing = anyio.Lock()
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

    def touch(self) -> None:
        self.state.updated_at = max(self.state.updated_at, self.clock())

    # -- writing ------------------------------------------------------------------------------

    async def send(self, call: Call[A], *, touches: bool = True) -> A | None:
        """Make one write after those before it, and note its answer. None without a store.

        It goes under the fence held when it was asked for: one that waits while its run ends must not slip out from
        under the fence. `touches`: it is activity.
        """
        if self.store is None:
            if touches:
                self.touch()
            return None
        guard = NO_GUARD if self.fence is None else Guard(fence=self.fence)
        async with self._writing:
            answer = await self._create_or_join(self.store, call, guard)
            self._note(answer, touches=touches)
            return answer

    async def save_whole(self, store: SessionStore, create: SessionHeader | None, guard: Guard) -> Written:
        """Overwrite the stored session, if nothing was stored that the changes here did not know of.

        A revision that moved need not mean that: artifacts, send requests and others' metadata move it too. So a
        conflict is judged by the history itself.
        """
        for _ in range(_OVERWRITE_TRIES):
            try:
                return await self._overwrite(store, create, guard)
            except RevisionConflictError:
                stored = await self._load(store)
                if not self.state.unsaved.may_overwrite(stored, self.state.snapshot()):
                    raise
                self.state.unsaved.rebase(stored)
                self.state.refresh(stored)
        return await self._overwrite(store, create, guard)

    async def refresh(self, *, keeps_history: bool) -> None:
        """Take in what is stored, between two writes. Raises SessionNotFoundError."""
        store = self.required_store()
        async with self._writing:
            stored = await self._load(store)
            if not keeps_history:
                self.state.unsaved.turns = self.state.unsaved.runs = None
            self.state.refresh(stored)

    # -- how it is done -----------------------------------------------------------------------

    async def _create_or_join(self, store: SessionStore, call: Call[A], guard: Guard) -> A:
        try:
            return await self._create_and(store, call, guard)
        except SessionExistsError:
            if not self._adopts or self.state.is_stored:
                raise
            self.state.refresh(await self._load(store))  # another host opened it first: it is the same conversation
            return await call(store, None, guard)

    async def _create_and(self, store: SessionStore, call: Call[A], guard: Guard) -> A:
        """A session that begins with a history is stored as a whole first: no other write could carry that."""
        state = self.state
        if not state.is_stored and state.unsaved.replaces_history:
            self._note(await self.save_whole(store, state.creation, guard), touches=False)
        return await call(store, state.creation, guard)

    async def _overwrite(self, store: SessionStore, create: SessionHeader | None, guard: Guard) -> Written:
        state = self.state
        if store.capabilities.guards:
            guard = Guard(fence=guard.fence, expected_rev=state.complete_at)
        unsaved = state.take_unsaved()
        snapshot = state.changes(unsaved) if create is None else state.snapshot()
        try:
            written = await store.save(snapshot, create=create is not None, guard=guard)
        except BaseException:
            state.put_back(unsaved)
            raise
        state.complete_at = written.previous  # what is stored now is what was here
        return written

    async def _load(self, store: SessionStore) -> SessionData:
        data = await store.load(self.state.id)
        if data is None:
            raise SessionNotFoundError(self.state.id)
        return data

    def _note(self, answer: object, *, touches: bool) -> None:
        match answer:
            case Written(rev=rev, previous=previous) | RunClaim(claimed=True, rev=rev, previous_rev=previous):
                self.state.acknowledge(rev=rev, previous=previous)
                if touches and rev != previous:
                    self.touch()
            case _:  # it tells no revision, but that the session is there
                self.state.is_stored = True
