"""The remote store keeps the whole contract, through a real socket, whatever store is served at its other end.

The kit's worker processes and its SIGKILL layer are clients here; the server's own death under load is in
`tests/store_remote/test_process.py`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from tests.store_redis.servers import RunningServer
from tests.store_remote.serving import ServerProcess
from zidane_core.conformance import StoreConformance


class _Served(StoreConformance):
    """A run of the kit on a server of its own."""

    __test__ = False
    query = ""

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def _running(cls) -> Iterator[None]:
        with cls.store() as store_url, ServerProcess(store_url) as server:
            cls.target = server.url + cls.query
            yield

    @staticmethod
    def store() -> AbstractContextManager[str]:
        """The URL of the store to serve, for as long as it is needed."""
        raise NotImplementedError


class TestOverMemory(_Served):
    """By httpx2, as where it is installed."""

    __test__ = True

    @staticmethod
    @contextmanager
    def store() -> Iterator[str]:
        yield "memory://"


@pytest.mark.thorough
class TestByHttpx(TestOverMemory):
    """By httpx, whose requests are never cancelled."""

    query = "?library=httpx"


@pytest.mark.thorough
class TestOverSqlite(_Served):
    __test__ = True

    @staticmethod
    @contextmanager
    def store() -> Iterator[str]:
        with tempfile.TemporaryDirectory(prefix="zidane-served-") as folder:
            yield f"sqlite:///{Path(folder) / 'served.db'}"


@pytest.mark.thorough
class TestOverRedis(_Served):
    __test__ = True

    @staticmethod
    @contextmanager
    def store() -> Iterator[str]:
        server = RunningServer("--appendonly", "yes")
        yield server.url
        server.stop()
