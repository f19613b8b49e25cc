"""Fixtures of the remote store's tests."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from .serving import ServerProcess


@pytest.fixture(scope="package")
def memory_server() -> Iterator[str]:
    """A server in a process of its own, over a memory store; tests share it and use ids of their own."""
    with ServerProcess("memory://", "--max-page", "7") as server:
        yield server.url


@pytest.fixture(params=["httpx", "httpx2"])
def library(request: pytest.FixtureRequest) -> str:
    """Both HTTP libraries in turn."""
    name: str = request.param
    pytest.importorskip(name)
    return name


@pytest.fixture
def unused_port() -> Iterator[int]:
    """A port at which nobody listens: it is bound, and stays so."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port: int = held.getsockname()[1]
        yield port
