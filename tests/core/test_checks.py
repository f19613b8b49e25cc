"""What every store refuses before any work: ids, labels and counts."""

from __future__ import annotations

from typing import Any

import pytest

from zidane_core import (
    Guard,
    InvalidContentError,
    InvalidIdError,
    MemoryStore,
    SessionData,
    SessionFilter,
    SessionHeader,
    StoreClosedError,
)
from zidane_core.store.checks import check_id

LEGAL = ["a", " ", "..", "a/b", "{a}", "*", "%_", "a:turns:1", "É", "\U0001f600", "\n", "x" * 512, "\U0001f600" * 512]


@pytest.mark.parametrize("value", LEGAL, ids=ascii)
async def test_any_well_formed_text_is_a_legal_id(value: str, turn: Any, header: Any) -> None:
    async with MemoryStore() as store:
        await store.append_turns(value, [turn(value)], create=header())
        assert await store.list_ids() == [value]
        assert (await store.get_turns(value))[0].id == value


@pytest.mark.parametrize("value", ["", "a\0b", "\ud83d", "x" * 513, 5, None, b"a"], ids=lambda each: ascii(each)[:20])
async def test_anything_else_is_refused_by_reads_and_writes_alike(value: Any, turn: Any, header: Any) -> None:
    with pytest.raises(InvalidIdError):
        check_id("the id", value)
    async with MemoryStore() as store:
        for call in (
            store.load(value),
            store.delete(value),
            store.append_turns(value, [], create=header()),
            store.append_turns("s", [turn(value)], create=header()),
        ):
            with pytest.raises(InvalidIdError):
                await call
        assert await store.list_ids() == []


async def test_counts_are_numbers_zero_is_none_of_it_and_none_is_all(turn: Any, header: Any) -> None:
    async with MemoryStore() as store:
        await store.append_turns("s", [turn(f"t{at}") for at in range(3)], create=header())
        assert await store.get_turns("s", limit=0) == []
        assert await store.get_turns("s", last=0) == []
        assert len(await store.get_turns("s", limit=None)) == 3
        assert await store.list_ids(SessionFilter(), limit=0) == []
        for call in (store.get_turns("s", -1), store.get_turns("s", limit=-1), store.list_ids(limit=-1)):
            with pytest.raises(ValueError, match="negative"):
                await call


async def test_a_label_that_listings_could_not_filter_by_is_refused(turn: Any, header: Any) -> None:
    async with MemoryStore() as store:
        for label in ("a\0b", "\ud83d"):
            with pytest.raises(InvalidContentError, match=r"\$\.agentId"):
                await store.append_turns("s", [turn("t")], create=header(agent_id=label))


async def test_a_store_that_was_never_opened_says_so() -> None:
    with pytest.raises(StoreClosedError, match="not open yet"):
        await MemoryStore().load("s")


@pytest.mark.parametrize("time", [-1, 2**53, True, 1.5])
async def test_a_time_that_some_backend_could_not_hold_is_refused_by_every_store(time: int) -> None:
    """Milliseconds from 0 to below 2**53: exact in SQLite, in Lua and in JavaScript."""
    async with MemoryStore() as store:
        with pytest.raises(InvalidContentError, match=r"\$\.createdAt"):
            await store.append_turns("s", [], create=SessionHeader(creation_id="c", created_at=time))
        assert await store.load("s") is None


async def test_a_creation_without_a_creation_id_is_recognised_by_its_operation() -> None:
    """The header gets a random creation id at every call; the operation is the same all the same."""
    session = SessionData(id="s", created_at=1, updated_at=1, status="idle", turns=[], runs=[], metadata={})
    async with MemoryStore() as store:
        guard = Guard(op_id="op")
        first = await store.save(session, create=True, guard=guard)
        assert await store.save(session, create=True, guard=guard) == first
