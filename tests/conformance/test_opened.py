"""A named memory store, opened by URL with middleware around it, keeps the whole contract."""

from __future__ import annotations

from zidane_core import Opening, StoreMiddleware, open_store
from zidane_core.conformance import StoreConformance


def wrapped() -> Opening:
    return open_store("memory://conformance-wrapped", middleware=[StoreMiddleware])


class TestMiddleware(StoreConformance):
    target = wrapped
