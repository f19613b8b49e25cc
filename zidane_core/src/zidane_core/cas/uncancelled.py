"""Waiting for a call that must not be cancelled."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

T = TypeVar("T")


async def uncancelled(call: Callable[[], Awaitable[T]]) -> T:
    """What `call` answers or raises. A cancellation, or several, take effect once it has ended.

    It runs in a task of its own, because asyncio's own cancellation does not stop at anyio's shields.
    """
    answers: list[T] = []
    errors: list[Exception] = []

    async def run() -> None:
        with anyio.CancelScope(shield=True):
            try:
                answers.append(await call())
            except Exception as error:  # noqa: BLE001 -- handed to the one who waits, as itself and not in a group
                errors.append(error)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
    if errors:
        raise errors[0]
    return answers[0]
