"""The time, where nobody gives another clock."""

from __future__ import annotations

import time


def wall_clock_ms() -> int:
    """Epoch milliseconds."""
    return time.time_ns() // 1_000_000
