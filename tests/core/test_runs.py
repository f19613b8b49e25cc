"""Runs: their records, what they cost, and how they end."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import count
from typing import Any

import pytest
from msgspec.structs import replace

from zidane_core import (
    RunFencedError,
    RunInProgressError,
    SessionTurn,
    StoreUnavailableError,
    claim_run,
    create_session,
    current_run_owner,
    load_session,
    text,
    tool_call,
    tool_result,
)
from zidane_core.memory import MemoryStore
from zidane_core.records import SessionRunAgent
from zidane_core.session import ActiveRun, Session

from .troubled_stores import Recording, Troubled, failing, failing_once

Turn = Callable[..., SessionTurn]


@pytest.fixture
async def session(store: MemoryStore) -> Session:
    clock: Iterator[int] = count(1_000)
    return await create_session(store, id="s", clock=lambda: next(clock))


async def stored(store: MemoryStore) -> Any:
    data = await store.load("s")
    assert data is not None
    return data


async def test_a_run_claims_records_and_completes(store: MemoryStore, session: Session, turn: Turn) -> None:
    async with session.run("hello", agent=SessionRunAgent(id="a", label="A"), label="main") as run:
        during = await stored(store)
        assert (during.status, during.epoch is not None, during.run_owner is not None) == ("running", True, True)
        assert during.runs == [run.record]
        assert run.session is session
        (prompt,) = during.turns
        assert (prompt.role, prompt.content, prompt.run_id) == ("user", [text("hello")], run.id)
        await run.append(turn("t1", role="assistant", usage={"input": 1, "output": 2}))
        assert [message.role for message in await run.to_messages()] == ["user", "assistant"]
    after = await stored(store)
    assert (after.status, after.epoch, after.run_owner, session.status) == ("completed", None, None, "completed")
    (record,) = after.runs
    assert (record.status, record.prompt, record.depth, record.label) == ("completed", "hello", 0, "main")
    assert (record.turns, record.tokens_in, record.tokens_out) == (2, 1, 2)
    assert after.turns[1].run_id == run.id
    assert after.rev == session.rev


async def test_a_run_costs_a_claim_one_write_and_its_end(store: MemoryStore) -> None:
    """The run record and the user turn are one write; the run's end and the session's status are another."""
    recording = Recording(store)
    session = await create_session(recording, id="s")
    for _ in range(2):
        recording.writes.clear()
        recording.calls.clear()
        async with session.run("hello"):
            pass
        assert recording.writes == ["claim_run", "append_turns", "save_meta"]
        assert recording.calls["load"] == 0


async def test_a_run_takes_in_what_others_stored(store: MemoryStore, session: Session, turn: Turn) -> None:
    await session.append_turns([turn("t1")])
    other = await load_session(store, "s")
    assert other is not None
    await other.append_turns([turn("t2")], metadata={"a": 1})
    async with session.run():
        assert [each.id for each in session.turns] == ["t1", "t2"]
        assert session.metadata == {"a": 1}


async def test_a_run_without_a_prompt_adds_no_turn(store: MemoryStore, session: Session) -> None:
    async with session.run(run_id="mine") as run:
        assert run.id == "mine"
    assert ((await stored(store)).turns, (await stored(store)).runs[0].prompt) == ([], "")


async def test_a_prompt_of_blocks_is_stored_as_it_is(store: MemoryStore, session: Session) -> None:
    """Its record keeps the text."""
    image: Any = {"type": "image", "mediaType": "image/png", "data": "aGk="}
    async with session.run([text("look"), image, text("here")]):
        pass
    assert list(session.turns[0].content) == [text("look"), image, text("here")]
    assert session.runs[0].prompt == "look\nhere"


async def test_an_error_is_recorded_and_raised_as_itself(store: MemoryStore, session: Session) -> None:
    error = LookupError("no\n such model")
    with pytest.raises(LookupError) as caught:
        async with session.run("hello"):
            raise error
    assert caught.value is error
    data = await stored(store)
    assert (data.status, data.runs[0].status, data.runs[0].error) == ("error", "error", "LookupError: no such model")


@pytest.mark.parametrize("failure", [StoreUnavailableError("away"), OSError("a store's own")])
async def test_an_error_is_raised_as_itself_where_the_end_cannot_be_stored(
    store: MemoryStore, failure: Exception
) -> None:
    """The failure of the store is a note on it. Nothing holds the session any more: the next run takes over at once."""
    troubled = Troubled(store)
    session = await create_session(troubled, id="s")
    with pytest.raises(LookupError) as caught:
        async with session.run("hello", run_id="r1"):
            troubled.before = failing_once("save_meta", error=lambda: failure)
            raise LookupError("mine")
    assert "could not be stored" in caught.value.__notes__[0]
    other = await load_session(store, "s")
    assert other is not None
    assert (other.status, other.interrupted and other.interrupted.id) == ("idle", "r1")
    async with session.run("again"):
        assert [run.status for run in session.runs] == ["aborted", "running"]


async def test_a_completed_run_whose_end_cannot_be_stored_says_so(store: MemoryStore) -> None:
    troubled = Troubled(store)
    session = await create_session(troubled, id="s")
    with pytest.raises(StoreUnavailableError):
        async with session.run("hello"):
            troubled.before = failing("save_meta")
    troubled.before = None
    async with session.run("again"):
        pass
    assert [run.status for run in (await stored(store)).runs] == ["aborted", "completed"]


async def test_a_child_run_shares_the_claim(store: MemoryStore, session: Session, turn: Turn) -> None:
    """Its record names the parent and the call, its turns are its own conversation, and it ends on its own."""
    async with session.run("main") as run:
        await run.append(turn("t1", role="assistant", content=[tool_call("c1", "spawn", {})]))
        async with run.child("sub", call_id="c1", label="child-1") as child:
            await child.append(turn("t2", role="assistant"))
            assert [message.role for message in await child.to_messages()] == ["user", "assistant"]
            with pytest.raises(LookupError):
                async with child.child("grandchild", call_id="c2") as grandchild:
                    raise LookupError("deep")
        await run.append(turn("t3", content=[tool_result("c1", "done")]))
    parent, first, second = (await stored(store)).runs
    assert (first.parent_run_id, first.parent_call_id, first.label, first.depth) == (parent.id, "c1", "child-1", 1)
    assert (second.parent_run_id, second.depth, second.id) == (first.id, 2, grandchild.id)
    assert [parent.status, first.status, second.status] == ["completed", "completed", "error"]
    assert [message.role for message in await session.to_messages()] == ["user", "assistant", "user"]


async def test_calls_that_a_dead_run_left_open_are_closed_unless_they_are_to_be_kept(
    store: MemoryStore, session: Session, turn: Turn
) -> None:
    """Kept ones wait for an approval; the run gives their result itself."""
    call = turn("t1", role="assistant", content=[tool_call("c1", "deploy", {})])
    await session.append_turns([turn("t0"), call])
    async with session.run(interrupted_calls="keep") as run:
        assert [each.id for each in session.turns] == ["t0", "t1"]
        await run.append(turn("t2", content=[tool_result("c1", "approved")]))
    await session.append_turns([turn("t3", role="assistant", content=[tool_call("c2", "deploy", {})])])
    async with session.run("go on"):
        closing: Any = session.turns[4].content[0]
        assert (closing["callId"], closing["isError"]) == ("c2", True)
    assert (await stored(store)).turns == list(session.turns)


async def test_a_second_run_of_one_session_is_refused_and_leaves_the_first_its_claim(
    store: MemoryStore, session: Session, turn: Turn
) -> None:
    """On the same object and on another window's."""
    other = None
    async with session.run("first") as run:
        other = await load_session(store, "s")
        assert other is not None
        for window in (session, other):
            with pytest.raises(RunInProgressError) as refused:
                async with window.run("second"):
                    pytest.fail("two runs at once")
            assert refused.value.holder == (await stored(store)).run_owner
        await run.append(turn("t1"))
        await session.update_run(run.record)
    assert len((await stored(store)).runs) == 1
    async with other.run("third"):
        pass


async def test_a_run_on_a_session_without_a_store_keeps_its_records_in_memory(turn: Turn) -> None:
    session = await create_session()
    async with session.run("hello") as run:
        await run.append(turn("t1", role="assistant"))
        assert session.status == "running"
        with pytest.raises(RunInProgressError):
            await session.run("nested").__aenter__()
        assert session.status == "running"
        async with run.child("sub", call_id="c"):
            pass
    assert (session.status, [each.status for each in session.runs]) == ("completed", ["completed", "completed"])
    with pytest.raises(RunFencedError):
        await run.append(turn("t2"))


async def test_a_claim_whose_answer_was_lost_blocks_nobody_here(store: MemoryStore, turn: Turn) -> None:
    """The store took it, and the process that asked lives; but nothing runs under it."""
    session = await create_session(Troubled(store, after=failing_once("claim_run")), id="s")
    with pytest.raises(StoreUnavailableError):
        await session.run("hello").__aenter__()
    assert (await stored(store)).status == "running"
    async with session.run("again"):
        pass
    assert [run.prompt for run in (await stored(store)).runs] == ["again"]


async def test_a_run_that_could_not_begin_leaves_the_status_as_it_was(store: MemoryStore) -> None:
    """Unless that was the status of a run that died."""
    troubled = Troubled(store)
    session = await create_session(troubled, id="s")
    await session.update_status("error")
    for status in ("error", "idle"):
        troubled.before = failing("append_turns")
        with pytest.raises(StoreUnavailableError):
            await session.run("hello").__aenter__()
        data = await stored(store)
        assert (data.status, data.epoch, session.status) == (status, None, status)
        await claim_run(store, "s", owner=replace(current_run_owner(), token="dead"))


async def test_a_run_object_that_outlives_its_run_cannot_write(
    store: MemoryStore, session: Session, turn: Turn
) -> None:
    """Neither after it ended, nor under the claim of a later run; a child neither."""
    async with session.run("first") as first:
        child = first.child("sub", call_id="c")
        async with child:
            pass
    late = (lambda: first.append(turn("late")), lambda: child.append(turn("late")), child.__aenter__)
    for write in late:
        with pytest.raises(RunFencedError):
            await write()
    async with session.run("second"):
        for write in late:
            with pytest.raises(RunFencedError):
                await write()
        with pytest.raises(RunFencedError):
            first.child("late", call_id="c")
    assert "late" not in [each.id for each in (await stored(store)).turns]


async def test_closing_a_generator_aborts_the_run_that_it_holds(store: MemoryStore, session: Session) -> None:
    """Closed by hand, or collected by the loop because nobody iterates on."""

    async def events() -> AsyncIterator[ActiveRun]:
        async with session.run("hello") as run:
            yield run
            yield run

    stream = events()
    run = await anext(stream)
    await stream.aclose()  # type: ignore[attr-defined]
    assert run.record.status == "aborted"
    stream = events()
    await anext(stream)
    del stream
    gc.collect()
    while (await stored(store)).status == "running":
        await asyncio.sleep(0)
    assert [each.status for each in (await stored(store)).runs] == ["aborted", "aborted"]
    async with session.run("again"):
        pass


def test_a_run_cut_short_by_the_keyboard_is_stored_as_aborted(turn: Turn) -> None:
    """KeyboardInterrupt, raised in the body or by the body's own code, leaves no claim."""
    store = MemoryStore()

    async def body() -> None:
        async with store:
            session = await create_session(store, id="s")
            async with session.run("hello") as run:
                run.draft(lambda: [turn("partial")])
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(body())

    async def look() -> Any:
        async with MemoryStore(data=store._data) as again:
            return await again.load("s")

    data = asyncio.run(look())
    assert (data.status, data.epoch, data.runs[0].status, data.turns[-1].id) == ("idle", None, "aborted", "partial")
