"""The conformance kit: what makes a session store trustworthy, as checks that can fail.

`run_conformance` runs them anywhere; `StoreConformance` (it needs pytest) is their pytest face; `zidane check` their
command line. Names are loaded when they are asked for: worker processes need few of them, and pytest is optional.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .baseline import Baseline
    from .check import Check, Collector
    from .checks import all_checks
    from .conformance import Conformance, run_conformance
    from .expectations import BrokenRuleError, equal, holds, outcome, raises
    from .kit import Kit
    from .results import Failure, Report, Result, State
    from .suite import StoreConformance
    from .target import Fault, Target, resolve

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

_HOMES = {
    "baseline": ("Baseline",),
    "check": ("Check", "Collector"),
    "checks": ("all_checks",),
    "conformance": ("Conformance", "run_conformance"),
    "expectations": ("BrokenRuleError", "equal", "holds", "outcome", "raises"),
    "kit": ("Kit",),
    "results": ("Failure", "Report", "Result", "State"),
    "suite": ("StoreConformance",),
    "target": ("Fault", "Target", "resolve"),
}


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
