"""Work that goes on when its caller is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Generic, TypeVar

import anyio

T = TypeVar("T")


class InFlight:
    """Runs each piece of work in a task of its own, which only `aclose` cancels. Under asyncio and trio alike."""

    def __init__(self) -> None:
        self._running: set[_Work[Any]] = set()

    async def run(self, work: Callable[[], Awaitable[T]]) -> T:
        """What `work` returns or raises. A caller that is cancelled leaves, and the work is done to its end."""
        one = _Work(work)
        self._running.add(one)
        one.when_done = self._running.discard
        _spawn(one.run)
        await one.done.wait()
        return one.outcome()

    async def aclose(self) -> None:
        """Cancel what is still running, and wait for it."""
        for one in list(self._running):
            one.scope.cancel()
            await one.done.wait()


class _Work(Generic[T]):
    def __init__(self, work: Callable[[], Awaitable[T]]) -> None:
        self._work = work
        self._result: list[T] = []
        self._error: BaseException | None = None
        self.scope = anyio.CancelScope()
        self.done = anyio.Event()
        self.when_done: Callable[[_Work[T]], object] = id

    async def run(self) -> None:
        try:
            with self.scope:
                self._result.append(await self._work())
        except BaseException as error:  # noqa: BLE001 -- it is raised where the caller waits, if it still does
            self._error = error
        finally:
            self.when_done(self)
            self.done.set()

    def outcome(self) -> T:
        if self._error is not None:
            raise self._error
        if not self._result:
            raise RuntimeError("the store was closed during the call")
        return self._result[0]


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
