"""Driving a coroutine by hand, to cancel it exactly where one wants to."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


async def cancelled_at(suspension: int, coroutine: Coroutine[Any, Any, object], *, times: int = 2) -> bool:
    """Run a coroutine up to its n-th suspension (from 1) and cancel it there, and again wherever it then suspends.

    False: it ended before that.
    """
    seen = cancelled = 0
    try:
        waits_for = coroutine.send(None)
        while True:
            seen += 1
            if seen >= suspension and cancelled < times:
                cancelled += 1
                if waits_for is not None:
                    waits_for.cancel()  # as a task does that is cancelled
                waits_for = coroutine.throw(asyncio.CancelledError())
            else:
                await _until_done(waits_for)
                waits_for = coroutine.send(None)
    except StopIteration:
        return cancelled > 0
    except asyncio.CancelledError:
        assert cancelled
        return True


async def _until_done(waits_for: asyncio.Future[object] | None) -> None:
    """Wait for what the coroutine waits for, as its task would."""
    if waits_for is None:  # a bare yield
        await asyncio.sleep(0)
    else:
        waits_for._asyncio_future_blocking = False
        await asyncio.wait([waits_for])
