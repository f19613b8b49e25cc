"""The memory store keeps the whole contract."""

from __future__ import annotations

from zidane_core.conformance import StoreConformance
from zidane_core.memory import MemoryStore


class TestMemory(StoreConformance):
    """Every handle has data of its own."""

    target = MemoryStore
