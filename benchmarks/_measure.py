"""Interleaved measurements: what two ways of doing the same cost, as a ratio that the machine's mood cancels out of."""

from __future__ import annotations

import statistics
import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple

Round = Callable[[], Awaitable[None]]


class Comparison(NamedTuple):
    """Means in seconds for each unit of work, their ratio, and the median of the rounds' ratios.

    The ratio is that of the totals, because work that comes up now and then, a checkpoint for one, belongs to both.
    """

    ours: float
    limit: float
    ratio: float
    median: float


async def compare(ours: Round, limit: Round, *, units: int, rounds: int, warm_up: int = 2) -> Comparison:
    """Run both in turns, alternating which goes first. `units` is how much work one round of either does."""
    pairs: list[tuple[float, float]] = []
    for number in range(rounds + warm_up):
        if number % 2:
            one, other = await _timed(ours), await _timed(limit)
        else:
            other, one = await _timed(limit), await _timed(ours)
        if number >= warm_up:
            pairs.append((one / units, other / units))
    mine, other = statistics.fmean(one for one, _ in pairs), statistics.fmean(other for _, other in pairs)
    return Comparison(mine, other, ratio=mine / other, median=statistics.median(one / other for one, other in pairs))


async def _timed(act: Round) -> float:
    begun = time.perf_counter()
    await act()
    return time.perf_counter() - begun


def report(what: str, result: Comparison, target: float) -> bool:
    """Print a line, and say whether the target holds."""
    holds = result.ratio <= target
    print(
        f"{what:<52} {result.ours * 1e6:>9.1f} µs  limit {result.limit * 1e6:>9.1f} µs  "
        f"ratio {result.ratio:5.2f} (median {result.median:5.2f})  target {target:4.2f}  {'ok' if holds else 'MISSED'}"
    )
    return holds
