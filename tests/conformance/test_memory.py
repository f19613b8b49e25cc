"""The memory store keeps the whole contract, private and shared within the process."""

from __future__ import annotations

from zidane_core.conformance import StoreConformance
from zidane_core.memory import MemoryStore


class TestPrivateMemory(StoreConformance):
    """Every handle has data of its own."""

    target = MemoryStore


class TestNamedMemory(StoreConformance):
    """Handles of one name share their data."""

    target = "memory://conformance"
