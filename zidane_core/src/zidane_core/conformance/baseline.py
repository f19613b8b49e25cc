"""Known failures, written down: strict both ways, so that the list neither hides a new failure nor outlives an old one.

A text file with one check id a line; what follows `#` says why.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from .results import Result, State


@dataclass(frozen=True)
class Baseline:
    """Ids of checks that are known to fail, with the reasons."""

    reasons: dict[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def read(cls, path: Path) -> Baseline:
        reasons: dict[str, str] = {}
        for line in path.read_text(encoding="utf-8").splitlines():
            check_id, _, reason = line.partition("#")
            if check_id.strip():
                reasons[check_id.strip()] = reason.strip()
        return cls(reasons)

    def judge_ids(self, known: set[str]) -> None:
        """Raises ValueError for an id that no check has."""
        unknown = sorted(self.reasons.keys() - known)
        if unknown:
            raise ValueError(f"the baseline names checks that do not exist: {', '.join(unknown)}")

    def applied(self, result: Result) -> Result:
        """The result as this baseline sees it."""
        if result.check.id not in self.reasons:
            return result
        if result.state is State.FAIL:
            return replace(result, state=State.KNOWN_FAILURE, reason=self.reasons[result.check.id])
        if result.state is State.KIT_ERROR:
            return result
        told = f"the baseline calls it a failure, but it is {result.state}: take it off the list"
        return replace(result, state=State.FAIL, reason=told)
