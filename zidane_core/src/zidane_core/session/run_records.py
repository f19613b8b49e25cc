"""Run records as they start and end, and the sums of what they used. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from zidane_core.records import RunErrorDetail, RunStatus, SessionRun, Usage


class RunStats(msgspec.Struct, frozen=True, kw_only=True):
    """What a run, or a whole session, used."""

    turns: int = 0
    tokens_in: int = 0
    """All input tokens, read from a cache or not."""
    tokens_out: int = 0
    cost: float | None = None
    """Estimated cost in USD."""
    turn_usage: Sequence[Usage] | None = None

    @property
    def total_usage(self) -> dict[str, Any] | None:
        """The sum of `turn_usage`."""
        return sum_usage(self.turn_usage) if self.turn_usage else None


def sum_usage(usages: Iterable[Usage]) -> dict[str, Any]:
    """Every number that the usages report, added up by its name; what is no number is left out."""
    total: dict[str, Any] = {}
    for usage in usages:
        for name, value in cast("Mapping[str, object]", usage).items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                total[name] = total.get(name, 0) + value
    return total


def stats_of(turns: int, usages: Sequence[Usage]) -> RunStats:
    """The stats of turns that reported these usages."""
    total = sum_usage(usages)
    return RunStats(
        turns=turns,
        tokens_in=sum(total.get(name, 0) for name in ("input", "cacheRead", "cacheCreation")),
        tokens_out=total.get("output", 0),
        cost=total.get("cost"),
        turn_usage=list(usages) or None,
    )


def ended_run(
    run: SessionRun,
    status: RunStatus,
    *,
    at: int,
    stats: RunStats | None = None,
    error: str | None = None,
    detail: RunErrorDetail | None = None,
) -> SessionRun:
    """The record of a run that has ended. Without `stats` its figures stay as they are."""
    run = replace(run, status=status, ended_at=at, error=error, error_detail=detail)
    if stats is None:
        return run
    return replace(
        run,
        turns=stats.turns,
        tokens_in=stats.tokens_in,
        tokens_out=stats.tokens_out,
        cost=stats.cost,
        turn_usage=stats.turn_usage,
        total_usage=cast("Usage | None", stats.total_usage),
    )
