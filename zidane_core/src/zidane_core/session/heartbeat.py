"""A claim kept alive in the background, and a body told when it is lost.

There is no task group around the body: errors arrive as themselves, and a generator that holds the run may be closed.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol, TypeVar

import anyio

T = TypeVar("T")

Beat = Callable[[], Awaitable[None]]


class Heartbeat(Protocol):
    """`start` calls `beat` at every interval; the first error of it cancels the body."""

    def start(self) -> None: ...

    def stop(self, error: BaseException | None) -> Exception | None:
        """End it, with the error that left the body. The beat's error, unless somebody else cancelled the body too."""
        ...


def heartbeat(beat: Beat, interval_s: float) -> Heartbeat:
    """The heartbeat for the event loop that is running."""
    return (_TrioHeartbeat if _is_trio() else _AsyncioHeartbeat)(beat, interval_s)


async def undisturbed(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end, however often the caller is cancelled meanwhile; the cancellation is raised afterwards."""
    if _is_trio():
        with anyio.CancelScope(shield=True):
            return await work
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    with anyio.CancelScope(shield=True):  # or anyio would cancel again at each turn of the loop
        while not task.done():
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError as error:
                cancelled = error
    if cancelled is None:
        return task.result()
    raise cancelled from (None if task.cancelled() else task.exception())


def _is_trio() -> bool:
    trio = sys.modules.get("trio")
    return trio is not None and trio.lowlevel.in_trio_run()


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

    def stop(self, error: BaseException | None) -> Exception | None:
        if self._task is not None:
            self._task.cancel()
        if self._lost is None or self._body is None:
            return None
        cancelled_by_others = self._body.uncancel() > self._cancelled_before
        return None if cancelled_by_others or not _may_be_replaced(error, asyncio.CancelledError) else self._lost

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

    def stop(self, error: BaseException | None) -> Exception | None:
        self._beating.cancel()
        absorbed = self._body.__exit__(None if error is None else type(error), error, None)
        return self._lost if absorbed or _may_be_replaced(error) else None

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


def _may_be_replaced(error: BaseException | None, *cancellation: type[BaseException]) -> bool:
    """Whether an error that left the body may give way to the beat's: KeyboardInterrupt and its kind may not."""
    return error is None or isinstance(error, (Exception, *cancellation))
