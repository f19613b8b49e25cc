"""What a run had in hand when it was cut short, and the figures that it reports."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest

from zidane_core import (
    RunStats,
    SessionTurn,
    create_session,
)
from zidane_core.memory import MemoryStore
from zidane_core.session import Session

Turn = Callable[..., SessionTurn]


@pytest.fixture
async def session(store: MemoryStore) -> Session:
    clock: Iterator[int] = count(1_000)
    return await create_session(store, id="s", clock=lambda: next(clock))


async def stored(store: MemoryStore) -> Any:
    data = await store.load("s")
    assert data is not None
    return data


async def test_a_draft_is_kept_when_the_run_is_cut_short(store: MemoryStore, session: Session, turn: Turn) -> None:
    """By a cancellation or an error; not when it completes. It may be made by a coroutine."""

    async def late() -> list[SessionTurn]:
        await asyncio.sleep(0)
        return [turn("late", role="assistant")]

    async def body() -> None:
        async with session.run("hello") as run:
            run.draft(late)
            started.set()
            await asyncio.Event().wait()

    started = asyncio.Event()
    task = asyncio.create_task(body())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(LookupError):
        async with session.run() as run:
            run.draft(lambda: [turn("partial", role="assistant")])
            raise LookupError
    async with session.run() as run:
        run.draft(lambda: [turn("never")])
    async with session.run() as run:
        run.draft(lambda: [turn("never")])
        run.draft(None)
    data = await stored(store)
    assert [each.id for each in data.turns[1:]] == ["late", "partial"]
    assert [run.status for run in data.runs] == ["aborted", "error", "completed", "completed"]
    assert data.turns[1].run_id == data.runs[0].id
    assert data.status == "completed"


async def test_a_draft_that_fails_hides_neither_the_error_nor_the_end(store: MemoryStore, session: Session) -> None:
    def broken() -> list[SessionTurn]:
        raise ZeroDivisionError("draft")

    with pytest.raises(LookupError, match="mine") as caught:
        async with session.run("hello") as run:
            run.draft(broken)
            raise LookupError("mine")
    assert "ZeroDivisionError" in caught.value.__notes__[0]
    assert (await stored(store)).runs[0].status == "error"


async def test_reported_figures_take_the_place_of_the_turns_own(store: MemoryStore, session: Session) -> None:
    async with session.run("hello") as run:
        run.report(RunStats(turns=9, tokens_in=8, tokens_out=7))
    assert (session.runs[0].turns, session.runs[0].tokens_in) == (9, 8)
