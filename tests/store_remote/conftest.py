"""Fixtures of the remote store's tests."""

from __future__ import annotations

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
