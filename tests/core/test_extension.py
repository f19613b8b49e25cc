"""State that extensions keep in a session, and the session that an extension finds itself in."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncIterator
from typing import Any

import pytest

from zidane_core import ContentTooLargeError, InvalidContentError, InvalidIdError, create_session, load_session
from zidane_core.memory import MemoryStore
from zidane_core.session import (
    EXTENSION_ITEM_MAX_BYTES,
    EXTENSION_STATE_MAX_BYTES,
    Session,
    current_extension_session,
    delete_extension_session_state,
    extension_session,
    get_extension_session_state,
    set_extension_session_state,
)

UNSAFE = ["", "__proto__", "constructor", "prototype", "a/b", "a\0b", "x" * 513, "\ud800"]


@pytest.fixture
async def session(store: MemoryStore) -> Session:
    return await create_session(store, id="s")


async def test_state_is_saved_at_once_and_read_as_a_copy(store: MemoryStore, session: Session) -> None:
    """Neither the given value nor the read one is the session's own."""
    value: dict[str, Any] = {"items": [1]}
    await set_extension_session_state(session, "todo", "list", value)
    value["items"].append(2)
    read = get_extension_session_state(session, "todo", "list")
    read["items"].append(3)
    other = await load_session(store, "s")
    for each in (session, other):
        assert get_extension_session_state(each, "todo", "list") == {"items": [1]}
        assert get_extension_session_state(each, "todo", "other") is None
        assert get_extension_session_state(each, "other", "list") is None


async def test_two_windows_that_set_different_items_both_keep_theirs(store: MemoryStore, session: Session) -> None:
    await set_extension_session_state(session, "a", "k", 1)
    other = await load_session(store, "s")
    await set_extension_session_state(other, "a", "k2", 2)
    await set_extension_session_state(session, "b", "k", 3)
    again = await load_session(store, "s")
    assert [get_extension_session_state(again, *names) for names in (("a", "k"), ("a", "k2"), ("b", "k"))] == [1, 2, 3]


async def test_deleting_removes_the_value_here_and_in_the_store(store: MemoryStore, session: Session) -> None:
    await set_extension_session_state(session, "a", "k", 1)
    await delete_extension_session_state(session, "a", "k")
    await delete_extension_session_state(session, "a", "k")
    stored = await store.load("s")
    assert stored is not None
    assert (stored.metadata, dict(session.metadata)) == ({}, {})


async def test_without_a_session_nothing_happens() -> None:
    await set_extension_session_state(None, "a", "k", 1)
    await delete_extension_session_state(None, "a", "k")
    assert get_extension_session_state(None, "a", "k") is None


async def test_without_a_store_state_is_kept_in_memory() -> None:
    session = await create_session()
    await set_extension_session_state(session, "a", "k", 1)
    assert get_extension_session_state(session, "a", "k") == 1


@pytest.mark.parametrize("name", UNSAFE)
async def test_unsafe_names_are_refused_and_read_as_nothing(session: Session, name: str) -> None:
    for names in ((name, "k"), ("a", name)):
        with pytest.raises(InvalidIdError):
            await set_extension_session_state(session, *names, 1)
        with pytest.raises(InvalidIdError):
            await delete_extension_session_state(session, *names)
        assert get_extension_session_state(session, *names) is None
    assert session.metadata == {}


async def test_an_item_has_a_limit_in_bytes_of_json(session: Session) -> None:
    """Two bytes of it are the quotes; a letter with an umlaut takes two."""
    await set_extension_session_state(session, "a", "k", "x" * (EXTENSION_ITEM_MAX_BYTES - 2))
    await set_extension_session_state(session, "a", "k", "ü" * (EXTENSION_ITEM_MAX_BYTES // 2 - 1))
    for too_large in ("x" * (EXTENSION_ITEM_MAX_BYTES - 1), "ü" * (EXTENSION_ITEM_MAX_BYTES // 2)):
        with pytest.raises(ContentTooLargeError):
            await set_extension_session_state(session, "a", "k", too_large)
    assert get_extension_session_state(session, "a", "k")[0] == "ü"


async def test_all_items_together_have_a_limit(session: Session) -> None:
    """Replacing one counts it once."""
    item = "x" * (EXTENSION_ITEM_MAX_BYTES - 2)
    for number in range(EXTENSION_STATE_MAX_BYTES // EXTENSION_ITEM_MAX_BYTES):
        await set_extension_session_state(session, f"extension {number}", "k", item)
    await set_extension_session_state(session, "extension 0", "k", item)
    with pytest.raises(ContentTooLargeError, match="all extensions"):
        await set_extension_session_state(session, "one more", "k", 1)
    await delete_extension_session_state(session, "extension 0", "k")
    await set_extension_session_state(session, "one more", "k", 1)


async def test_what_json_cannot_hold_is_refused(session: Session) -> None:
    with pytest.raises(InvalidContentError):
        await set_extension_session_state(session, "a", "k", object())  # type: ignore[arg-type]
    assert session.metadata == {}


# -- the session of an extension --------------------------------------------------------------------


async def test_the_bound_session_is_seen_inside_and_in_tasks_started_there(session: Session) -> None:
    other = await create_session()
    assert current_extension_session() is None
    with extension_session(session) as bound:
        assert bound is current_extension_session() is session
        started = asyncio.create_task(_see())
        with extension_session(other):
            assert current_extension_session() is other
        with extension_session(None):
            assert current_extension_session() is None
        assert current_extension_session() is session
    assert current_extension_session() is None
    assert await started is session


async def test_concurrent_agents_do_not_see_each_others_session() -> None:
    async def agent(number: int) -> None:
        mine = await create_session(id=str(number))
        with extension_session(mine):
            for _ in range(3):
                await asyncio.sleep(0)
                assert current_extension_session() is mine

    await asyncio.gather(*(agent(number) for number in range(10)))
    assert current_extension_session() is None


async def test_leaving_from_another_context_is_tolerated(session: Session) -> None:
    """As a generator does that is closed by another task than the one that began it."""

    async def events() -> AsyncIterator[Session | None]:
        with extension_session(session):
            yield current_extension_session()

    stream = events()
    assert await asyncio.create_task(anext(stream)) is session
    await asyncio.create_task(stream.aclose())  # type: ignore[attr-defined]
    binding = extension_session(session)
    contextvars.copy_context().run(binding.__enter__)
    binding.__exit__(None, None, None)
    assert current_extension_session() is None


async def _see() -> Session | None:
    return current_extension_session()
