"""Listeners of a session, and what counts as activity."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from zidane_core import (
    SessionTurn,
    create_session,
    load_session,
)
from zidane_core.memory import MemoryStore
from zidane_core.session import Session

Turn = Callable[..., SessionTurn]


@pytest.fixture
async def session(store: MemoryStore, turn: Turn) -> Session:
    session = await create_session(store, id="s", metadata={"a": 1, "b": 2})
    await session.append_turns([turn("t1"), turn("t2")])
    return session


async def loaded(store: Any) -> Session:
    found = await load_session(store, "s")
    assert found is not None
    return found


@pytest.mark.parametrize("ahead", [0, 600_000, -600_000])
async def test_a_rename_is_no_activity(turn: Turn, ahead: int) -> None:
    """`touch=False` leaves `updated_at` alone through any number of saves, however wrong this host's clock is."""
    now = 1_000_000
    async with MemoryStore(clock=lambda: now) as store:
        session = await create_session(store, id="s", clock=lambda: now + ahead)
        await session.append_turns([turn("t1")])
        for now in (2_000_000, 3_000_000):
            shown = session.updated_at
            session.set_meta("title", str(now), touch=False)
            session.delete_meta("gone", touch=False)
            session.set_turns([turn(f"t{now}")])
            await session.save_meta_keys(["title"])
            await session.save()
            await session.save()
            await session.add_artifact({"kind": "file", "uri": "u", "label": "l"})
            row = await store.get_meta("s")
            assert row is not None
            assert row.updated_at == 1_000_000
            assert session.updated_at in {shown, row.updated_at}


async def test_changing_metadata_is_activity_once_it_is_saved(turn: Turn) -> None:
    """By this host's clock, at the time of the change."""
    now = 1_000
    async with MemoryStore(clock=lambda: now) as store:
        session = await create_session(store, id="s", clock=lambda: now)
        await session.append_turns([turn("t1")])
        now = 2_000
        session.set_meta("plan", "done")
        now = 3_000
        await session.refresh()
        await session.save()
        row = await store.get_meta("s")
        assert row is not None
        assert (session.updated_at, row.updated_at) == (2_000, 2_000)


async def test_listeners_of_metadata_are_called_in_order_until_they_unsubscribe(session: Session) -> None:
    heard: list[tuple[str, str, Any]] = []
    first = session.on_meta(lambda key, value: heard.append(("first", key, value)))
    session.on_meta(lambda key, value: heard.append(("second", key, value)))
    session.set_meta("a", [1])
    first()
    first()
    session.delete_meta("a")
    assert heard == [("first", "a", [1]), ("second", "a", [1]), ("second", "a", None)]


async def test_unsubscribing_twice_leaves_a_second_subscription_alone(session: Session) -> None:
    heard: list[str] = []

    def listener(key: str, value: Any) -> None:
        heard.append(key)

    first = session.on_meta(listener)
    session.on_meta(listener)
    first()
    first()
    session.set_meta("a", 1)
    assert heard == ["a"]


async def test_saving_awaits_its_listeners_and_passes_on_their_error(store: MemoryStore, session: Session) -> None:
    """One after another; those behind the one that fails are not called. What was saved is saved."""
    heard: list[str] = []

    async def slow() -> None:
        await asyncio.sleep(0)
        heard.append("slow")

    def failing() -> None:
        raise LookupError("listener")

    session.on_saved(slow)
    session.on_saved(lambda: heard.append("quick"))
    unsubscribe = session.on_saved(failing)
    session.on_saved(lambda: heard.append("never"))
    session.set_meta("a", 5)
    with pytest.raises(LookupError, match="listener"):
        await session.save()
    assert heard == ["slow", "quick"]
    assert (await loaded(store)).metadata["a"] == 5
    unsubscribe()
    await session.save()
    assert heard == ["slow", "quick", "slow", "quick", "never"]
