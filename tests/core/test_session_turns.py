"""What a session shows is what is stored, whoever else holds the same objects."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from zidane_core import (
    UNSET,
    InvalidContentError,
    SessionExistsError,
    SessionNotFoundError,
    SessionRun,
    SessionTurn,
    StoreUnavailableError,
    TurnConflictError,
    create_session,
    load_session,
    open_session,
    text,
)
from zidane_core.memory import MemoryStore
from zidane_core.store import Operation

from .troubled_stores import Recording, Troubled, failing_once

Turn = Callable[..., SessionTurn]


async def ids_in(store: MemoryStore, session_id: str = "s") -> list[str]:
    return [turn.id for turn in await store.get_turns(session_id)]


async def test_a_session_keeps_what_a_reload_gives(turn: Turn) -> None:
    """Changing the given objects after the call changes neither the session nor the store."""
    store = await MemoryStore(clock=lambda: 5).__aenter__()
    block = text("hello")
    given = SessionTurn(id="t", role="user", content=[block], created_at=1)
    run = SessionRun(id="r", status="completed", prompt="", started_at=1, total_usage={"input": 1})
    metadata = {"tags": ["a"]}
    session = await create_session(store, id="s", clock=lambda: 5)
    await session.append_turns([given], run=run, metadata=metadata)
    block["text"] = "changed"
    run.total_usage["input"] = 99  # type: ignore[index]
    metadata["tags"].append("b")
    loaded = await load_session(store, "s")
    assert loaded is not None
    for each in (session, loaded):
        assert each.turns[0].content == [text("hello")]
        assert each.runs[0].total_usage == {"input": 1}
        assert each.metadata == {"tags": ["a"]}
    assert session.to_json() == loaded.to_json()


async def test_what_a_session_shows_cannot_be_written_to(store: MemoryStore, turn: Turn) -> None:
    """Turns, runs and metadata are views: they follow the session, and are no way around its methods."""
    session = await create_session(store, id="s", metadata={"a": 1})
    turns = session.turns
    await session.append_turns([turn("t1")])
    assert [each.id for each in turns] == ["t1"]
    assert not hasattr(turns, "append")
    with pytest.raises(TypeError):
        turns[0] = turn("t2")  # type: ignore[index]
    with pytest.raises(TypeError):
        session.metadata["a"] = 2  # type: ignore[index]
    session.turns[:].append(turn("t3"))  # type: ignore[attr-defined]
    assert len(session.turns) == 1


async def test_concurrent_appends_end_up_in_the_same_order_here_and_in_the_store(turn: Turn) -> None:
    """Whatever the store's own pace for each of them."""

    async def dawdle(operation: object) -> None:
        nonlocal waits
        waits = (waits * 7 + 3) % 5
        for _ in range(waits):
            await asyncio.sleep(0)

    waits = 1
    async with MemoryStore() as store:
        session = await create_session(Troubled(store, before=dawdle, after=dawdle), id="s")
        await asyncio.gather(*(session.append_turns([turn(f"t{n}a"), turn(f"t{n}b")]) for n in range(20)))
        shown = [each.id for each in session.turns]
        assert len(shown) == 40
        assert shown == await ids_in(store)


async def test_a_refresh_does_not_lose_what_is_appended_meanwhile(store: MemoryStore, turn: Turn) -> None:
    """It and a write wait for each other: what it read is not older than what it puts in place."""

    async def dawdle(operation: Operation) -> None:
        for _ in range(20 if operation.name == "load" else 0):
            await asyncio.sleep(0)

    session = await create_session(Troubled(store, after=dawdle), id="s")
    await session.append_turns([turn("t0")])
    await asyncio.gather(session.refresh(), session.append_turns([turn("t1")]))
    assert [each.id for each in session.turns] == await ids_in(store) == ["t0", "t1"]


async def test_repeating_an_append_adds_nothing(store: MemoryStore, turn: Turn) -> None:
    """Neither to the session nor to the store; with other content it is a conflict, and changes nothing."""
    session = await create_session(store, id="s")
    await session.append_turns([turn("t1"), turn("t2")])
    await session.append_turns([turn("t1"), turn("t2"), turn("t3")])
    assert [each.id for each in session.turns] == await ids_in(store) == ["t1", "t2", "t3"]
    with pytest.raises(TurnConflictError):
        await session.append_turns([turn("t4"), turn("t1", "other")])
    assert [each.id for each in session.turns] == await ids_in(store) == ["t1", "t2", "t3"]


async def test_what_json_cannot_hold_is_refused_and_leaves_the_session_as_it_was(
    store: MemoryStore, turn: Turn
) -> None:
    """Nothing of the batch is kept, and the session is not created."""
    session = await create_session(store, id="s")
    with pytest.raises(InvalidContentError):
        await session.append_turns([turn("t1"), turn("t2", content=[{"type": "text", "text": object()}])])
    assert session.is_empty
    assert await store.load("s") is None
    with pytest.raises(InvalidContentError):
        session.set_meta("when", {1: 2})
    assert session.metadata == {}


async def test_metadata_that_comes_with_turns_is_shown_and_can_remove_keys(store: MemoryStore, turn: Turn) -> None:
    session = await create_session(store, id="s", metadata={"a": 1, "b": 2})
    await session.append_turns([turn("t1")], metadata={"a": UNSET, "c": None})
    loaded = await load_session(store, "s")
    assert loaded is not None
    assert session.metadata == loaded.metadata == {"b": 2, "c": None}


# -- creation -----------------------------------------------------------------------------------


async def test_nothing_is_stored_before_the_first_write(store: MemoryStore) -> None:
    """And then the header, whatever it is that writes first."""
    session = await create_session(store, id="s", agent_id="a", project_root="/p", metadata={"k": 1})
    assert await store.load("s") is None
    await session.update_status("completed")
    stored = await store.load("s")
    assert stored is not None
    assert (stored.agent_id, stored.project_root, stored.metadata) == ("a", "/p", {"k": 1})
    assert session.rev == stored.rev


@pytest.mark.parametrize("error", [StoreUnavailableError("gone", outcome_unknown=True), asyncio.CancelledError()])
async def test_the_first_write_can_be_repeated_when_its_answer_was_lost(
    store: MemoryStore, turn: Turn, error: BaseException
) -> None:
    """The creation goes along again, and is recognised."""
    session = await create_session(Troubled(store, after=failing_once("append_turns", error=lambda: error)), id="s")
    with pytest.raises(type(error)):
        await session.append_turns([turn("t1")])
    await session.append_turns([turn("t1")])
    await session.append_turns([turn("t2")])
    assert [each.id for each in session.turns] == await ids_in(store) == ["t1", "t2"]


async def test_saving_after_a_lost_first_answer_erases_nothing(store: MemoryStore, turn: Turn) -> None:
    """Neither the turns whose answer was lost, nor what another window added to them."""
    session = await create_session(Troubled(store, after=failing_once("append_turns")), id="s")
    with pytest.raises(StoreUnavailableError):
        await session.append_turns([turn("t1")])
    other = await load_session(store, "s")
    assert other is not None
    await other.append_turns([turn("t2")])
    session.set_meta("title", "kept")
    await session.save()
    assert await ids_in(store) == ["t1", "t2"]
    stored = await store.load("s")
    assert stored is not None
    assert stored.metadata == {"title": "kept"}


async def test_two_hosts_that_create_one_id_do_not_share_it(store: MemoryStore, turn: Turn) -> None:
    """The second is told, and the first one's turns are untouched."""
    first, second = await create_session(store, id="s"), await create_session(store, id="s")
    await first.append_turns([turn("t1")])
    for attempt in (second.append_turns([turn("t2")]), second.save(), second.update_status("completed")):
        with pytest.raises(SessionExistsError):
            await attempt
    assert second.is_empty
    assert await ids_in(store) == ["t1"]


async def test_two_hosts_that_open_one_id_at_once_join_one_conversation(store: MemoryStore, turn: Turn) -> None:
    """Whatever the second one writes first, it goes to the first one's session, with that one's header."""
    for number, write in enumerate(
        (
            lambda session: session.append_turns([turn("t2")]),
            lambda session: session.save(),
            lambda session: session.update_status("completed"),
            lambda session: session.add_artifact({"kind": "file", "uri": "u", "label": "l"}),
            lambda session: session.send_request("r", fingerprint="f").__aenter__(),
            lambda session: session.run("hello").__aenter__(),
        )
    ):
        session_id = f"s{number}"
        first = await open_session(store, session_id, project_root="/first", metadata={"by": "first"})
        second = await open_session(store, session_id, project_root="/second", metadata={"by": "second"})
        await first.append_turns([turn("t1")])
        await write(second)
        assert second.turns[0].id == "t1"
        assert (second.project_root, second.metadata) == ("/first", {"by": "first"})
        stored = await store.load(session_id)
        assert stored is not None
        assert stored.metadata == {"by": "first"}


async def test_a_session_deleted_meanwhile_is_not_resurrected(store: MemoryStore, turn: Turn) -> None:
    """Every kind of write says so, inside a run and outside."""
    session = await create_session(store, id="s")
    run_error = None
    try:
        async with session.run("hello", run_id="r") as run:
            assert await store.delete("s")
            for write in (
                lambda: run.append(turn("t1")),
                lambda: session.append_turns([turn("t2")]),
                lambda: session.update_run(run.record),
                lambda: session.update_status("completed"),
                lambda: session.add_artifact({"kind": "file", "uri": "u", "label": "l"}),
                lambda: session.save_meta_keys(["a"]),
                session.save,
                session.refresh,
            ):
                with pytest.raises(SessionNotFoundError):
                    await write()
                assert await store.load("s") is None
    except SessionNotFoundError as error:
        run_error = error
    assert run_error is not None, "the end of the run could not be stored, and nobody was told"
    with pytest.raises(SessionNotFoundError):
        await session.run("again").__aenter__()
    session.set_turns([turn("t9")])
    with pytest.raises(SessionNotFoundError):
        await session.save()
    assert await store.load("s") is None


async def test_a_session_without_a_store_lives_in_memory(turn: Turn) -> None:
    """All but saving works."""
    session = await create_session(clock=lambda: 50)
    await session.append_turns([turn("t1")])
    await session.update_status("completed")
    assert (len(session.turns), session.status, session.updated_at, session.rev) == (1, "completed", 50, 0)
    assert await session.add_artifact({"kind": "file", "uri": "u", "label": "l"}) is None
    assert await session.list_artifacts() == []
    for refused in (session.save, session.refresh, lambda: session.save_meta_keys(["a"])):
        with pytest.raises(Exception, match="no store"):
            await refused()


async def test_an_append_costs_one_call_of_the_store(store: MemoryStore, turn: Turn) -> None:
    recording = Recording(store)
    session = await create_session(recording, id="s")
    for number in range(5):
        await session.append_turns([turn(f"t{number}")])
    assert recording.calls == {"append_turns": 5}
