"""Cancelling a call at its n-th suspension, for every n, without any timing.

The call's coroutine is driven step by step. Each time it suspends its task is at a known point, and can be cancelled
there: at once, so that what it awaits is cancelled with it, or late, when what it awaits is done already.
"""

from __future__ import annotations

import asyncio
import types
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator
from dataclasses import dataclass
from typing import Any, cast

from .expectations import BrokenRuleError

PATIENCE_SECONDS = 10.0
"""A cancelled call that has not ended by then hangs."""

MOST_SUSPENSIONS = 200


@dataclass(frozen=True)
class Interruption:
    """Where a call is cancelled: at which suspensions, counted from 1. `late`: when the awaited is done already."""

    at: tuple[int, ...]
    late: bool = False

    def __str__(self) -> str:
        return f"cancelled {'late ' if self.late else ''}at suspension {' and '.join(map(str, self.at))}"


class _Driver:
    def __init__(self, coroutine: Coroutine[Any, Any, object], interruption: Interruption) -> None:
        self._coroutine, self._interruption = coroutine, interruption
        self.suspensions = 0

    @types.coroutine
    def drive(self) -> Generator[Any, None, object]:
        error: BaseException | None = None
        while True:
            try:
                awaited = self._coroutine.send(None) if error is None else self._coroutine.throw(error)
            except StopIteration as stop:
                return stop.value
            error = None
            self._suspended(awaited)
            try:
                yield awaited
            except BaseException as thrown:  # noqa: BLE001 -- the call gets it
                error = thrown

    def _suspended(self, awaited: object) -> None:
        self.suspensions += 1
        task = asyncio.current_task()
        if self.suspensions not in self._interruption.at or task is None:
            return
        if self._interruption.late and isinstance(awaited, asyncio.Future):
            future = cast("asyncio.Future[object]", awaited)
            future.add_done_callback(lambda _: task.cancel())
        else:
            task.cancel()


@dataclass(frozen=True)
class Interrupted:
    """How an interrupted call ended. `reached`: it came to every suspension at which it was to be cancelled."""

    interruption: Interruption
    reached: bool
    answer: object


async def interrupt(call: Callable[[], Awaitable[object]], interruption: Interruption, what: str) -> Interrupted:
    """Run a call in a task of its own and cancel it there."""

    async def whole() -> object:
        return await call()

    driver = _Driver(whole(), interruption)
    task = asyncio.ensure_future(driver.drive())
    done, _ = await asyncio.wait([task], timeout=PATIENCE_SECONDS)
    if not done:
        expected = f"its end within {PATIENCE_SECONDS:g} s"
        raise BrokenRuleError(f"{what}, {interruption}", expected=expected, found="it hangs")
    reached = driver.suspensions >= max(interruption.at)
    answer = _answer_of(task)
    if reached and not interruption.late and not isinstance(answer, BaseException) and len(interruption.at) == 1:
        raise BrokenRuleError(f"{what}, {interruption}", expected="CancelledError", found=f"the answer {answer!r}")
    return Interrupted(interruption, reached, answer)


def _answer_of(task: asyncio.Future[object]) -> object:
    if task.cancelled():
        return asyncio.CancelledError()
    return task.exception() or task.result()


async def at_every_suspension(
    attempt: Callable[[Interruption], Awaitable[Interrupted]], *, pairs: int = 20
) -> AsyncIterator[Interrupted]:
    """Interrupt at the first suspension, the second, … until the call ends before; at each once, late, and twice.

    `pairs`: at how many of the suspensions behind each it is interrupted for the second time.
    """
    for first in range(1, MOST_SUSPENSIONS):
        once = await attempt(Interruption((first,)))
        if not once.reached:
            return
        yield once
        yield await attempt(Interruption((first,), late=True))
        for second in range(first + 1, first + 1 + pairs):
            twice = await attempt(Interruption((first, second)))
            if not twice.reached:
                break
            yield twice
