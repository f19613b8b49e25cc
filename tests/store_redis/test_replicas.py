"""`wait_replicas`: acknowledged means that a replica has it, also for a call that is only repeated."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from zidane_core.errors import StoreUnavailableError
from zidane_core.opening import Seconds, StoreURL
from zidane_core.store import Guard
from zidane_store_redis import RedisOptions, RedisStore

from .histories import header, turn
from .servers import RunningServer, wait_until


@pytest.fixture
def pair() -> Iterator[tuple[RunningServer, RunningServer]]:
    """A primary and its replica."""
    primary = RunningServer("--repl-diskless-sync-delay", "0")
    replica = RunningServer("--replicaof", f"127.0.0.1 {primary.port}")

    def follows() -> bool:
        with replica.client() as client:
            return bool(client.info("replication")["master_link_status"] == "up")

    wait_until(follows, "the replica does not follow")
    yield primary, replica
    replica.stop()
    primary.stop()


def options(prefix: str, retry_for: float) -> RedisOptions:
    return RedisOptions(
        prefix=prefix, wait_replicas=1, wait_timeout=Seconds(0.05), retry_for=Seconds(retry_for)
    )  # fmt: skip


async def test_a_write_is_acknowledged_once_the_replica_has_it(
    pair: tuple[RunningServer, RunningServer], prefix: str
) -> None:
    """While the replica is silent the write stands on the primary, unacknowledged; then it is answered as it was."""
    primary, replica = pair
    async with RedisStore(StoreURL(primary.url), options(prefix, 20)) as store:
        await store.append_turns("s", [], create=header())
        turns = store._keys_of("s").turns.decode()
        replica.freeze()
        writing = asyncio.create_task(store.append_turns("s", [turn("t")]))
        await asyncio.to_thread(wait_until, lambda: primary.ask("LLEN", turns) == 1, "nothing was written")
        assert not writing.done()
        replica.thaw()
        assert (await writing).added == 1
        assert replica.ask("LLEN", turns) == 1


async def test_a_repeated_operation_and_a_repeated_append_wait_too(
    pair: tuple[RunningServer, RunningServer], prefix: str
) -> None:
    """The first answer is no proof that the replica has it: WAIT would answer for a connection that wrote nothing."""
    primary, replica = pair
    guard = Guard(op_id="once")
    async with RedisStore(StoreURL(primary.url), options(prefix, 0.2)) as store:
        await store.append_turns("s", [], create=header())
        replica.freeze()
        try:
            for _ in range(2):
                with pytest.raises(StoreUnavailableError, match="0 of 1 replicas") as caught:
                    await store.append_turns("s", [turn("t")], guard=guard)
                assert caught.value.outcome_unknown
            with pytest.raises(StoreUnavailableError, match="0 of 1 replicas"):
                await store.append_turns("s", [turn("t")])
        finally:
            replica.thaw()
        assert (await store.append_turns("s", [turn("t")], guard=guard)).added == 1
        assert (await store.append_turns("s", [turn("t")])).added == 0
