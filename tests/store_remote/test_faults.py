"""What a bad network does to a call: nothing is lost, nothing doubled, and no failure passes for an absence."""

from __future__ import annotations

import random
from collections.abc import Callable
from uuid import uuid4

import pytest
from msgspec.structs import replace

from zidane_core.errors import AuthenticationError, StoreBusyError, StoreUnavailableError
from zidane_core.memory import MemoryStore
from zidane_core.records import SessionHeader, SessionTurn
from zidane_core.store import Capabilities, Guard, Written
from zidane_store_remote import RemoteStore
from zidane_store_remote.server import create_app

from .fault_proxy import FAULTS_AFTER, FAULTS_BEFORE, FaultProxy, faulty
from .serving import served

Turn = Callable[..., SessionTurn]
Header = Callable[..., SessionHeader]

LASTING = {"500", "html 404", "bare 404"}
"""Answers that no second try makes better."""


def impatient(proxy: FaultProxy, **options: object) -> RemoteStore:
    return RemoteStore(proxy.url, **{"timeout": 6, "retry_for": 6, **options})  # type: ignore[arg-type] # as a host may write it


@pytest.mark.parametrize("fault", [*FAULTS_AFTER, *sorted({*FAULTS_BEFORE} - LASTING)])
async def test_a_write_takes_effect_once_whatever_becomes_of_its_answer(
    fault: str, library: str, memory_server: str, turn: Turn, header: Header
) -> None:
    """One fault in the way of an append: the call succeeds, with the first answer, and the turn is there once."""
    name = f"{fault}/{uuid4().hex}"
    async with faulty(memory_server) as proxy, impatient(proxy, library=library) as store:
        created = await store.append_turns(name, [turn("t0")], create=header())
        proxy.plan([fault])
        guard = Guard(expected_rev=created.rev)  # it would conflict with itself, were it taken for another call
        written = await store.append_turns(name, [turn("t1")], guard=guard)
        assert proxy.seen[0] == fault
        assert written == Written(rev=written.rev, previous=created.rev, added=1)
        session = await store.load(name)
        assert session is not None
        assert [each.id for each in session.turns] == ["t0", "t1"]
        assert session.rev == written.rev


@pytest.mark.parametrize("fault", [*FAULTS_AFTER, *FAULTS_BEFORE])
async def test_a_failed_read_is_an_error_and_never_an_absence(
    fault: str, memory_server: str, turn: Turn, header: Header
) -> None:
    """Where the fault stays, every read is a typed error: none answers None, False or an empty list."""
    name = uuid4().hex
    async with RemoteStore(memory_server) as direct:
        await direct.append_turns(name, [turn("t0")], create=header())
    async with faulty(memory_server) as proxy, impatient(proxy, timeout=1.5, retry_for=0.2) as store:
        for read in (store.load, store.get_turns, store.get_meta):
            proxy.plan([fault] * 5_000)
            with pytest.raises(StoreUnavailableError) as caught:
                await read(name)
            assert not caught.value.outcome_unknown, "a read changes nothing"
        proxy.plan([fault] * 5_000)
        with pytest.raises(StoreUnavailableError):
            await store.list_ids()


async def test_only_the_servers_own_word_makes_a_session_absent(memory_server: str) -> None:
    """A problem document says so: None. A bare 404, an HTML page, an empty 200 do not."""
    async with faulty(memory_server) as proxy, impatient(proxy) as store:
        assert await store.load("never made") is None
        assert await store.get_meta("never made") is None
        for fault in ("bare 404", "html 404"):
            proxy.plan([fault])
            with pytest.raises(StoreUnavailableError, match="no zidane server answered 404"):
                await store.load("never made")


async def test_a_write_without_an_answer_says_that_it_may_have_happened(
    memory_server: str, turn: Turn, header: Header
) -> None:
    """`outcome_unknown` tells a call that surely did nothing from one that may have; repeating it is harmless."""
    name = uuid4().hex
    async with faulty(memory_server) as proxy, impatient(proxy, retry_for=0.4) as store:
        await store.append_turns(name, [], create=header())
        proxy.plan(["drop"] * 5_000)
        with pytest.raises(StoreUnavailableError) as unknown:
            await store.append_turns(name, [turn("t1")])
        assert (unknown.value.outcome_unknown, unknown.value.retryable) == (True, True)
        proxy.plan([])
        assert (await store.append_turns(name, [turn("t1")])).added == 0
        proxy.plan(["429"] * 5_000)
        with pytest.raises(StoreBusyError) as busy:
            await store.append_turns(name, [turn("t2")])
        assert not busy.value.outcome_unknown
        proxy.plan(["drop", *["429"] * 5_000])
        with pytest.raises(StoreUnavailableError) as both:
            await store.append_turns(name, [turn("t3")])
        assert both.value.outcome_unknown, "an earlier try may have taken effect, whatever the last one says"


class Forgetful(MemoryStore):
    """Keeps no operations."""

    @property
    def capabilities(self) -> Capabilities:
        return replace(super().capabilities, operations=False)


@pytest.mark.parametrize("fault", ["drop", "cut", "502"])
async def test_where_no_operations_are_kept_an_unsafe_write_is_not_repeated(fault: str, header: Header) -> None:
    """A delete that may have happened is told as such, instead of being sent again and answered with False."""
    with served(create_app(Forgetful(), tokens=None, opens_store=True)) as url:
        async with faulty(url) as proxy, impatient(proxy) as store:
            assert not store.capabilities.operations
            await store.append_turns("s", [], create=header())
            proxy.plan([fault])
            with pytest.raises(StoreUnavailableError) as caught:
                await store.delete("s")
            assert caught.value.outcome_unknown
            assert proxy.seen == [fault]
            proxy.plan(["refuse"])
            assert await store.load("s") is None or fault == "502", "reads are repeated all the same"
            proxy.plan(["429"])
            await store.delete("s")
            assert proxy.seen == ["429", "none"], "what surely did nothing may be repeated"


async def test_a_dead_server_is_a_typed_error_in_bounded_time(unused_port: int) -> None:
    """Nobody listens: after `retry_for` the opening fails, and says that nothing happened."""
    with pytest.raises(StoreUnavailableError) as caught:
        async with RemoteStore(f"http://127.0.0.1:{unused_port}", retry_for=0.3):
            pass
    assert (caught.value.retryable, caught.value.outcome_unknown) == (True, False)


async def test_a_stranger_that_asks_for_credentials_is_an_authentication_error(memory_server: str) -> None:
    """A proxy on the way that wants a login is told as such."""
    async with faulty(memory_server) as proxy, impatient(proxy) as store:
        proxy.plan(["401"])
        with pytest.raises(AuthenticationError):
            await store.load("s")


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(2, 12))])
async def test_a_storm_of_faults_loses_and_doubles_nothing(
    seed: int, memory_server: str, turn: Turn, header: Header
) -> None:
    """60 appends with 40 % faults among the exchanges: every turn is there once, in order, at its own revision."""
    dice, name = random.Random(seed), uuid4().hex
    quick = sorted({*FAULTS_AFTER, *FAULTS_BEFORE} - LASTING - {"stall"})
    async with faulty(memory_server) as proxy, impatient(proxy, timeout=20, retry_for=20) as store:
        revs = [(await store.append_turns(name, [], create=header())).rev]
        for number in range(60):
            proxy.faults = [dice.choice(quick) for _ in range(3) if dice.random() < 0.4]
            written = await store.append_turns(name, [turn(f"t{number}")], guard=Guard(expected_rev=revs[-1]))
            assert (written.added, written.previous) == (1, revs[-1])
            revs.append(written.rev)
        proxy.plan([])
        assert [each.id for each in await store.get_turns(name)] == [f"t{number}" for number in range(60)]
        assert revs == sorted(set(revs))
