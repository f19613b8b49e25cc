from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from zidane_store_sqlite import SqliteStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    async with SqliteStore(path, busy_timeout=20) as store:
        yield store
