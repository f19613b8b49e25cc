"""The SQLite store keeps the whole contract, at both durabilities."""

from __future__ import annotations

from tests.conformance import targets
from zidane_core.conformance import StoreConformance


class TestFull(StoreConformance):
    """Acknowledged survives a power cut. It can be damaged."""

    target = targets.sqlite


class TestNormal(StoreConformance):
    """Acknowledged survives the death of the process."""

    target = f"sqlite:///{targets.FOLDER}/normal.db?synchronous=normal"
