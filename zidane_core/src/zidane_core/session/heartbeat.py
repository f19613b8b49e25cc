"""A claim kept alive in the background, and a body told when it is lost.

There is no task group around the body: errors arrive as themselves, and a generator that holds the run may be closed.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, Protocol, TypeVar

import anyio

T = TypeVar("T")

Beat = Callable[[], Awaitable[None]]


class Heartbeat(Protocol):
    """`start` calls `beat` at every interval; the first error of it cancels the body."""

    def start(self) -> None: ...

    async def stop(self) -> Exception | None:
        """End it. The error that was found, where the body is to raise it: it was not cancelled by others too."""
        ...


def heartbeat(beat: Beat, interval_s: float) -> Heartbeat:
    """The heartbeat for the event loop that is running."""
    trio = sys.modules.get("trio")
    if trio is not None and trio.lowlevel.in_trio_run():
        return _TrioHeartbeat(beat, interval_s)
    return _AsyncioHeartbeat(beat, interval_s)


async def undisturbed(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end, however often the caller is cancelled meanwhile; the cancellation is raised afterwards."""
    trio = sys.modules.get("trio")
    if trio is not None and trio.lowlevel.in_trio_run():
        with anyio.CancelScope(shield=True):
            return await work
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
        except BaseException:  # noqa: BLE001, S110 -- the task's own; `result` raises it
            pass
    if cancelled is not None and not task.cancelled() and task.exception() is None:
        raise cancelled
    return task.result()


class _AsyncioHeartbeat:
    def __init__(self, beat: Beat, interval_s: float) -> None:
        self._beat, self._interval_s = beat, interval_s
        self._lost: Exception | None = None
        self._body: asyncio.Task[Any] | None = None
        self._task: asyncio.Task[None] | None = None
        self._cancelled_before = 0

    def start(self) -> None:
        self._body = asyncio.current_task()
        self._cancelled_before = 0 if self._body is None else self._body.cancelling()
        self._task = asyncio.create_task(self._keep_beating())

    async def stop(self) -> Exception | None:
        if self._task is not None:
            self._task.cancel()
        if self._lost is None or self._body is None:
            return None
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(0)  # our own cancellation, where the body ended before it came
        return self._lost if self._body.uncancel() <= self._cancelled_before else None

    async def _keep_beating(self) -> None:
        while True:
            await asyncio.sleep(self._interval_s)
            try:
                await self._beat()
            except Exception as error:  # noqa: BLE001 -- handed to the body, whatever it is
                self._lost = error
                if self._body is not None:
                    self._body.cancel("the run lost its claim")
                return


class _TrioHeartbeat:
    def __init__(self, beat: Beat, interval_s: float) -> None:
        self._beat, self._interval_s = beat, interval_s
        self._lost: Exception | None = None
        self._beating, self._body = anyio.CancelScope(), anyio.CancelScope()

    def start(self) -> None:
        self._body.__enter__()
        trio: Any = sys.modules["trio"]
        trio.lowlevel.spawn_system_task(self._keep_beating)

    async def stop(self) -> Exception | None:
        self._beating.cancel()
        error = sys.exc_info()[1]
        absorbed = self._body.__exit__(None if error is None else type(error), error, None)
        return self._lost if absorbed or error is None else None

    async def _keep_beating(self) -> None:
        with self._beating:
            while True:
                await anyio.sleep(self._interval_s)
                try:
                    await self._beat()
                except Exception as error:  # noqa: BLE001 -- handed to the body, whatever it is
                    self._lost = error
                    self._body.cancel()
                    return
