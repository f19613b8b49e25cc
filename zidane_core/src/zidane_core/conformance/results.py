"""What came out of checks: one result each, and the report of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from zidane_core.store import Capabilities

from .check import Check


class State(StrEnum):
    """How a check ended."""

    PASS = "pass"  # noqa: S105 -- no password
    FAIL = "fail"
    KNOWN_FAILURE = "known-failure"
    """It fails, and the baseline says so."""
    NOT_APPLICABLE = "n/a"
    """The store does not declare what it needs, and refuses it as it should."""
    NOT_RUN = "not-run"
    """The target offers no way to do it: no hook for damage or faults."""
    KIT_ERROR = "kit-error"
    """The kit itself failed; nothing is said of the store."""


@dataclass(frozen=True, kw_only=True)
class Failure:
    """Why a check failed, for whoever has to mend the store."""

    what: str
    expected: str
    found: str
    seed: int
    calls: Sequence[str] = ()
    reproduce: str = ""
    surroundings: bool = False
    """The rule itself held, but the canary was touched, or something was left behind."""
    traceback: str = ""


@dataclass(frozen=True, kw_only=True)
class Result:
    check: Check
    state: State
    reason: str = ""
    failure: Failure | None = None
    seconds: float = 0.0

    @property
    def message(self) -> str:
        """The result in full, as terminals and test runners show it."""
        return f"{self.check.id}: {self.state}: {self.reason}" if self.failure is None else _told(self, self.failure)


def _told(result: Result, failure: Failure) -> str:
    check = result.check
    lines = [
        f"{check.id} [{check.level}, {check.capability}, {check.layer}, since {check.since}]",
        f"  rule       {check.doc}",
        f"  looked at  {failure.what}",
        f"  expected   {failure.expected}",
        f"  found      {failure.found}",
        f"  seed       {failure.seed}",
        "  calls",
        *(f"    {line}" for line in failure.calls or ["(none)"]),
    ]
    if failure.reproduce:
        lines.append(f"  again      {failure.reproduce}")
    if failure.traceback:
        lines += ["  traceback", *(f"    {line}" for line in failure.traceback.splitlines())]
    return "\n".join(lines)


@dataclass(frozen=True, kw_only=True)
class Report:
    """A whole run."""

    target: str
    """Without secrets."""
    capabilities: Capabilities
    profile: str
    seed: int
    requirements: str
    """The frozen set that was asked for, or `all`."""
    versions: dict[str, str]
    results: Sequence[Result]
    complete: bool = True
    """False when only some checks were chosen: such a run proves nothing as a whole."""
    seconds: float = 0.0
    notes: Sequence[str] = field(default_factory=tuple[str, ...])

    @property
    def counts(self) -> dict[str, int]:
        """How many checks ended in each state."""
        found = Counter(str(result.state) for result in self.results)
        return {str(state): found[str(state)] for state in State}

    @property
    def passed(self) -> bool:
        """Whether no MUST failed beyond the baseline, and the kit did its work."""
        return not any(
            result.state is State.KIT_ERROR or (result.state is State.FAIL and result.check.level == "MUST")
            for result in self.results
        )

    @property
    def conformant(self) -> bool:
        """Whether every MUST of the core and of every declared capability passed, in a complete run."""
        known = any(r.state is State.KNOWN_FAILURE and r.check.level == "MUST" for r in self.results)
        return self.passed and self.complete and not known

    def to_object(self) -> dict[str, Any]:
        """The report as plain JSON: a header, the results, and the counts as its footer."""
        import msgspec

        return {
            "report": 1,
            "header": {
                "target": self.target,
                "profile": self.profile,
                "seed": self.seed,
                "requirements": self.requirements,
                "complete": self.complete,
                "versions": self.versions,
                "capabilities": msgspec.to_builtins(self.capabilities),
            },
            "results": [_result_object(result) for result in self.results],
            "footer": {
                "counts": self.counts,
                "passed": self.passed,
                "conformant": self.conformant,
                "seconds": round(self.seconds, 2),
                "notes": list(self.notes),
            },
        }


def _result_object(result: Result) -> dict[str, Any]:
    check, failure = result.check, result.failure
    told: dict[str, Any] = {
        "id": check.id,
        "capability": check.capability,
        "layer": check.layer,
        "level": check.level,
        "since": check.since,
        "rule": check.doc,
        "state": str(result.state),
        "seconds": round(result.seconds, 3),
    }
    if result.reason:
        told["reason"] = result.reason
    if failure is not None:
        told["failure"] = {
            "lookedAt": failure.what,
            "expected": failure.expected,
            "found": failure.found,
            "seed": failure.seed,
            "calls": list(failure.calls),
            "reproduce": failure.reproduce,
            "surroundings": failure.surroundings,
        }
    return told
