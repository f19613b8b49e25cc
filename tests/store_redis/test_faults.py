"""What networks and servers do, and that no turn is lost, doubled or answered to the wrong caller."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress

import pytest
from redis.asyncio import Redis

from zidane_core.errors import (
    AuthenticationError,
    CorruptRecordError,
    PermissionDeniedError,
    StoreBusyError,
    StoreFullError,
    StoreReadOnlyError,
    StoreUnavailableError,
)
from zidane_core.opening import Seconds, StoreURL
from zidane_store_redis import RedisOptions, RedisStore

from .histories import header, turn
from .proxy import Fault, proxied
from .servers import RunningServer, wait_until


@pytest.fixture
def own_server() -> Iterator[RunningServer]:
    """A server that a test may break."""
    server = RunningServer()
    yield server
    server.stop()


@asynccontextmanager
async def opened(url: str, prefix: str, **options: object) -> AsyncIterator[RedisStore]:
    async with RedisStore(StoreURL(url), RedisOptions(prefix=prefix, **options)) as store:  # type: ignore[arg-type]
        yield store


# -- lost replies -----------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["drop", "half", "refuse"])
async def test_a_lost_reply_at_every_nth_call_loses_and_doubles_nothing(
    valkey: RunningServer, prefix: str, fault: Fault
) -> None:
    """For every n up to 20, each append is answered with what it did the first time, and stored once."""
    async with proxied(valkey.port) as proxy, opened(proxy.url, prefix) as store:
        for every in range(2, 21):
            session = f"s{every}"
            start = proxy.calls
            proxy.plan = lambda call, start=start, every=every: fault if (call - start) % every == 0 else "none"
            await store.append_turns(session, [], create=header())
            revisions = []
            for number in range(2 * every):
                written = await store.append_turns(session, [turn(f"t{number}")])
                assert written.added == 1
                assert written.previous < written.rev
                revisions.append(written.rev)
            assert revisions == sorted(revisions)
            assert proxy.calls - start > 2 * every + 1  # some were made again
            stored = await store.get_turns(session)
            assert [each.id for each in stored] == [f"t{number}" for number in range(2 * every)]


async def test_every_kind_of_write_gets_its_first_answer_after_a_lost_reply(valkey: RunningServer, prefix: str) -> None:
    """Claims, truncations, deletions, send requests and schedules that were executed are not executed again."""
    async with proxied(valkey.port) as proxy, opened(proxy.url, prefix) as store:
        proxy.plan = lambda call: "drop" if call % 2 == 0 else "none"
        await store.append_turns("s", [turn("a"), turn("b"), turn("c")], create=header())
        claim = await store.claim_run("s")
        assert claim.claimed
        assert claim.previous == "idle"
        assert [each.id for each in await store.truncate("s", "b")] == ["b", "c"]
        assert (await store.claim_send_request("s", "q", "f")).claimed
        assert await store.settle_send_request("s", "q", None)
        assert await store.delete("s")
        assert await store.load("s") is None


async def test_a_store_that_never_hears_an_answer_says_that_the_outcome_is_unknown(
    valkey: RunningServer, prefix: str
) -> None:
    """The turn is stored all the same, and appending it again later is harmless."""
    async with proxied(valkey.port) as proxy, opened(proxy.url, prefix, retry_for=Seconds(0.3)) as store:
        await store.append_turns("s", [], create=header())
        proxy.plan = lambda _: "drop"
        with pytest.raises(StoreUnavailableError) as caught:
            await store.append_turns("s", [turn("t")])
        assert caught.value.outcome_unknown
        assert caught.value.retryable
        proxy.plan = lambda _: "none"
        assert (await store.append_turns("s", [turn("t")])).added == 0
        assert len(await store.get_turns("s")) == 1


async def test_a_swallowed_reply_is_waited_for_no_longer_than_the_timeout(valkey: RunningServer, prefix: str) -> None:
    """The script may have run: the next try gets its answer."""
    async with proxied(valkey.port) as proxy, opened(proxy.url, prefix, timeout=Seconds(0.2)) as store:
        await store.append_turns("s", [], create=header())
        calls = proxy.calls
        proxy.plan = lambda call: "swallow" if call == calls + 1 else "none"
        assert (await store.append_turns("s", [turn("t")])).added == 1
        assert len(await store.get_turns("s")) == 1


async def test_random_cancellations_mix_up_no_replies(valkey: RunningServer, prefix: str) -> None:
    """2,000 calls of 8 tasks, cancelled after a random number of steps: each answer is that of its own question."""
    chance = random.Random(5)
    acknowledged: dict[str, set[str]] = {f"s{number}": set() for number in range(8)}
    attempted: dict[str, set[str]] = {name: set() for name in acknowledged}

    async def use(store: RedisStore, session: str, number: int) -> None:
        kind = number % 3
        if kind == 0:
            attempted[session].add(f"{session}-{number}")
            written = await store.append_turns(session, [turn(f"{session}-{number}", text=session)])
            assert written.added == 1
            acknowledged[session].add(f"{session}-{number}")
        elif kind == 1:
            row = await store.get_meta(session)
            assert row is not None
            assert row.id == session
            assert row.metadata == {"name": session}
        else:
            assert all(each.id.startswith(session) for each in await store.get_turns(session, last=3))

    async def work(store: RedisStore, session: str) -> None:
        for number in range(250):
            task = asyncio.create_task(use(store, session, number))
            if chance.random() < 0.5:
                for _ in range(chance.randrange(12)):
                    await asyncio.sleep(0)
                task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async with proxied(valkey.port) as proxy, opened(proxy.url, prefix, pool_size=4) as store:
        for name in acknowledged:
            await store.append_turns(name, [], create=header(metadata={"name": name}))
        faults: list[Fault] = ["none"] * 17 + ["drop", "half", "refuse"]
        proxy.plan = lambda _: chance.choice(faults)
        await asyncio.gather(*(work(store, name) for name in acknowledged))
        proxy.plan = lambda _: "none"
        for name, own in acknowledged.items():
            ids = [each.id for each in await store.get_turns(name)]
            assert len(ids) == len(set(ids))
            assert own <= set(ids) <= attempted[name]
            numbers = [int(each.rpartition("-")[2]) for each in ids]
            assert numbers == sorted(numbers)


# -- servers ----------------------------------------------------------------------------------


async def test_scripts_survive_a_flush_and_a_restart(prefix: str) -> None:
    """A server that does not know a script gets its text."""
    server = RunningServer("--appendonly", "yes", "--appendfsync", "always")
    try:
        async with opened(server.url, prefix) as store:
            assert store.capabilities.durable == "power"
            await store.append_turns("s", [turn("a")], create=header())
            server.ask("SCRIPT", "FLUSH")
            await store.append_turns("s", [turn("b")])
            server.kill()
            server.start()
            await store.append_turns("s", [turn("c")])
            assert [each.id for each in await store.get_turns("s")] == ["a", "b", "c"]
    finally:
        server.stop()


async def test_killed_connections_are_made_again(own_server: RunningServer, prefix: str) -> None:
    """An idle connection that the server closed is no error."""
    async with opened(own_server.url, prefix) as store:
        await store.append_turns("s", [], create=header())
        for number in range(10):
            own_server.ask("CLIENT", "KILL", "TYPE", "normal")
            assert (await store.append_turns("s", [turn(f"t{number}")])).added == 1


async def test_a_server_that_became_a_replica_is_waited_for(own_server: RunningServer, prefix: str) -> None:
    """READONLY is tried again, on a new connection, until a primary answers."""
    other = RunningServer()
    try:
        async with opened(own_server.url, prefix) as store:
            await store.append_turns("s", [], create=header())
            other.ask("REPLICAOF", "127.0.0.1", own_server.port)
            wait_until(lambda: b"master_link_status:up" in _info(other), "the other does not follow")
            own_server.ask("REPLICAOF", "127.0.0.1", other.port)
            other.ask("REPLICAOF", "NO", "ONE")
            writing = asyncio.create_task(store.append_turns("s", [turn("t")]))
            await asyncio.to_thread(
                wait_until, lambda: b"errorstat_READONLY" in _info(own_server, "errorstats"), "nothing was refused"
            )
            own_server.ask("REPLICAOF", "NO", "ONE")
            assert (await writing).added == 1
    finally:
        other.stop()


async def test_a_server_that_stays_a_replica_is_read_only(own_server: RunningServer, prefix: str) -> None:
    """The error says what the matter is, once the time for trying is over."""
    async with opened(own_server.url, prefix, retry_for=Seconds(0.2)) as store:
        await store.append_turns("s", [turn("a")], create=header())
        own_server.ask("REPLICAOF", "127.0.0.1", "1")
        with pytest.raises(StoreReadOnlyError):
            await store.append_turns("s", [turn("t")])


async def test_a_server_that_is_loading_is_waited_for(valkey: RunningServer, prefix: str) -> None:
    """LOADING, TRYAGAIN and BUSY say that nothing was executed: the call goes on as soon as it can."""
    async with proxied(valkey.port) as proxy, opened(proxy.url, prefix, retry_for=Seconds(1)) as store:
        await store.append_turns("s", [], create=header())
        answers = [b"-LOADING Redis is loading the dataset in memory\r\n", b"-TRYAGAIN Multiple keys\r\n",
                   b"-BUSY Redis is busy running a script.\r\n", b"-CLUSTERDOWN The cluster is down\r\n"]  # fmt: skip
        start = proxy.calls
        proxy.plan = lambda call: answers[call - start - 1] if call - start <= len(answers) else "none"
        assert (await store.append_turns("s", [turn("t")])).added == 1
        proxy.plan = lambda _: answers[0]
        with pytest.raises(StoreBusyError) as caught:
            await store.append_turns("s", [turn("u")])
        assert not caught.value.outcome_unknown


async def test_a_frozen_server_is_given_up_and_a_call_to_it_can_be_cancelled(
    own_server: RunningServer, prefix: str
) -> None:
    """Timeouts bound the call; a cancellation does not wait for them."""
    async with opened(own_server.url, prefix, timeout=Seconds(0.2), retry_for=Seconds(0.4)) as store:
        await store.append_turns("s", [], create=header())
        own_server.freeze()
        try:
            with pytest.raises(StoreUnavailableError) as caught:
                await store.append_turns("s", [turn("t")])
            assert caught.value.outcome_unknown
        finally:
            own_server.thaw()
        assert (await store.append_turns("s", [turn("t")])).rev
    async with opened(own_server.url, prefix, timeout=Seconds(60)) as store:
        own_server.freeze()
        try:
            waiting = asyncio.create_task(store.get_turns("s"))
            for _ in range(20):
                await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        finally:
            own_server.thaw()
        assert len(await store.get_turns("s")) == 1


async def test_a_full_server_refuses_writes_and_still_reads_and_deletes(own_server: RunningServer, prefix: str) -> None:
    """Nothing of the refused write is stored, and deleting makes room."""
    async with opened(own_server.url, prefix) as store:
        for batch in range(20):
            big = [turn(f"b{batch}-{number}", text="x" * 50_000) for number in range(10)]
            await store.append_turns("big", big, create=header() if batch == 0 else None)
        await store.append_turns("s", [turn("a")], create=header())
        own_server.ask("CONFIG", "SET", "lazyfree-lazy-user-del", "no")  # or deleting makes room a little later
        own_server.ask("CONFIG", "SET", "maxmemory", "8mb")
        with pytest.raises(StoreFullError):
            await store.append_turns("s", [turn("b")], metadata={"k": 1})
        with pytest.raises(StoreFullError):
            await store.append_turns("new", [turn("b")], create=header())
        assert [each.id for each in await store.get_turns("s")] == ["a"]
        assert await store.list_ids() == ["big", "s"]
        assert await store.delete("big")
        assert (await store.append_turns("s", [turn("b")])).added == 1


async def test_no_access_is_a_typed_error(own_server: RunningServer, prefix: str) -> None:
    """A wrong password and a missing permission are told apart, and neither is tried again."""
    own_server.ask("ACL", "SETUSER", "reader", "on", ">secret", "~*", "+@read", "+hello", "+client", "+info", "+script")
    with pytest.raises(AuthenticationError) as caught:
        async with opened(f"redis://reader:wrong@127.0.0.1:{own_server.port}", prefix):
            pass
    assert "wrong" not in str(caught.value)
    with pytest.raises(PermissionDeniedError):
        async with opened(f"redis://reader:secret@127.0.0.1:{own_server.port}", prefix):
            pass


async def test_nobody_at_the_port_is_unavailable(prefix: str) -> None:
    """A refused connection has no unknown outcome."""
    with pytest.raises(StoreUnavailableError) as caught:
        async with opened("redis://127.0.0.1:1", prefix, retry_for=Seconds(0.05)):
            pass
    assert not caught.value.outcome_unknown


# -- damage -----------------------------------------------------------------------------------


async def test_damage_is_named_and_hides_no_other_turn(store: RedisStore, server_url: str, prefix: str) -> None:
    """A flipped bit in a turn, in the head or in metadata, a lost turn, a key of another type."""
    await store.append_turns("s", [turn(f"t{number}") for number in range(4)], create=header(metadata={"k": 1}))
    own = f"{{{prefix}:0}}:~:s:s:"
    async with Redis.from_url(server_url) as raw:
        intact = await raw.lindex(own + "turns", 2)
        assert isinstance(intact, bytes)
        await raw.lset(own + "turns", 2, intact.replace(b"hello", b"hellO"))
        with pytest.raises(CorruptRecordError, match="turn 2"):
            await store.load("s")
        rest = await store.load("s", damaged="skip")
        assert rest is not None
        assert [each.id for each in rest.turns] == ["t0", "t1", "t3"]
        assert rest.damage is not None
        with pytest.raises(CorruptRecordError, match="turn 2"):
            await store.truncate("s", "t1")
        await raw.lset(own + "turns", 2, intact)
        assert len(await store.get_turns("s")) == 4

        await raw.ltrim(own + "turns", 0, 2)
        with pytest.raises(CorruptRecordError, match="4 turns expected, 3 found"):
            await store.get_turns("s")
        await raw.hset(own + "head", "status", "error")
        for reading in (store.load("s"), store.append_turns("s", [turn("x")]), store.list_meta()):
            with pytest.raises(CorruptRecordError, match="the head"):
                await reading
        await raw.delete(own + "turns")
        await raw.set(own + "turns", "text")
        with pytest.raises(CorruptRecordError):
            await store.load("s")
        assert await store.delete("s")


def _info(server: RunningServer, section: str = "replication") -> bytes:
    with server.client() as client:
        client.response_callbacks.pop("INFO", None)
        answer = client.execute_command("INFO", section)
    assert isinstance(answer, bytes)
    return answer
