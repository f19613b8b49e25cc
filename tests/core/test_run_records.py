"""The records of runs, kept by hand: each transition is stored, and sums what the run used."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest

from zidane_core import (
    RunErrorDetail,
    RunStats,
    SessionRun,
    SessionTurn,
    StoreUnavailableError,
    create_session,
)
from zidane_core.memory import MemoryStore
from zidane_core.records import SessionRunAgent
from zidane_core.session import Session

from .troubled_stores import Troubled, failing

Turn = Callable[..., SessionTurn]


@pytest.fixture
async def session(store: MemoryStore) -> Session:
    clock: Iterator[int] = count(1_000)
    return await create_session(store, id="s", clock=lambda: next(clock))


async def stored(store: MemoryStore) -> Any:
    data = await store.load("s")
    assert data is not None
    return data


async def test_a_run_record_goes_from_running_to_its_end(store: MemoryStore, session: Session, turn: Turn) -> None:
    """Each step is stored. Figures are summed from the run's turns unless they are given."""
    agent = SessionRunAgent(id="a", label="A")
    started = await session.start_run(
        "r",
        "do it",
        agent=agent,
        label="child-1",
        depth=1,
        parent_run_id="p",
        parent_call_id="c",
        resumed_from_run_id="q",
    )
    assert (await stored(store)).runs == [started]
    assert (started.status, started.prompt, started.agent, started.depth) == ("running", "do it", agent, 1)
    assert (started.parent_run_id, started.parent_call_id, started.resumed_from_run_id) == ("p", "c", "q")
    usage = {"input": 10, "cacheRead": 5, "cacheCreation": 1, "output": 7, "cost": 0.5, "model": "m"}
    await session.append_turns([turn("t1", run_id="r", usage=usage), turn("t2", run_id="r", usage=usage), turn("t3")])
    ended = await session.complete_run("r")
    assert (await stored(store)).runs == [ended] == list(session.runs)
    assert (ended.status, ended.turns, ended.tokens_in, ended.tokens_out, ended.cost) == ("completed", 2, 32, 14, 1.0)
    assert ended.turn_usage == [usage, usage]
    assert ended.total_usage == {"input": 20, "cacheRead": 10, "cacheCreation": 2, "output": 14, "cost": 1.0}
    assert ended.ended_at is not None
    assert ended.ended_at > ended.started_at


async def test_aborted_and_failed_runs_keep_what_they_used(store: MemoryStore, session: Session) -> None:
    stats = RunStats(turns=3, tokens_in=5, tokens_out=6, cost=0.1, turn_usage=[{"input": 5}])
    await session.start_run("aborted")
    await session.start_run("failed")
    await session.abort_run("aborted", stats)
    await session.error_run("failed", "overloaded", stats, RunErrorDetail(code="529", retryable=True))
    aborted, failed = (await stored(store)).runs
    assert (aborted.status, aborted.turns, aborted.total_usage) == ("aborted", 3, {"input": 5})
    assert (failed.status, failed.error, failed.error_detail.code, failed.tokens_in) == (
        "error",
        "overloaded",
        "529",
        5,
    )


async def test_a_session_keeps_its_own_copy_of_a_record(store: MemoryStore, session: Session) -> None:
    run = SessionRun(id="r", status="completed", prompt="", started_at=1, total_usage={"input": 1})
    await session.update_run(run)
    run.total_usage["input"] = 2  # type: ignore[index]
    assert session.runs[0].total_usage == (await stored(store)).runs[0].total_usage == {"input": 1}


async def test_a_run_that_never_started_cannot_end(session: Session) -> None:
    with pytest.raises(ValueError, match="start_run comes first"):
        await session.complete_run("nobody")


async def test_what_a_store_refused_is_not_shown(store: MemoryStore, turn: Turn) -> None:
    """A write that raises leaves the session as it was."""
    troubled = Troubled(store)
    session = await create_session(troubled, id="s")
    await session.start_run("r")
    before = session.to_data()
    troubled.before = failing("update_run", "append_turns", "update_status")
    for refused in (session.complete_run("r"), session.append_turns([turn("t")]), session.update_status("error")):
        with pytest.raises(StoreUnavailableError):
            await refused
    assert session.to_data() == before


async def test_completing_and_aborting_at_once_leaves_one_of_the_two(store: MemoryStore, session: Session) -> None:
    """And the session free."""
    for number in range(20):
        await session.start_run(f"r{number}")
        await asyncio.gather(session.complete_run(f"r{number}"), session.abort_run(f"r{number}"))
        assert (await stored(store)).runs[number] == session.runs[number]
        assert session.runs[number].status in {"completed", "aborted"}
    async with session.run():
        pass
