"""The wall clock: what stores and sessions take for the time, where the host gives no other clock."""

from __future__ import annotations

import time


def wall_clock_ms() -> int:
    """Epoch milliseconds."""
    return time.time_ns() // 1_000_000
