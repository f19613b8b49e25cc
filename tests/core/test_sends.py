"""A send has one effect and one result, whoever repeats it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from zidane_core import (
    OperationConflictError,
    SendInProgressError,
    SessionTurn,
    StoreError,
    StoreUnavailableError,
    create_session,
    current_run_owner,
    load_session,
)
from zidane_core.memory import MemoryStore
from zidane_core.session import Session
from zidane_core.store import SEND_REQUEST_HISTORY
from zidane_store_sqlite import SqliteStore

from .processes import kill, waiting_process
from .troubled_stores import Troubled, failing, failing_once

Turn = Callable[..., SessionTurn]

SEND_AND_WAIT = """
session = await create_session(store, id="s")
async with session.send_request("r", fingerprint="f") as send:
    await wait()
"""


@pytest.fixture
async def session(store: MemoryStore) -> Session:
    return await create_session(store, id="s")


async def send(session: Session, result: Any, *, fingerprint: str = "f") -> Any:
    """What the send with the id `r` results in; `result` if it is done now."""
    async with session.send_request("r", fingerprint=fingerprint) as request:
        if not request.replayed:
            request.settle(result)
        return request.result


async def test_a_repeated_send_gives_the_first_result(store: MemoryStore, session: Session) -> None:
    """On the same session object and on another one."""
    assert await send(session, {"turn": "t1"}) == {"turn": "t1"}
    assert await send(session, "second") == {"turn": "t1"}
    other = await load_session(store, "s")
    assert other is not None
    assert await send(other, "third") == {"turn": "t1"}


async def test_one_id_for_two_different_sends_is_a_conflict(session: Session) -> None:
    """Settled or not; the first is not disturbed."""
    async with session.send_request("r", fingerprint="f") as request:
        with pytest.raises(OperationConflictError):
            await send(session, 1, fingerprint="other")
        request.settle("mine")
    with pytest.raises(OperationConflictError):
        await send(session, 1, fingerprint="other")
    assert await send(session, 1) == "mine"


async def test_a_send_that_is_going_on_is_refused_with_its_holder(store: MemoryStore, session: Session) -> None:
    other = await create_session(store, id="s", data=None)
    async with session.send_request("r", fingerprint="f") as request:
        other = await load_session(store, "s") or other
        with pytest.raises(SendInProgressError) as refused:
            await send(other, 1)
        record = await store.find_send_request("s", "r")
        assert record is not None
        assert refused.value.holder == record.owner
        request.settle("mine")
    assert await send(other, 1) == "mine"


@pytest.mark.parametrize("leaves", ["with an error", "without a result", "cancelled"])
async def test_a_send_that_came_to_nothing_can_be_tried_again(session: Session, leaves: str) -> None:
    async def body() -> None:
        async with session.send_request("r", fingerprint="f") as request:
            if leaves == "with an error":
                request.settle("half done")
                raise LookupError("mine")
            if leaves == "cancelled":
                entered.set()
                await asyncio.Event().wait()

    entered = asyncio.Event()
    task = asyncio.create_task(body())
    if leaves == "cancelled":
        await entered.wait()
        task.cancel()
    (error,) = await asyncio.gather(task, return_exceptions=True)
    assert type(error) is {"with an error": LookupError, "cancelled": asyncio.CancelledError}.get(leaves, type(None))
    assert await send(session, "second try") == "second try"


async def test_none_is_no_result(session: Session) -> None:
    with pytest.raises(ValueError, match="must not be None"):
        async with session.send_request("r", fingerprint="f") as request:
            request.settle(None)
    assert await send(session, False) is False
    assert await send(session, True) is False


async def test_a_result_that_is_not_kept_is_not_passed_over(store: MemoryStore, session: Session) -> None:
    """The session was deleted, or so many sends came later that this one was pushed out."""
    with pytest.raises(StoreError, match="was not kept"):
        async with session.send_request("r", fingerprint="f") as request:
            for number in range(SEND_REQUEST_HISTORY):
                await store.claim_send_request("s", f"later {number}", "f")
            request.settle("mine")
    with pytest.raises(StoreError, match="was not kept"):
        async with session.send_request("r2", fingerprint="f") as request:
            await store.delete("s")
            request.settle("mine")
    assert await store.load("s") is None


async def test_a_claim_that_could_not_be_dropped_blocks_nobody_here(store: MemoryStore) -> None:
    """The error of the body is raised as itself, with a note; the next send of this process takes over."""
    troubled = Troubled(store)
    session = await create_session(troubled, id="s")
    with pytest.raises(LookupError) as caught:
        async with session.send_request("r", fingerprint="f"):
            troubled.before = failing("settle_send_request")
            raise LookupError("mine")
    assert "could not be dropped" in caught.value.__notes__[0]
    troubled.before = None
    assert await send(session, "second") == "second"


async def test_a_claim_whose_answer_was_lost_can_be_claimed_again(store: MemoryStore) -> None:
    session = await create_session(Troubled(store, after=failing_once("claim_send_request")), id="s")
    with pytest.raises(StoreUnavailableError):
        await send(session, 1)
    assert await send(session, 2) == 2


async def test_of_two_that_find_a_dead_owner_one_sends(tmp_path: Path) -> None:
    """However their steps fall between each other; the other one sees that it is going on, or its result."""
    path = tmp_path / "s.db"
    with waiting_process(path, SEND_AND_WAIT) as process:
        async with SqliteStore(path) as store:
            session = await load_session(store, "s")
            assert session is not None
            with pytest.raises(SendInProgressError):
                await send(session, "too early")
            template = await store.load("s")
            record = await store.find_send_request("s", "r")
            assert template is not None
            assert record is not None
        kill(process)
    for pace in range(16):
        await _race(record.owner, pace)
    async with SqliteStore(path) as store:
        session = await load_session(store, "s")
        assert session is not None
        assert await send(session, "taken over") == "taken over"


async def test_a_slow_taker_does_not_drop_the_new_claim_of_a_quick_one(store: MemoryStore) -> None:
    """Both found the owner dead; the slow one is about to drop the dead claim when the quick one has taken over."""

    async def wait_before_dropping(operation: Any) -> None:
        if operation.name == "settle_send_request":
            await taken.wait()

    async def take_slowly() -> None:
        with pytest.raises(SendInProgressError):
            await send(slow, "slow")

    taken = asyncio.Event()
    quick = await create_session(store, id="s")
    await quick.update_status("idle")
    await store.claim_send_request("s", "r", "f", owner=replace(current_run_owner(), token="dead"))
    slow = await load_session(Troubled(store, before=wait_before_dropping), "s")
    assert slow is not None
    task = asyncio.create_task(take_slowly())
    for _ in range(20):
        await asyncio.sleep(0)
    async with quick.send_request("r", fingerprint="f") as request:
        taken.set()
        await task
        request.settle("quick")
    assert await send(quick, "again") == "quick"


async def _race(dead: Any, pace: int) -> None:
    """Two takers whose calls are delayed in the pattern that the bits of `pace` give."""

    def delayed(bits: int) -> Any:
        async def delay(operation: Any) -> None:
            nonlocal bits
            for _ in range(1 + 4 * (bits & 1)):
                await asyncio.sleep(0)
            bits >>= 1

        return delay

    async def take(bits: int) -> None:
        session = await load_session(Troubled(store, before=delayed(bits)), "s")
        assert session is not None
        try:
            async with session.send_request("r", fingerprint="f") as request:
                if not request.replayed:
                    sent.append(bits)
                    await asyncio.sleep(0)
                    request.settle("sent")
        except SendInProgressError:
            pass

    sent: list[int] = []
    async with MemoryStore() as store:
        await (await create_session(store, id="s")).update_status("idle")
        await store.claim_send_request("s", "r", "f", owner=dead)
        await asyncio.gather(take(pace), take(15 - pace))
        assert len(sent) == 1, pace
        assert (await store.find_send_request("s", "r")).result == "sent"  # type: ignore[union-attr]
