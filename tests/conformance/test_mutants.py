"""The kit can fail: every broken store is caught by the checks that are made for it."""

from __future__ import annotations

import pytest

from tests.conformance.mutants import MUTANTS
from zidane_core.conformance import State, all_checks, interruptions
from zidane_core.conformance.conformance import Conformance
from zidane_core.conformance.profile import Profile

CHECKS = {check.id: check for check in all_checks()}
PROFILE = Profile("quick", 0.1, 5)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mutant that hangs or leaks is not waited for as long as a store is."""
    from zidane_core.conformance import processes, surroundings
    from zidane_core.conformance.checks import cancellation

    monkeypatch.setattr(interruptions, "PATIENCE_SECONDS", 0.5)
    monkeypatch.setattr(cancellation, "PROMPT_SECONDS", 0.5)
    monkeypatch.setattr(surroundings, "GRACE_SECONDS", 0.05)
    monkeypatch.setattr(processes, "EXIT_SECONDS", 2.0)


@pytest.mark.parametrize("name", MUTANTS)
def test_a_broken_store_fails_the_checks_made_for_its_defect(name: str) -> None:
    """Each check that is named for a mutant fails on it, and not because the kit does."""
    mutant = MUTANTS[name]
    run = Conformance(mutant.target, PROFILE, seed=1)
    results = {check_id: run.result(CHECKS[check_id]) for check_id in mutant.killed_by}
    assert results
    survived = {check_id: str(result.state) for check_id, result in results.items() if result.state is not State.FAIL}
    assert survived == {}, f"{mutant.defect}"


def test_every_must_check_kills_a_mutant() -> None:
    """A check that no broken store fails proves nothing."""
    killing = {check_id for mutant in MUTANTS.values() for check_id in mutant.killed_by}
    assert killing <= CHECKS.keys()
    assert sorted(check.id for check in CHECKS.values() if check.level == "MUST" and check.id not in killing) == []


def test_there_are_many_kinds_of_mutants() -> None:
    """The field has seen more than forty kinds of faults."""
    assert len(MUTANTS) >= 40
