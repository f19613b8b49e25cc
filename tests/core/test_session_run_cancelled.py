"""A run that is cancelled anywhere leaves no claim behind, and a session that goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from zidane_core import SessionTurn, create_session, load_session, tool_call
from zidane_core.memory import MemoryStore
from zidane_core.session import Session

from .suspensions import was_cancelled
from .troubled_stores import Troubled

Turn = Callable[..., SessionTurn]


async def pause(operation: object) -> None:
    await asyncio.sleep(0)


async def prepared(store: MemoryStore, turn: Turn) -> Session:
    """A session with an open call and a run that died, that another window has written to meanwhile."""
    session = await create_session(Troubled(store, before=pause, after=pause), id="s")
    await session.append_turns([turn("t1", role="assistant", content=[tool_call("c", "f", {})])])
    await session.start_run("dead")
    other = await load_session(store, "s", persist_heal=False)
    assert other is not None
    await other.append_turns([turn("t2")])
    return session


async def in_order(store: MemoryStore, session: Session, turn: Turn) -> None:
    """Nobody holds the session, its run is over, and another run takes place and is stored whole."""
    async with asyncio.timeout(10), session.run("afterwards", run_id="after") as run:
        await run.append(turn("t-after", role="assistant"))
    stored = await store.load("s")
    assert stored is not None
    assert (stored.status, stored.epoch) == ("completed", None)
    assert not [run for run in stored.runs if run.status == "running"]
    assert stored.turns == list(session.turns)
    assert stored.runs == list(session.runs)
    assert [each.id for each in stored.turns[:1]] == ["t1"]
    assert stored.turns[-1].id == "t-after"


@pytest.mark.parametrize("again_after", [None, 1, 2, 5])
async def test_entering_a_run_can_be_cancelled_at_every_suspension(turn: Turn, again_after: int | None) -> None:
    """And once more while the claim is given back."""
    moment = 0
    cancelled = True
    while cancelled:
        async with MemoryStore() as store:
            session = await prepared(store, turn)

            async def enter(session: Session = session) -> None:
                run = session.run("hello", run_id="r")
                await run.__aenter__()
                await run.__aexit__(None, None, None)

            cancelled = await was_cancelled(enter(), *_moments(moment, again_after))
            assert not [
                task for task in asyncio.all_tasks() if task is not asyncio.current_task() and not task.cancelling()
            ]
            stored = await store.load("s")
            assert stored is not None
            assert stored.epoch is None, f"cancelled at {moment}, the claim was left behind"
            await in_order(store, session, turn)
        moment += 1
    assert moment > 10


@pytest.mark.parametrize("again_after", [None, 1, 2, 5])
@pytest.mark.parametrize("fails", [False, True])
async def test_a_run_can_be_cancelled_at_every_suspension_of_its_body_and_its_end(
    turn: Turn, fails: bool, again_after: int | None
) -> None:
    """What it acknowledged is stored, and its record says how it ended."""
    moment = 0
    cancelled = True
    while cancelled:
        async with MemoryStore() as store:
            session = await prepared(store, turn)
            acknowledged: list[str] = []

            async def body(run: Any, acknowledged: list[str] = acknowledged) -> None:
                try:
                    async with run:
                        run.draft(lambda: [turn("partial", role="assistant")])
                        await run.append(turn("t3", role="assistant"))
                        acknowledged.append("t3")
                        await asyncio.sleep(0)
                        if fails:
                            raise LookupError("mine")
                except LookupError:
                    acknowledged.append("failed")

            run = session.run("hello", run_id="r")
            cancelled = await was_cancelled(body(run), *_moments(moment, again_after))
            stored = await store.load("s")
            assert stored is not None
            assert stored.epoch is None, f"cancelled at {moment}, the claim was left behind"
            ids = [each.id for each in stored.turns]
            assert "t3" in ids or "t3" not in acknowledged
            record = next((each for each in stored.runs if each.id == "r"), None)
            if "t3" in ids:
                assert record is not None
                assert record.status != "running"
                assert ("partial" in ids) == (record.status != "completed")
            await in_order(store, session, turn)
        moment += 1
    assert moment > 15


@pytest.mark.parametrize("again_after", [None, 1, 2])
async def test_a_send_can_be_cancelled_at_every_suspension(turn: Turn, again_after: int | None) -> None:
    """It is settled, or free for the next."""
    moment = 0
    cancelled = True
    while cancelled:
        async with MemoryStore() as store:
            session = await prepared(store, turn)

            async def send(session: Session = session) -> None:
                async with session.send_request("r", fingerprint="f") as request:
                    await asyncio.sleep(0)
                    request.settle("first")

            cancelled = await was_cancelled(send(), *_moments(moment, again_after))
            async with session.send_request("r", fingerprint="f") as request:
                if not request.replayed:
                    request.settle("second")
            assert request.result in {"first", "second"}
            record = await store.find_send_request("s", "r")
            assert record is not None
            assert record.result == request.result
        moment += 1
    assert moment >= 4, "there are fewer suspensions than a claim, a body and an end have"


async def test_an_append_can_be_cancelled_at_every_suspension_and_repeated(turn: Turn) -> None:
    """Whether it took place or not."""
    moment = 0
    cancelled = True
    while cancelled:
        async with MemoryStore() as store:
            session = await create_session(Troubled(store, before=pause, after=pause), id="s")
            cancelled = await was_cancelled(session.append_turns([turn("t1"), turn("t2")]), moment)
            await session.append_turns([turn("t1"), turn("t2")])
            assert [each.id for each in session.turns] == ["t1", "t2"]
            assert await store.get_turns("s") == list(session.turns)
        moment += 1
    assert moment > 2


def _moments(first: int, again_after: int | None) -> tuple[int, ...]:
    return (first,) if again_after is None else (first, first + again_after)
