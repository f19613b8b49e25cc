"""The pytest face: one test for each check, on any pytest configuration.

    class TestMine(StoreConformance):
        target = "mine:///some/place"          # or "my_tests.opening:opener"

Tests are sync: each check has an event loop of its own, so no plugin is needed and none can interfere.
"""

from __future__ import annotations

import secrets
import sys
from pathlib import Path
from typing import Any, ClassVar

import pytest

from .baseline import Baseline
from .check import Check
from .checks import MODULES, all_checks
from .conformance import Conformance
from .profile import PROFILES
from .results import State
from .target import resolve

_CHECK_MODULES = [f"{__package__}.checks.{name}" for name in MODULES]
pytest.register_assert_rewrite(*(name for name in _CHECK_MODULES if name not in sys.modules))


class StoreConformance:
    """Inherit, and set `target`."""

    target: ClassVar[Any]
    """A URL, `"module:attribute"` of an opener or a Target, or one of those itself."""
    profile: ClassVar[str] = "quick"
    """`quick`, `full` or `thorough`."""
    baseline: ClassVar[str | Path | None] = None
    """A file of known failures."""
    seed: ClassVar[int | None] = None
    """None: another one in every session; a failure tells which."""

    @pytest.mark.parametrize("check", all_checks(), ids=lambda check: check.id)
    def test_check(self, check: Check) -> None:
        """The rule holds."""
        result = _run_of(type(self)).result(check)
        match result.state:
            case State.PASS:
                return
            case State.NOT_APPLICABLE | State.NOT_RUN:
                pytest.skip(f"{result.state}: {result.reason}")
            case State.KNOWN_FAILURE:
                pytest.xfail(result.reason or "in the baseline")
            case _:
                pytest.fail(result.message, pytrace=False)


_RUNS: dict[type[StoreConformance], Conformance] = {}


def _run_of(suite: type[StoreConformance]) -> Conformance:
    """The run that all tests of a class belong to."""
    if suite not in _RUNS:
        _RUNS[suite] = _new_run(suite)
    return _RUNS[suite]


def _new_run(suite: type[StoreConformance]) -> Conformance:
    return Conformance(
        resolve(suite.target),
        PROFILES[suite.profile],
        secrets.randbelow(1_000_000) if suite.seed is None else suite.seed,
        Baseline() if suite.baseline is None else Baseline.read(Path(suite.baseline)),
    )
