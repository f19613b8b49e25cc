"""Fixtures for the tests of the core."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from zidane_core.memory import MemoryStore


@pytest.fixture
async def store() -> AsyncIterator[MemoryStore]:
    async with MemoryStore() as opened:
        yield opened
