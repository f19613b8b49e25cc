"""The remote store keeps the whole contract, through a real socket, whatever store its server serves."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from zidane_core.conformance import StoreConformance

from ..store_remote.serving import ServerProcess

FOLDER = tempfile.TemporaryDirectory(prefix="zidane-conformance-")


class ServedStore:
    """A class's target: the URL of a server, in a process of its own, that is started when the first check needs it."""

    running: list[ServerProcess] = []

    def __init__(self, store_url: str) -> None:
        self._server = ServerProcess(store_url)

    def __get__(self, instance: object, owner: type) -> str:
        if not self._server.url:
            self.running.append(self._server)
            self._server.start()
        return self._server.url


@pytest.fixture(scope="module", autouse=True)
def _stop_the_servers() -> Iterator[None]:
    yield
    for server in ServedStore.running:
        server.kill()


class TestOverMemory(StoreConformance):
    target = ServedStore("memory://")


class TestOverSqlite(StoreConformance):
    target = ServedStore(f"sqlite:///{Path(FOLDER.name) / 'served.db'}")
