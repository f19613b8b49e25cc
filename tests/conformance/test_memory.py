"""The memory store keeps the whole contract, private and shared within the process."""

from __future__ import annotations

from tests.conformance import targets
from zidane_core.conformance import StoreConformance


class TestPrivateMemory(StoreConformance):
    """Every handle has data of its own. It can be damaged, and its backend told to fail."""

    target = targets.memory


class TestNamedMemory(StoreConformance):
    """Handles of one name share their data."""

    target = "memory://conformance"
