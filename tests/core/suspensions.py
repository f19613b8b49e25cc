"""Cancelling a coroutine at a chosen suspension, without a clock."""

from __future__ import annotations

import asyncio
import types
from collections.abc import Coroutine, Generator
from typing import Any

import pytest


@types.coroutine
def cancelled_at(work: Coroutine[Any, Any, Any], *moments: int) -> Generator[Any, Any, Any]:
    """Await `work`, and cancel this task at these of its suspensions (the first is 0).

    The work must not be run in a task of its own: what it suspends on, this task suspends on.
    """
    task = asyncio.current_task()
    assert task is not None
    count = 0
    step: Any = None
    error: BaseException | None = None
    while True:
        try:
            waited_for = work.send(step) if error is None else work.throw(error)
        except StopIteration as stop:
            return stop.value
        step = error = None
        if count in moments:
            task.cancel()
        count += 1
        try:
            step = yield waited_for
        except BaseException as thrown:
            error = thrown


async def was_cancelled(work: Coroutine[Any, Any, Any], *moments: int) -> bool:
    """Run `work` in a task that is cancelled at these suspensions; whether it ended as cancelled.

    False: it came to its end before the first of them. Anything but an end or a cancellation fails the test.
    """

    async def body() -> None:
        await cancelled_at(work, *moments)

    task = asyncio.create_task(body())
    try:
        await task
    except asyncio.CancelledError:
        return True
    except Exception as error:
        pytest.fail(f"cancelled at {moments}, it raised {error!r}")
    return False
