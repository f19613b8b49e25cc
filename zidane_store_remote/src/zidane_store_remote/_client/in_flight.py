"""Exchanges under way: those whose caller may leave, and what closing does to all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Generic, TypeVar

import anyio

from zidane_core.errors import StoreClosedError

T = TypeVar("T")

CLOSING_SECONDS = 1.0
"""How long closing waits for the answers of what is under way."""


class InFlight:
    """Runs exchanges, and knows them, so that none outlives `aclose`. Under asyncio and trio alike."""

    def __init__(self, store: str) -> None:
        self._store = store
        self._closed = False
        self._running: dict[anyio.CancelScope, anyio.Event | None] = {}
        """What is to be set when one has ended, where somebody waits for that."""

    async def run_here(self, work: Callable[[], Awaitable[T]], deadline: float) -> T:
        """What `work` returns or raises. Cancelling the caller cancels the work.

        Raises:
            TimeoutError: it is cancelled, because it was not done at `deadline`, by anyio's clock.
            StoreClosedError: the store was closed before or meanwhile.
        """
        if self._closed:
            raise StoreClosedError(self._store)
        scope = anyio.CancelScope(deadline=deadline)
        self._running[scope] = None
        try:
            with scope:
                return await work()
        finally:
            over = self._running.pop(scope)
            if over is not None:
                over.set()
        if self._closed:
            raise StoreClosedError(self._store)
        raise TimeoutError

    async def run_apart(self, work: Callable[[], Awaitable[T]], deadline: float) -> T:
        """The same in a task of its own: a caller that is cancelled leaves, and the work is done to its end."""
        with anyio.CancelScope(deadline=deadline):
            return await to_its_end(lambda: self.run_here(work, deadline))
        raise TimeoutError

    async def aclose(self) -> None:
        """Let nothing new begin; wait a moment for what is under way, and cancel the rest of it."""
        self._closed = True
        with anyio.move_on_after(CLOSING_SECONDS):
            await self._ended()
        for scope in self._running:
            scope.cancel()
        await self._ended()

    async def _ended(self) -> None:
        for scope in list(self._running):
            if scope in self._running:  # it may have ended while another one was waited for
                over = self._running[scope] = self._running[scope] or anyio.Event()
                await over.wait()


async def to_its_end(work: Callable[[], Awaitable[T]]) -> T:
    """What `work` returns or raises; it is done in a task of its own, whatever becomes of the caller."""
    outcome = _Outcome[T]()

    async def run() -> None:
        try:
            outcome.value.append(await work())
        except BaseException as error:  # noqa: BLE001 -- raised where the caller waits, if it still does
            outcome.error = error
        finally:
            outcome.there.set()

    _spawn(run)
    await outcome.there.wait()
    return outcome.get()


class _Outcome(Generic[T]):
    """What a task has come to."""

    def __init__(self) -> None:
        self.value: list[T] = []
        self.error: BaseException | None = None
        self.there = anyio.Event()

    def get(self) -> T:
        if self.error is not None:
            raise self.error
        return self.value[0]


_asyncio_tasks: set[asyncio.Task[None]] = set()
"""asyncio itself only holds its tasks weakly."""


def _spawn(run: Callable[[], Coroutine[Any, Any, None]]) -> None:
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        import trio

        trio.lowlevel.spawn_system_task(run)
    else:
        task = loop.create_task(run())
        _asyncio_tasks.add(task)
        task.add_done_callback(_asyncio_tasks.discard)
