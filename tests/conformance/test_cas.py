"""A `CasStore` on a database that is a dict keeps the whole contract; other handles see the same data."""

from __future__ import annotations

from tests.core.dict_cas import DictBackend, DictStore
from zidane_core.conformance import StoreConformance
from zidane_core.memory.store import wall_clock_ms

_BACKEND = DictBackend()


def opener() -> DictStore:
    return DictStore(_BACKEND, wall_clock_ms, shared="process")


class TestCas(StoreConformance):
    """Every primitive suspends, also within one range."""

    target = staticmethod(opener)
