"""A last resort against a store that blocks the event loop, which no asyncio timeout can interrupt."""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType


class BlockedLoopError(Exception):
    """The event loop was not given back in time."""


@contextmanager
def watchdog(seconds: float) -> Generator[None]:
    """Raise BlockedLoopError in the main thread when the body takes longer.

    Does nothing off the main thread, without SIGALRM, or where somebody else (pytest-timeout) uses it.
    """
    alarm = getattr(signal, "SIGALRM", None)
    if (
        alarm is None
        or threading.current_thread() is not threading.main_thread()
        or signal.getsignal(alarm) is not signal.SIG_DFL
    ):
        yield
        return

    def ring(_number: int, _frame: FrameType | None) -> None:
        raise BlockedLoopError(f"nothing else could run for {seconds:g} s")

    signal.signal(alarm, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(alarm, signal.SIG_DFL)
