"""Opening: URLs, options, what is refused, what is closed, what health tells."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
from redis.asyncio import Redis, RedisCluster

from zidane_core.errors import StoreClosedError, StoreOptionError, StoreUnavailableError, StoreURLError
from zidane_core.opening import Seconds, StoreURL, open_store
from zidane_core.store import SessionStore
from zidane_store_redis import EvictionError, RedisOptions, RedisStore, ShardsMismatchError
from zidane_store_redis._clients import server_of

from .histories import header, turn
from .servers import Cluster, RunningServer, Sentinels


@pytest.fixture
def own_server() -> Iterator[RunningServer]:
    server = RunningServer("--unixsocket", "redis.sock")
    yield server
    server.stop()


@pytest.fixture
async def client(server_url: str) -> AsyncIterator[Redis]:
    async with Redis.from_url(server_url) as made:
        yield made


async def use(store: SessionStore) -> None:
    await store.append_turns("s", [turn("a")], create=header())
    assert len(await store.get_turns("s")) == 1


async def test_open_store_finds_redis_by_its_scheme(server_url: str, prefix: str) -> None:
    """With options in the query and as keywords."""
    async with open_store(f"{server_url}?prefix={prefix}&ttl=30d", pool_size=4) as store:
        assert isinstance(store, RedisStore)
        await use(store)


async def test_a_socket_is_a_server_too(own_server: RunningServer) -> None:
    """redis+unix:///path/to/the.sock."""
    async with open_store(f"redis+unix://{own_server.folder}/redis.sock") as store:
        await use(store)


async def test_sentinels_lead_to_the_primary(sentinels: Sentinels, prefix: str) -> None:
    """Several of them, in case the first is down."""
    hosts = "127.0.0.1:1,127.0.0.1:%d" % sentinels.watchers[0].port  # noqa: UP031 -- a URL
    async with open_store(f"redis+sentinel://{hosts}/mymaster?prefix={prefix}") as store:
        await use(store)
        assert (await store.health()).details["replicas"] == [1]


async def test_a_client_that_was_handed_in_is_used_and_left_open(client: Redis, prefix: str) -> None:
    """It may retry as it likes."""
    async with RedisStore(options=RedisOptions(client=client, prefix=prefix)) as store:
        await use(store)
    assert await client.ping()
    async with open_store("redis://ignored.invalid", client=client, prefix=prefix) as again:
        assert len(await again.get_turns("s")) == 1


async def test_a_cluster_client_that_was_handed_in_is_used_and_left_open(cluster: Cluster, prefix: str) -> None:
    """It has 64 shards, as a cluster by URL."""
    async with RedisCluster(host="127.0.0.1", port=cluster.primaries[0].port) as client:
        async with RedisStore(options=RedisOptions(client=client, prefix=prefix)) as store:
            await use(store)
            assert (await store.health()).details["shards"] == 64
        assert await client.ping()


async def test_a_client_that_decodes_is_refused(prefix: str) -> None:
    """Not all that is stored is text."""
    async with Redis(decode_responses=True) as client:
        with pytest.raises(ValueError, match="decode_responses"):
            async with RedisStore(options=RedisOptions(client=client, prefix=prefix)):
                pass


async def test_another_number_of_shards_is_refused(server_url: str, prefix: str) -> None:
    """It decides where each session lies; opened without it, the store keeps its own."""
    url = StoreURL(server_url)
    async with RedisStore(url, RedisOptions(prefix=prefix, shards=4)) as store:
        for number in range(20):
            await store.append_turns(f"s{number:02}", [turn("a")], create=header())
    with pytest.raises(ShardsMismatchError, match="shards=4"):
        async with RedisStore(url, RedisOptions(prefix=prefix, shards=8)):
            pass
    async with RedisStore(url, RedisOptions(prefix=prefix)) as again:
        assert await again.list_ids() == [f"s{number:02}" for number in range(20)]
        assert await again.list_ids(limit=5, after="s03") == [f"s{number:02}" for number in range(4, 9)]
        rows = [row.id for row in (await again.list_meta()).items]
        first = await again.list_meta(limit=7)
        second = await again.list_meta(limit=50, after=first.next)
        assert [row.id for row in [*first.items, *second.items]] == rows


@pytest.mark.parametrize(("policy", "ttl", "refused"), [
    ("allkeys-lru", None, True), ("volatile-lru", None, False), ("volatile-lru", Seconds(60), True),
    ("noeviction", Seconds(60), False),
])  # fmt: skip
async def test_a_server_that_may_evict_sessions_is_refused(
    own_server: RunningServer, policy: str, ttl: Seconds | None, refused: bool
) -> None:
    """Unless that is wanted. A volatile policy takes only what has a time to live."""
    own_server.ask("CONFIG", "SET", "maxmemory-policy", policy)
    if refused:
        with pytest.raises(EvictionError, match=policy):
            async with RedisStore(own_server.url, RedisOptions(ttl=ttl)):
                pass
    async with RedisStore(own_server.url, RedisOptions(ttl=ttl, allow_eviction=refused)) as store:
        await use(store)


async def test_health_says_what_is_kept_on_disk(own_server: RunningServer) -> None:
    """And so do the capabilities, once the store is open."""
    async with RedisStore(own_server.url) as store:
        health = await store.health()
        assert health.ok
        assert health.backend == "valkey"
        assert health.details["append_only_file"] is False
        assert health.details["role"] == ["master"]
        assert store.capabilities.durable == "no"
    own_server.ask("CONFIG", "SET", "appendonly", "yes")
    async with RedisStore(own_server.url) as store:
        assert (await store.health()).details["append_only_sync"] == "everysec"
        assert store.capabilities.durable == "process"
    own_server.ask("CONFIG", "SET", "appendfsync", "always")
    async with RedisStore(own_server.url) as store:
        assert store.capabilities.durable == "power"


async def test_health_of_a_server_that_is_gone_is_not_ok(own_server: RunningServer) -> None:
    """It is an answer, not an error."""
    async with RedisStore(own_server.url, RedisOptions(retry_for=Seconds(0.1))) as store:
        own_server.kill()
        health = await store.health()
        assert not health.ok
        assert "reason" in health.details


@pytest.mark.parametrize(("url", "words"), [
    ("redis://a,b/0", "one host"), ("redis://localhost/five", "number of a database"), ("redis+unix://", "path"),
    ("redis+sentinel://localhost", "service"), ("redis+cluster://localhost/3", "no databases"),
])  # fmt: skip
def test_a_url_that_names_nothing_is_refused(url: str, words: str) -> None:
    """Before anything is connected."""
    with pytest.raises(StoreURLError, match=words):
        server_of(StoreURL(url), RedisOptions())


@pytest.mark.parametrize("query", ["prefix=a%7Bb", "shards=0", "wait_replicas=-1", "protocol=4", "ttl=soon", "tll=1d"])
async def test_a_wrong_option_is_refused(query: str) -> None:
    """It names the option."""
    with pytest.raises(StoreOptionError):
        async with open_store(f"redis://localhost?{query}"):
            pass


async def test_tls_files_and_credentials_reach_the_client() -> None:
    """Made from the URL and the options, without a connection."""
    options = RedisOptions(tls_ca_file="ca.pem", tls_check_hostname=False)
    server = server_of(StoreURL("rediss://user:p%40ss@host:7/3"), options)
    settings = server.client.connection_pool.connection_kwargs
    assert settings["ssl_ca_certs"] == "ca.pem"
    assert (settings["host"], settings["port"], settings["db"]) == ("host", 7, 3)
    assert (settings["username"], settings["password"]) == ("user", "p@ss")
    assert settings["ssl_check_hostname"] is False
    await server.aclose()


async def test_a_password_never_shows(prefix: str) -> None:
    """Not in the store's repr, nor in the error of a server that is not there."""
    store = RedisStore("redis://user:hunter2@127.0.0.1:1", RedisOptions(prefix=prefix, retry_for=Seconds(0)))
    assert "hunter2" not in repr(store)
    with pytest.raises(StoreUnavailableError) as caught:
        await store.__aenter__()
    assert "hunter2" not in str(caught.value)


def test_a_store_of_another_event_loop_says_so(server_url: str, prefix: str) -> None:
    """Its connections belong to the loop that it was opened in."""
    store = RedisStore(StoreURL(server_url), RedisOptions(prefix=prefix))
    with asyncio.Runner() as first:
        first.run(store.__aenter__())
        with pytest.raises(StoreUnavailableError, match="another event loop"), asyncio.Runner() as second:
            second.run(store.load("s"))
        first.run(store.aclose())


async def test_closing_amid_calls_lets_none_of_them_hang(server_url: str, prefix: str) -> None:
    """Each is answered or told that the store is closed."""
    store = RedisStore(StoreURL(server_url), RedisOptions(prefix=prefix, pool_size=2))
    await store.__aenter__()
    await store.append_turns("s", [], create=header())
    calls = [asyncio.create_task(store.append_turns("s", [turn(f"t{number}")])) for number in range(20)]
    await asyncio.sleep(0)
    await store.aclose()
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(each, StoreClosedError) or not isinstance(each, Exception) for each in answers)
