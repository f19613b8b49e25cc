"""A slot migrates, a primary dies: no acknowledged turn is lost, and writers recover by themselves."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager

import pytest
from redis.cluster import key_slot

from zidane_core.opening import Seconds, StoreURL
from zidane_store_redis import RedisOptions, RedisStore

from .histories import header, turn
from .servers import Cluster, RunningServer, Sentinels

# redis-py now and then forgets a connection to a server that dies just then; that nothing of ours stays open is looked
# at where no server dies.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

WRITERS = 4
AFTERWARDS = 20
"""Turns that each writer gets acknowledged once the trouble is over."""


@pytest.fixture
def replicated() -> Iterator[Cluster]:
    cluster = Cluster(replicas=2)  # one of them is left when the other has become the primary
    yield cluster
    cluster.stop()


@pytest.fixture
def watched() -> Iterator[Sentinels]:
    sentinels = Sentinels(replicas=2)
    yield sentinels
    sentinels.stop()


class Writers:
    """Tasks that append without a pause, each to its own session and to one that all share."""

    def __init__(self, store: RedisStore) -> None:
        self._store = store
        self.acknowledged: list[list[str]] = [[] for _ in range(WRITERS)]
        self.longest_s = 0.0
        self._over = asyncio.Event()

    async def run_through(self, trouble: Callable[[], Awaitable[None]]) -> None:
        for session in ("shared", *(f"s{number}" for number in range(WRITERS))):
            await self._store.append_turns(session, [], create=header())
        tasks = [asyncio.create_task(self._write(number)) for number in range(WRITERS)]
        try:
            await self._progress(AFTERWARDS)
            await trouble()
            await self._progress(AFTERWARDS)
        finally:
            self._over.set()
            await asyncio.gather(*tasks)

    async def check(self) -> None:
        """Every acknowledged turn is there, once and in order; the shared session has each writer's order too."""
        shared = [each.id for each in await self._store.get_turns("shared")]
        assert len(shared) == len(set(shared))
        for number, own in enumerate(self.acknowledged):
            stored = [each.id for each in await self._store.get_turns(f"s{number}")]
            assert stored == own
            assert [turn_id for turn_id in shared if turn_id.startswith(f"w{number}-")] == own

    async def _write(self, number: int) -> None:
        at = 0
        while not self._over.is_set():
            turn_id = f"w{number}-{at}"
            began = time.monotonic()
            for session in (f"s{number}", "shared"):
                written = await self._store.append_turns(session, [turn(turn_id)])
                assert written.added == 1
            self.acknowledged[number].append(turn_id)
            self.longest_s = max(self.longest_s, time.monotonic() - began)
            at += 1

    async def _progress(self, turns: int) -> None:
        """Return once each writer has so many turns more."""
        goal = [len(own) + turns for own in self.acknowledged]
        while any(len(own) < least for own, least in zip(self.acknowledged, goal, strict=True)):
            await asyncio.sleep(0.005)


@asynccontextmanager
async def opened(url: str, prefix: str) -> AsyncIterator[RedisStore]:
    options = RedisOptions(prefix=prefix, wait_replicas=1, timeout=Seconds(1), retry_for=Seconds(20))
    async with RedisStore(StoreURL(url), options) as store:
        yield store


async def test_a_killed_primary_of_a_cluster_costs_no_acknowledged_turn(
    replicated: Cluster, prefix: str, record_property: Callable[[str, object], None]
) -> None:
    """Its replica takes over while four writers go on."""
    async with opened(replicated.url, prefix) as store:
        writers = Writers(store)
        primary = _primary_of(replicated, store, "shared")

        async def kill() -> None:
            await asyncio.to_thread(primary.kill)

        await writers.run_through(kill)
        await writers.check()
    record_property("longest_write_s", round(writers.longest_s, 2))
    print(f"cluster, primary killed: longest write {writers.longest_s:.2f} s")


async def test_a_killed_primary_under_sentinels_costs_no_acknowledged_turn(
    watched: Sentinels, prefix: str, record_property: Callable[[str, object], None]
) -> None:
    """The sentinels name another, of the two replicas that it had."""
    async with opened(watched.url, prefix) as store:
        writers = Writers(store)

        async def kill() -> None:
            await asyncio.to_thread(watched.primary.kill)

        await writers.run_through(kill)
        await writers.check()
    record_property("longest_write_s", round(writers.longest_s, 2))
    print(f"sentinels, primary killed: longest write {writers.longest_s:.2f} s")


async def test_a_failover_without_a_death_costs_no_acknowledged_turn(watched: Sentinels, prefix: str) -> None:
    """The old primary lives on as a replica, and refuses writes: the connections to it are given up."""
    async with opened(watched.url, prefix) as store:
        writers = Writers(store)

        async def fail_over() -> None:
            await asyncio.to_thread(watched.watchers[0].ask, "SENTINEL", "FAILOVER", "mymaster")

        await writers.run_through(fail_over)
        await writers.check()


async def test_a_migrating_slot_costs_no_acknowledged_turn(
    replicated: Cluster, prefix: str, record_property: Callable[[str, object], None]
) -> None:
    """The slot of the shared session moves to another primary key by key, while four writers go on."""
    async with opened(replicated.url, prefix) as store:
        writers = Writers(store)
        slot = key_slot(store._keys_of("shared").head)
        source = _primary_of(replicated, store, "shared")
        target = next(node for node in replicated.primaries if node is not source)

        async def migrate() -> None:
            await asyncio.to_thread(_migrate, replicated, slot, source, target)

        await writers.run_through(migrate)
        await writers.check()
        found = target.ask("CLUSTER", "COUNTKEYSINSLOT", slot)
        assert isinstance(found, int)
        assert found > 5
    record_property("longest_write_s", round(writers.longest_s, 2))
    print(f"slot migrated: longest write {writers.longest_s:.2f} s")


def _primary_of(cluster: Cluster, store: RedisStore, session_id: str) -> RunningServer:
    slot = key_slot(store._keys_of(session_id).head)
    return next(
        node for at, node in enumerate(cluster.primaries) if at * 16384 // 3 <= slot < (at + 1) * 16384 // 3
    )  # fmt: skip


def _migrate(cluster: Cluster, slot: int, source: RunningServer, target: RunningServer) -> None:
    """What `CLUSTER SETSLOT` and `MIGRATE` are for."""
    source_id, target_id = cluster.id_of(source), cluster.id_of(target)
    target.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", source_id)
    source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", target_id)
    with source.client() as client:
        while keys := client.execute_command("CLUSTER GETKEYSINSLOT", slot, 10):
            client.execute_command("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *keys)
    for node in (target, source, *cluster.primaries):
        node.ask("CLUSTER", "SETSLOT", slot, "NODE", target_id)
