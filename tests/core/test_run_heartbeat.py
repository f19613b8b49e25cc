"""A run's claim is renewed in the background, and a run that lost it stops."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

import pytest

from zidane_core import (
    RunFencedError,
    SessionHeader,
    SessionNotFoundError,
    SessionTurn,
    StoreUnavailableError,
    claim_run,
    create_session,
    load_session,
)
from zidane_core.claims import STALE_AFTER_MS
from zidane_core.memory import MemoryStore
from zidane_core.records import RunOwner
from zidane_core.session import Session
from zidane_core.session.run import _renewal_interval_s
from zidane_core.store import Guard, SessionStore

from .troubled_stores import Troubled

Turn = Callable[..., SessionTurn]

SOON = 30
"""A patience in ms that makes a run renew every 10 ms; the tests wait for the renewal itself, not for a time."""


class Renewals:
    """Lets a test wait for the next renewal of a run, and decide what becomes of it."""

    def __init__(self) -> None:
        self.seen = asyncio.Condition()
        self.count = 0
        self.error: Exception | None = None

    async def __call__(self, operation: Any) -> None:
        if operation.name == "renew_run":
            async with self.seen:
                self.count += 1
                self.seen.notify_all()
            if self.error is not None:
                raise self.error

    async def next(self, times: int = 1) -> None:
        async with self.seen:
            wanted = self.count + times
            await self.seen.wait_for(lambda: self.count >= wanted)


@pytest.fixture
def renewals() -> Renewals:
    return Renewals()


@pytest.fixture
async def session(store: MemoryStore, renewals: Renewals) -> Session:
    return await create_session(Troubled(store, before=renewals), id="s")


async def take_over(store: SessionStore) -> Any:
    data = await store.load("s")
    assert data is not None
    thief = RunOwner(host_id="elsewhere", pid=1, token="thief")
    return await store.claim_run("s", owner=thief, displaces=data.epoch)


async def test_a_renewal_keeps_the_claim_fresh_and_looks_like_no_activity(
    renewals: Renewals,
) -> None:
    now = 1_000
    async with MemoryStore(clock=lambda: now) as store:
        session = await create_session(Troubled(store, before=renewals), id="s", clock=lambda: now)
        async with session.run("hello", stale_after_ms=SOON):
            before = await store.get_meta("s")
            now = 50_000
            await renewals.next(2)
            after = await store.get_meta("s")
        assert before is not None
        assert after is not None
        assert (after.quiet_ms, after.rev, after.updated_at) == (0, before.rev, before.updated_at)


async def test_a_store_that_cannot_be_reached_for_a_while_does_not_end_the_run(
    store: MemoryStore, session: Session, renewals: Renewals, turn: Turn
) -> None:
    renewals.error = StoreUnavailableError("away")
    async with session.run("hello", stale_after_ms=SOON) as run:
        await renewals.next(3)
        renewals.error = None
        await renewals.next()
        await run.append(turn("t1"))
    assert session.status == "completed"


async def test_a_run_that_lost_its_claim_is_cancelled_and_says_so(
    store: MemoryStore, session: Session, renewals: Renewals, turn: Turn
) -> None:
    """And nothing of it is stored any more, its end neither. The session goes on with what the winner stored."""
    with pytest.raises(RunFencedError) as lost:
        async with session.run("hello", stale_after_ms=SOON, run_id="loser") as run:
            run.draft(lambda: [turn("late")])
            winner = await take_over(store)
            await asyncio.Event().wait()
    assert lost.value.epoch == winner.epoch
    stored = await store.load("s")
    assert stored is not None
    assert (stored.status, stored.epoch, stored.runs[0].status) == ("running", winner.epoch, "running")
    assert len(stored.turns) == 1
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    await store.update_status("s", "idle", guard=Guard(fence=winner.epoch))
    async with session.run("again"):
        assert [each.status for each in session.runs] == ["aborted", "running"]


async def test_a_run_whose_session_was_deleted_is_cancelled(store: MemoryStore, session: Session) -> None:
    with pytest.raises(SessionNotFoundError):
        async with session.run("hello", stale_after_ms=SOON):
            await store.delete("s")
            await asyncio.Event().wait()
    assert await store.load("s") is None


async def test_a_body_that_swallows_the_cancellation_is_told_all_the_same(store: MemoryStore, session: Session) -> None:
    with pytest.raises(RunFencedError):
        async with session.run("hello", stale_after_ms=SOON):
            await take_over(store)
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()


@pytest.mark.parametrize("cancelled_first", [False, True])
async def test_a_cancellation_by_others_wins_over_a_lost_claim(
    store: MemoryStore, session: Session, cancelled_first: bool
) -> None:
    """Whichever comes first: whoever cancelled the task waits for it to be cancelled."""

    async def body() -> None:
        async with session.run("hello", stale_after_ms=SOON) as run:
            entered.set()
            try:
                await asyncio.Event().wait()
            finally:
                if not cancelled_first:
                    task.cancel()
                assert run._heartbeat is not None
                await _outwait(lambda: run._heartbeat._lost is not None)

    entered = asyncio.Event()
    task = asyncio.create_task(body())
    await entered.wait()
    if cancelled_first:
        task.cancel()
    await take_over(store)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert task.cancelled()


async def _outwait(condition: Callable[[], bool]) -> None:
    """Wait for a condition, whatever cancels meanwhile."""
    while not condition():
        try:
            await asyncio.sleep(0.001)
        except asyncio.CancelledError:
            continue


async def test_a_timeout_around_a_run_is_a_timeout(store: MemoryStore, session: Session) -> None:
    """The run's own machinery does not take the cancellation for its own."""
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0), session.run("hello", stale_after_ms=SOON):
            await asyncio.Event().wait()
    async with session.run("again"):
        pass
    with pytest.raises(TimeoutError):
        async with session.run("inside", stale_after_ms=SOON), asyncio.timeout(0):
            await asyncio.Event().wait()
    assert session.runs[-1].status == "error"


async def test_the_keyboard_wins_over_a_lost_claim(store: MemoryStore, session: Session) -> None:
    with pytest.raises(SystemExit):
        async with session.run("hello", stale_after_ms=SOON):
            await take_over(store)
            try:
                await asyncio.Event().wait()
            finally:
                raise SystemExit


async def test_a_generator_that_lost_its_claim_can_be_closed(store: MemoryStore, session: Session) -> None:
    async def events() -> AsyncIterator[int]:
        async with session.run("hello"):
            yield 1

    stream = events()
    await anext(stream)
    await take_over(store)
    await stream.aclose()  # type: ignore[attr-defined]
    stored = await store.load("s")
    assert stored is not None
    assert stored.runs[0].status == "running"


async def test_no_task_of_a_run_outlives_it(store: MemoryStore, session: Session, renewals: Renewals) -> None:
    async with session.run("hello", stale_after_ms=SOON):
        await renewals.next()
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_zombie_cannot_write_after_it_was_displaced(store: MemoryStore, turn: Turn) -> None:
    """Its append, its record and its end are all refused; the history has only the winner's turns."""
    zombie = await create_session(store, id="s")
    run = zombie.run("hello")
    async with MemoryStore(data=store._data) as elsewhere:
        await run.__aenter__()
        await take_over(store)
        winner = await load_session(elsewhere, "s")
        assert winner is not None
        await winner.append_turns([turn("winner")])
        for write in (
            lambda: run.append(turn("zombie")),
            lambda: zombie.update_run(run.record),
            lambda: zombie.update_status("completed"),
            zombie.save,
            lambda: zombie.add_artifact({"kind": "file", "uri": "u", "label": "l"}),
        ):
            with pytest.raises(RunFencedError):
                await write()
        with pytest.raises(RunFencedError):
            await run.__aexit__(None, None, None)
        assert [each.id for each in await elsewhere.get_turns("s", 1)] == ["winner"]


async def test_a_write_that_waits_while_its_run_is_lost_is_refused(store: MemoryStore, turn: Turn) -> None:
    """It goes under the fence that held when it was asked for, not under none."""

    async def block(operation: Any) -> None:
        if operation.name == "append_turns" and operation.arguments["turns"][0].id == "first":
            await released.wait()

    released = asyncio.Event()
    session = await create_session(Troubled(store, before=block), id="s")
    with pytest.raises(RunFencedError):
        async with session.run("hello", stale_after_ms=SOON) as run:
            writes = [asyncio.create_task(run.append(turn(name))) for name in ("first", "second")]
            winner = await take_over(store)
            await store.update_status("s", "idle", guard=Guard(fence=winner.epoch))
            await asyncio.Event().wait()
    released.set()
    answers = await asyncio.gather(*writes, return_exceptions=True)
    assert [type(answer) for answer in answers] == [RunFencedError, RunFencedError]
    assert len(await store.get_turns("s")) == 1


@pytest.mark.parametrize("stale_after_ms", [0, 1_000, 60_000, 10 * 3_600_000])
def test_a_run_renews_often_enough_for_readers_of_any_patience(stale_after_ms: int) -> None:
    """However patient it is itself: others judge it by the default."""
    assert 0 < _renewal_interval_s(stale_after_ms) * 3_000 <= STALE_AFTER_MS


async def test_the_patience_of_a_run_can_be_written_as_text(
    store: MemoryStore, header: Callable[..., SessionHeader]
) -> None:
    claim = await claim_run(store, "s", owner=RunOwner(host_id="elsewhere", pid=1, token="t"), create=header())
    assert claim.claimed
    session = await load_session(store, "s")
    assert session is not None
    with pytest.raises(Exception, match="a run holds"):
        await session.run("hello", stale_after_ms="2h").__aenter__()
    async with session.run("hello", stale_after_ms="0ms"):
        pass
    for wrong in ("2 weeks", "", "-1s", -1):
        with pytest.raises(ValueError, match="stale_after_ms"):
            session.run("hello", stale_after_ms=wrong)
