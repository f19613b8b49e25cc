"""The conformance kit: what makes a session store trustworthy, as checks that can fail.

`run_conformance` runs them anywhere; `StoreConformance` (it needs pytest) is their pytest face; `zidane check` their
command line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .baseline import Baseline
from .check import Check, Collector
from .checks import all_checks
from .conformance import Conformance, run_conformance
from .expectations import BrokenRuleError, equal, holds, outcome, raises
from .kit import Kit
from .results import Failure, Report, Result, State
from .target import Fault, Target, resolve

if TYPE_CHECKING:
    from .suite import StoreConformance

__all__ = [
    "Baseline",
    "BrokenRuleError",
    "Check",
    "Collector",
    "Conformance",
    "Failure",
    "Fault",
    "Kit",
    "Report",
    "Result",
    "State",
    "StoreConformance",
    "Target",
    "all_checks",
    "equal",
    "holds",
    "outcome",
    "raises",
    "resolve",
    "run_conformance",
]


def __getattr__(name: str) -> Any:
    """`StoreConformance` imports pytest, so it is loaded when it is asked for."""
    if name == "StoreConformance":
        from .suite import StoreConformance

        return StoreConformance
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
