"""Cancelled calls cost nothing but themselves: no pool slot, no later call, no history."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from uuid import uuid4

import pytest

from zidane_core.records import SessionHeader, SessionTurn
from zidane_store_remote import RemoteStore

Turn = Callable[..., SessionTurn]
Header = Callable[..., SessionHeader]


async def cancelled_storm(store: RemoteStore, name: str, calls: int, turn: Turn, seed: int) -> int:
    """`calls` appends and loads, 16 at a time, nine in ten cancelled after a random number of loop steps."""
    dice = random.Random(seed)
    cancelled = 0

    async def one(number: int) -> None:
        nonlocal cancelled
        call = store.append_turns(name, [turn(f"t{number}")]) if number % 2 else store.load(name)
        task = asyncio.ensure_future(call)
        if dice.random() < 0.9:
            for _ in range(dice.randrange(25)):
                await asyncio.sleep(0)
            if dice.random() < 0.3:  # some while they wait for the network
                await asyncio.sleep(dice.random() / 1000)
            task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            cancelled += 1

    for first in range(0, calls, 16):
        await asyncio.gather(*(one(number) for number in range(first, min(first + 16, calls))))
    return cancelled


async def check_storm(store: RemoteStore, calls: int, good: int, turn: Turn, header: Header) -> int:
    name = uuid4().hex
    await store.append_turns(name, [], create=header())
    cancelled = await cancelled_storm(store, name, calls, turn, seed=calls)
    for number in range(good):
        assert (await store.append_turns(name, [turn(f"good{number}")])).added == 1
    stored = [each.id for each in await store.get_turns(name)]
    assert len(stored) == len(set(stored)), "a cancelled append took effect twice"
    assert set(stored) >= {f"good{number}" for number in range(good)}
    return cancelled


async def test_cancelled_calls_lose_no_slot_of_the_pool(
    library: str, memory_server: str, turn: Turn, header: Header
) -> None:
    """300 calls, most of them cancelled, over four connections; then 20 good ones, all of which succeed at once."""
    async with RemoteStore(memory_server, library=library, max_connections=4, retry_for=0) as store:
        client = store._transport._client
        assert await check_storm(store, 300, 20, turn, header) > 40, (
            "too few were cancelled for the test to say anything"
        )
        assert store._transport._client is client, "no pool had to be given up"


@pytest.mark.thorough
async def test_2000_calls_of_which_nine_in_ten_are_cancelled(
    library: str, memory_server: str, turn: Turn, header: Header
) -> None:
    """The same at the size of the issue: 2,000 calls, then 100 good ones."""
    async with RemoteStore(memory_server, library=library, max_connections=8, retry_for=0) as store:
        client = store._transport._client
        assert await check_storm(store, 2_000, 100, turn, header) > 500
        assert store._transport._client is client


async def test_a_cancelled_write_is_finished_and_repeating_it_is_harmless(
    library: str, memory_server: str, turn: Turn, header: Header
) -> None:
    """Cancelled at many of the loop's first steps: the turn is stored at most once, and once when repeated."""
    name = uuid4().hex
    async with RemoteStore(memory_server, library=library) as store:
        await store.append_turns(name, [], create=header())
        for steps in range(0, 40, 3):
            task = asyncio.ensure_future(store.append_turns(name, [turn(f"t{steps}")]))
            for _ in range(steps):
                await asyncio.sleep(0)
            task.cancel()
            task.cancel()
            await asyncio.wait([task])
            await store.append_turns(name, [turn(f"t{steps}")])
        assert [each.id for each in await store.get_turns(name)] == [f"t{steps}" for steps in range(0, 40, 3)]


async def test_closing_during_calls_leaves_no_task_behind(
    library: str, memory_server: str, turn: Turn, header: Header
) -> None:
    """What is still in flight for callers that left is ended by `aclose`, not forgotten."""
    before = asyncio.all_tasks()
    async with RemoteStore(memory_server, library=library) as store:
        await store.append_turns(uuid4().hex, [], create=header())
        tasks = [asyncio.ensure_future(store.list_ids()) for _ in range(10)]
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    assert asyncio.all_tasks() == before
