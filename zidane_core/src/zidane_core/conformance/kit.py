"""What a check works with: handles on the store, ids of its own, counts, randomness."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Generator
from contextlib import AsyncExitStack, contextmanager
from uuid import uuid4

from zidane_core.records import SessionData, SessionHeader, SessionMetaRow
from zidane_core.store import Capabilities, SessionStore

from . import samples
from .expectations import BrokenRuleError, equal
from .profile import Profile
from .recording import Transcript, recorded
from .target import Target


class Kit:
    """One check's surroundings. Ids are random, so nothing is assumed of what the store holds or remembers."""

    def __init__(self, target: Target, capabilities: Capabilities, profile: Profile, seed: str) -> None:
        self.target, self.capabilities, self.profile = target, capabilities, profile
        self.seed = seed
        self.random = random.Random(seed)  # noqa: S311 -- to be repeated, not to be secret
        self.transcript = Transcript()
        self._handles = AsyncExitStack()
        self._opened = 0
        self._main: SessionStore | None = None
        self._sessions: list[tuple[str, str]] = []
        self._schedules: list[str] = []
        self._canary: SessionData | None = None

    # -- for checks ---------------------------------------------------------------------------

    @property
    def store(self) -> SessionStore:
        """The check's first handle, open."""
        if self._main is None:
            raise RuntimeError("the kit has no store open")
        return self._main

    async def open(self) -> SessionStore:
        """Another handle on the target; it is closed after the check."""
        self._opened += 1
        name = "store" if self._opened == 1 else f"store{self._opened}"
        try:
            store = await self._handles.enter_async_context(self.target.open())
        except Exception as error:
            self.transcript.note_error(f"open {name}", error)
            raise
        self.transcript.note(f"open {name}", "open")
        return recorded(store, name, self.transcript)

    def declares(self, *capabilities: str) -> bool:
        return all(getattr(self.capabilities, capability) for capability in capabilities)

    def count(self, full: int, *, least: int = 1) -> int:
        """A number of repetitions, scaled by the profile."""
        return self.profile.count(full, least=least)

    def unique(self) -> str:
        """A random name. No seed repeats it: what a store remembers of an earlier run must not meet this one."""
        return uuid4().hex[:12]

    def session_id(self, shape: str = "kit-{}", *, scope: str = "") -> str:
        """A new session id, removed after the check. `shape` may put awkward text around it."""
        return self.adopt(shape.replace("{}", self.unique()), scope=scope)

    def adopt(self, session_id: str, *, scope: str = "") -> str:
        """Have a session with this very id removed after the check."""
        self._sessions.append((scope, session_id))
        return session_id

    def schedule_id(self, shape: str = "kit-{}") -> str:
        schedule_id = shape.replace("{}", self.unique())
        self._schedules.append(schedule_id)
        return schedule_id

    def header(self, **fields: object) -> SessionHeader:
        """A creation of its own."""
        return samples.header(self.unique(), **fields)

    async def session(self, turns: int = 0, *, store: SessionStore | None = None, **fields: object) -> str:
        """The id of a new session with the turns t0, t1, … in it, user and assistant by turns."""
        store = store or self.store
        session_id = await self.next_session_id(store)
        await store.append_turns(
            session_id, [samples.turn(position) for position in range(turns)], create=self.header(**fields)
        )
        return session_id

    async def next_session_id(self, store: SessionStore | None = None) -> str:
        """A new session id, once what was made before is deleted from a store that is full with it.

        A check says how many sessions it needs at a time.
        """
        room = self.capabilities.max_sessions
        if room is not None and len(self._sessions) >= room:
            with self.unseen():
                for _, session_id in self._sessions:
                    await (store or self.store).delete(session_id)
            self._sessions.clear()
        return self.session_id()

    async def loaded(self, session_id: str, *, store: SessionStore | None = None) -> SessionData:
        """The session, which has to be there."""
        found = await (store or self.store).load(session_id)
        if found is None:
            raise BrokenRuleError(f"the session {session_id!a}", expected="to be there", found="load gives None")
        return found

    async def row(self, session_id: str) -> SessionMetaRow:
        """The session's meta row, which has to be there."""
        found = await self.store.get_meta(session_id)
        if found is None:
            raise BrokenRuleError(f"the session {session_id!a}", expected="to be there", found="get_meta gives None")
        return found

    @contextmanager
    def unseen(self) -> Generator[None]:
        """Calls in here are left out of the transcript."""
        before, self.transcript.is_open = self.transcript.is_open, False
        try:
            yield
        finally:
            self.transcript.is_open = before

    # -- for the runner -----------------------------------------------------------------------

    async def begin(self, *, with_canary: bool) -> None:
        """Open the store, and put the canary into it."""
        self._main = await self.open()
        if with_canary:
            with self.unseen():
                await self._plant_canary()

    async def end(self, *, passed: bool) -> None:
        """Look at the canary, remove what the check made, close every handle."""
        with self.unseen():
            try:
                async with AsyncExitStack() as stack:
                    stack.push_async_callback(self._handles.aclose)
                    store = await self._usable(stack)
                    if passed:
                        await self._see_canary(store)
                    await self._clean_up(store)
            finally:
                self._main = None

    async def _plant_canary(self) -> None:
        session_id = self.session_id("kit-canary-{}")
        await self.store.append_turns(
            session_id, [samples.turn(0), samples.turn(1)], create=self.header(agent_id="canary", metadata={"a": 1})
        )
        self._canary = await self.store.load(session_id)

    async def _see_canary(self, store: SessionStore) -> None:
        if self._canary is None or (self._is_private and store is not self._main):
            return
        try:
            equal(await store.load(self._canary.id), self._canary, "a session that the check never touched")
        except BrokenRuleError as error:
            raise CanaryError(error) from error

    async def _clean_up(self, store: SessionStore) -> None:
        if self._is_private:
            return
        schedules = self._schedules if self.declares("schedules") else []
        await asyncio.gather(
            *((store.in_scope(scope) if scope else store).delete(session_id) for scope, session_id in self._sessions),
            *(store.delete_schedule(schedule_id) for schedule_id in schedules),
        )

    async def _usable(self, stack: AsyncExitStack) -> SessionStore:
        """The first handle, or another one where the check closed it."""
        from zidane_core.errors import StoreClosedError

        if self._main is not None:
            try:
                await self._main.load("kit")
            except StoreClosedError:
                pass
            else:
                return self._main
        return await stack.enter_async_context(self.target.open())

    @property
    def _is_private(self) -> bool:
        return self.capabilities.shared == "instance" and self.capabilities.durable == "no"


class CanaryError(Exception):
    """A check's calls changed a session that they did not name."""

    def __init__(self, broken: BrokenRuleError) -> None:
        super().__init__(str(broken))
        self.broken = broken
