"""What takes minutes: the whole kit in its full profile, and every broken store against every check."""

from __future__ import annotations

import pytest

from tests.conformance import targets
from tests.conformance.matrix import killers
from tests.conformance.mutants import MUTANTS
from zidane_core.conformance import StoreConformance, all_checks

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(600)]


class TestMemoryInFull(StoreConformance):
    """Every count as the full profile has it."""

    target = targets.memory
    profile = "full"
    seed = None


class TestSqliteInFull(StoreConformance):
    """The same, with processes and SIGKILL."""

    target = targets.sqlite
    profile = "full"
    seed = None


@pytest.mark.parametrize("name", MUTANTS)
def test_no_broken_store_survives(name: str) -> None:
    """Some check fails on it, whichever it was made for."""
    assert killers(MUTANTS[name], list(all_checks()))
