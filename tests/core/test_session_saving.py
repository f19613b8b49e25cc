"""`save` stores what was changed here, and nothing that others wrote is lost by it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from zidane_core import (
    RevisionConflictError,
    SessionRun,
    SessionTurn,
    StoreUnavailableError,
    create_session,
    load_session,
    open_session,
)
from zidane_core.memory import MemoryStore
from zidane_core.session import Session

from .troubled_stores import Recording, Troubled, failing_once

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


async def stored_ids(store: MemoryStore) -> list[str]:
    return [turn.id for turn in await store.get_turns("s")]


async def test_a_refresh_keeps_what_is_not_saved_yet(store: MemoryStore, session: Session, turn: Turn) -> None:
    """A refresh by hand, and the one at the beginning of a run."""
    other = await loaded(store)
    for number, refresh in enumerate((session.refresh, session.run("hello").__aenter__)):
        other.set_meta("b", number)
        await other.save()
        session.set_agent_id(f"agent {number}")
        session.set_meta("a", number)
        session.delete_meta("c")
        await refresh()
        assert (session.agent_id, session.metadata) == (f"agent {number}", {"a": number, "b": number})
        await session.save()
        stored = await store.load("s")
        assert stored is not None
        assert (stored.agent_id, stored.metadata) == (f"agent {number}", {"a": number, "b": number})


async def test_two_windows_that_save_different_keys_both_keep_theirs(store: MemoryStore, session: Session) -> None:
    other = await loaded(store)
    session.set_meta("a", "mine")
    session.delete_meta("b")
    other.set_meta("c", "theirs")
    await session.save()
    await other.save()
    assert (await loaded(store)).metadata == {"a": "mine", "c": "theirs"}


async def test_a_save_leaves_the_status_and_the_turns_of_others_alone(
    store: MemoryStore, session: Session, turn: Turn
) -> None:
    """A window that was opened long ago can rename, and changes nothing else."""
    other = await loaded(store)
    await other.append_turns([turn("t3")])
    await other.update_status("error")
    session.set_meta("title", "new")
    await session.save()
    again = await store.load("s")
    assert again is not None
    assert (again.status, len(again.turns), again.metadata["title"]) == ("error", 3, "new")


async def test_a_save_during_anothers_run_does_not_touch_it(store: MemoryStore, session: Session, turn: Turn) -> None:
    async with session.run("work", run_id="r"):
        other = await loaded(store)
        assert other.status == "running"
        other.set_meta("title", "new")
        await other.save()
        other.set_turns([*other.turns[:1], *other.turns[2:]])
        await other.save()
        stored = await store.load("s")
        assert stored is not None
        assert stored.status == "running"
        assert stored.epoch is not None
    assert session.status == "completed"


async def test_replaced_turns_are_stored_by_the_next_save(store: MemoryStore, session: Session, turn: Turn) -> None:
    edited = turn("t1", "edited")
    session.set_turns([edited, turn("t9")])
    assert await stored_ids(store) == ["t1", "t2"]
    await session.save()
    again = await loaded(store)
    assert list(again.turns) == [edited, turn("t9")]
    assert again.rev == session.rev


async def test_replacing_turns_conflicts_with_an_append_of_others(
    store: MemoryStore, session: Session, turn: Turn
) -> None:
    """Nothing is lost. Refreshing shows theirs, which can be edited and saved then."""
    await (await loaded(store)).append_turns([turn("t3")])
    session.set_turns([turn("t2")])
    session.set_meta("title", "kept")
    for _ in range(2):
        with pytest.raises(RevisionConflictError):
            await session.save()
    assert await stored_ids(store) == ["t1", "t2", "t3"]
    await session.refresh()
    assert [each.id for each in session.turns] == ["t1", "t2", "t3"]
    assert session.metadata["title"] == "kept"
    session.set_turns(session.turns[1:])
    await session.save()
    assert await stored_ids(store) == ["t2", "t3"]
    assert (await loaded(store)).metadata["title"] == "kept"


async def test_an_edit_that_others_overtook_is_not_saved_by_a_run_in_between(
    store: MemoryStore, session: Session, turn: Turn
) -> None:
    """Entering a run reads what is stored, but the edit was made from what was read before."""
    session.set_turns([turn("t2")])
    await (await loaded(store)).append_turns([turn("theirs")])
    async with session.run() as run:
        await run.append(turn("mine"))
    for _ in range(2):
        with pytest.raises(RevisionConflictError):
            await session.save()
    assert await stored_ids(store) == ["t1", "t2", "theirs", "mine"]


async def test_turns_replaced_before_joining_anothers_session_do_not_overwrite_it(
    store: MemoryStore, turn: Turn
) -> None:
    first, second = await open_session(store, "s"), await open_session(store, "s")
    await first.append_turns([turn("t1")])
    second.set_turns([turn("t2")])
    with pytest.raises(RevisionConflictError):
        await second.save()
    await second.refresh()
    assert [each.id for each in second.turns] == await stored_ids(store) == ["t1"]


async def test_replacing_runs_conflicts_with_a_run_of_others(store: MemoryStore, session: Session) -> None:
    other = await loaded(store)
    await other.update_run(SessionRun(id="theirs", status="completed", prompt="", started_at=1))
    session.set_runs([SessionRun(id="mine", status="completed", prompt="", started_at=1)])
    with pytest.raises(RevisionConflictError):
        await session.save()
    assert [run.id for run in (await loaded(store)).runs] == ["theirs"]


async def test_what_moves_only_the_revision_is_no_conflict(store: MemoryStore, session: Session, turn: Turn) -> None:
    """An artifact, a send, and another window's rename do not stand in the way of an edit of the turns."""
    await session.add_artifact({"kind": "file", "uri": "u", "label": "l"})
    async with session.send_request("r", fingerprint="f") as send:
        send.settle(1)
    session.set_turns([turn("t2")])
    await session.add_artifact({"kind": "file", "uri": "u2", "label": "l"})
    other = await loaded(store)
    other.set_meta("title", "theirs")
    await other.save()
    await session.save()
    again = await loaded(store)
    assert [each.id for each in again.turns] == ["t2"]
    assert again.metadata == {"a": 1, "b": 2, "title": "theirs"}
    assert session.metadata == again.metadata


async def test_appending_between_an_edit_and_its_save_is_no_conflict(
    store: MemoryStore, session: Session, turn: Turn
) -> None:
    """The session's own turns go to both: behind what is stored, and behind the edit."""
    session.set_turns([turn("t2")])
    await session.append_turns([turn("t3")])
    assert await stored_ids(store) == ["t1", "t2", "t3"]
    await session.add_artifact({"kind": "file", "uri": "u", "label": "l"})
    await session.save()
    assert await stored_ids(store) == [each.id for each in session.turns] == ["t2", "t3"]


async def test_an_edit_is_kept_through_a_run(store: MemoryStore, session: Session, turn: Turn) -> None:
    """Entering a run takes in what others stored, and heals calls; neither gives up an edit that is not saved yet."""
    other = await loaded(store)
    other.set_meta("title", "theirs")
    await other.save()
    call = turn("t9", role="assistant", content=[{"type": "tool_call", "id": "c", "name": "f", "input": {}}])
    session.set_turns([turn("t2"), call])
    async with session.run("go on") as run:
        await run.append(turn("t10", role="assistant"))
    await session.save()
    again = await loaded(store)
    assert [each.id for each in again.turns[:2]] == ["t2", "t9"]
    assert again.turns[-1].id == "t10"
    assert list(again.turns) == list(session.turns)


@pytest.mark.parametrize("error", [StoreUnavailableError("gone", outcome_unknown=True), asyncio.CancelledError()])
@pytest.mark.parametrize("moment", ["before", "after"])
async def test_a_save_that_raises_can_be_repeated(
    store: MemoryStore, session: Session, turn: Turn, error: BaseException, moment: str
) -> None:
    """What was to be saved still is, whether the store did it or not."""
    troubled = Troubled(store)
    window = await loaded(troubled)
    window.set_meta("a", "new")
    window.set_agent_id("agent")
    setattr(troubled, moment, failing_once("save_meta", error=lambda: error))
    with pytest.raises(type(error)):
        await window.save()
    await window.save()
    window.set_turns([turn("t2")])
    setattr(troubled, moment, failing_once("save", error=lambda: error))
    with pytest.raises(type(error)):
        await window.save()
    await window.save()
    window.set_meta("b", "new")
    setattr(troubled, moment, failing_once("patch_meta", error=lambda: error))
    with pytest.raises(type(error)):
        await window.save_meta_keys(["b"])
    await window.save()
    again = await loaded(store)
    assert (again.metadata, again.agent_id) == ({"a": "new", "b": "new"}, "agent")
    assert [each.id for each in again.turns] == ["t2"]


async def test_what_is_changed_during_a_save_is_saved_by_the_next(store: MemoryStore, turn: Turn) -> None:
    """Metadata and turns alike."""

    async def change(operation: Any) -> None:
        if operation.name in {"save_meta", "patch_meta"}:
            window.set_meta("a", "later")
        if operation.name == "save":
            window.set_turns([turn("later")])

    troubled = Troubled(store)
    window = await create_session(troubled, id="s", metadata={"a": 1})
    await window.append_turns([turn("t1")])
    for save in (window.save, lambda: window.save_meta_keys(["a"])):
        troubled.after = None
        window.set_meta("a", "now")
        troubled.after = change
        await save()
        assert (await loaded(store)).metadata["a"] == "now"
        troubled.after = None
        await window.save()
        assert (await loaded(store)).metadata["a"] == "later"
    window.set_turns([turn("now")])
    troubled.after = change
    await window.save()
    assert await stored_ids(store) == ["now"]
    troubled.after = None
    await window.save()
    assert await stored_ids(store) == ["later"]


async def test_saving_named_keys_never_writes_turns(store: MemoryStore, session: Session, turn: Turn) -> None:
    """Not even after they were replaced; those are saved by `save`."""
    session.set_turns([])
    session.set_meta("a", 5)
    session.delete_meta("b")
    await session.save_meta_keys(["a", "b"])
    assert (await loaded(store)).metadata == {"a": 5}
    assert await stored_ids(store) == ["t1", "t2"]
    await session.save()
    assert await stored_ids(store) == []


async def test_a_fork_begins_with_a_history_whichever_write_comes_first(
    store: MemoryStore, session: Session, turn: Turn
) -> None:
    """All of it is stored with the first write; the original is as it was."""
    await session.update_run(SessionRun(id="r", status="running", prompt="p", started_at=1))
    original = await store.load("s")
    for number, write in enumerate(
        (
            lambda fork: fork.save(),
            lambda fork: fork.append_turns([turn("t3")]),
            lambda fork: fork.run("hello").__aenter__(),
            lambda fork: fork.update_status("completed"),
            lambda fork: fork.send_request("r", fingerprint="f").__aenter__(),
            lambda fork: fork.save_meta_keys(["a"]),
        )
    ):
        fork = await create_session(store, data=replace(session.to_data(), id=f"fork{number}"))
        await write(fork)
        stored = await store.load(f"fork{number}")
        assert stored is not None
        assert [each.id for each in stored.turns[:2]] == ["t1", "t2"]
        assert stored.turns == list(fork.turns)
        assert (stored.runs[0].id, stored.runs[0].status, stored.metadata) == ("r", "aborted", {"a": 1, "b": 2})
        assert await store.load("s") == original


async def test_a_fork_can_be_stored_again_when_the_answer_was_lost(store: MemoryStore, session: Session) -> None:
    troubled = Troubled(store, after=failing_once("save"))
    fork = await create_session(troubled, data=replace(session.to_data(), id="fork"))
    with pytest.raises(StoreUnavailableError):
        await fork.save()
    await fork.save()
    stored = await store.load("fork")
    assert stored is not None
    assert stored.turns == list(session.turns)


async def test_a_new_session_that_was_given_turns_stores_them_first(store: MemoryStore, turn: Turn) -> None:
    fresh = await create_session(store, id="fresh")
    fresh.set_turns([turn("t1")])
    await fresh.append_turns([turn("t2")])
    assert [each.id for each in await store.get_turns("fresh")] == ["t1", "t2"]


async def test_a_save_of_metadata_reads_nothing(store: MemoryStore, session: Session) -> None:
    recording = Recording(store)
    window = await loaded(recording)
    recording.calls.clear()
    window.set_meta("a", 5)
    await window.save()
    assert recording.calls == {"save_meta": 1}
