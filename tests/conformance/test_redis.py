"""Redis keeps the whole contract: one server, Debian's, a cluster, a primary under sentinels."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import count
from typing import cast

import pytest
from redis.asyncio import Redis, RedisCluster
from redis.exceptions import ConnectionError as RedisConnectionError

from tests.store_redis.servers import Cluster, RunningServer, Sentinels, debian_binary
from zidane_core.conformance import StoreConformance, Target
from zidane_core.opening import open_store
from zidane_core.store import SessionStore
from zidane_store_redis import RedisStore
from zidane_store_redis._server import Argument

KEPT = ("--appendonly", "yes")


def target_of(url: str) -> Target:
    return Target(open=lambda: open_store(url), reference=url, shown=url, damage=damage, faults=faults)


async def damage(store: SessionStore, session_id: str, what: str, key: str) -> None:
    """Flip a bit of what is stored."""
    redis = cast("RedisStore", store)
    names = redis._keys_of(session_id)
    client: Redis | RedisCluster = redis._calls.server.client
    if what == "turn":
        stored = await client.lindex(names.turns, int(key))
        await client.lset(names.turns, int(key), _flipped(stored))
    elif what == "run":
        await client.hset(names.runs, key, _flipped(await client.hget(names.runs, key)))
    else:
        fields = [field for field in await client.hkeys(names.metadata) if field]
        await client.hset(names.metadata, fields[0], _flipped(await client.hget(names.metadata, fields[0])))


class LostReply:
    """One reply that does not come."""

    fired = False


@contextmanager
def faults(store: SessionStore, number: int) -> Iterator[LostReply]:
    """The n-th command is executed, and its connection lost before the reply."""
    server = cast("RedisStore", store)._calls.server
    original, calls, lost = server.call, count(1), LostReply()

    async def call(*command: Argument) -> object:
        reply = await original(*command)
        if next(calls) == number:
            lost.fired = True
            raise RedisConnectionError("the reply is lost")
        return reply

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(server, "call", call)
        yield lost


def _flipped(stored: bytes) -> bytes:
    return stored[:-2] + bytes([stored[-2] ^ 1]) + stored[-1:]


class _Served(StoreConformance):
    """A run of the kit on servers of its own."""

    __test__ = False

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def _running(cls) -> Iterator[None]:
        with cls.running() as url:
            cls.target = target_of(url)
            yield

    @staticmethod
    def running() -> AbstractContextManager[str]:
        """The servers, for as long as they are needed."""
        raise NotImplementedError


class TestOneServer(_Served):
    """The wheel's Valkey, or the server of ZIDANE_TEST_REDIS_URL."""

    __test__ = True

    @staticmethod
    @contextmanager
    def running() -> Iterator[str]:
        given = os.environ.get("ZIDANE_TEST_REDIS_URL")
        if given:
            yield given
            return
        server = RunningServer(*KEPT)
        yield server.url
        server.stop()


@pytest.mark.thorough
class TestDebianServer(_Served):
    """Debian's redis-server 7.0, where it is installed."""

    __test__ = True

    @staticmethod
    @contextmanager
    def running() -> Iterator[str]:
        binary = debian_binary()
        if binary is None:
            pytest.skip("no redis-server is installed (apt-get install redis-server)")
        server = RunningServer(*KEPT, binary=binary)
        yield server.url
        server.stop()


class TestCluster(_Served):
    """Three primaries. Eight shards are enough to be spread; a listing asks each of them."""

    __test__ = True

    @staticmethod
    @contextmanager
    def running() -> Iterator[str]:
        cluster = Cluster(*KEPT)
        yield cluster.url + "?shards=8"
        cluster.stop()


@pytest.mark.thorough
class TestSentinels(_Served):
    """A primary with a replica, under three sentinels; writes wait for the replica."""

    __test__ = True

    @staticmethod
    @contextmanager
    def running() -> Iterator[str]:
        watched = Sentinels(*KEPT)
        yield watched.url + "?wait_replicas=1"
        watched.stop()
