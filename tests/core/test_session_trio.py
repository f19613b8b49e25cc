"""Hosts on trio can use sessions with the memory store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import trio

from zidane_core import RunFencedError, SessionTurn, create_session, load_session
from zidane_core.memory import MemoryStore
from zidane_core.records import RunOwner

from .troubled_stores import Troubled

Turn = Callable[..., SessionTurn]


def test_a_session_and_its_runs_work_under_trio(turn: Turn) -> None:
    async def main() -> None:
        async with MemoryStore() as store:
            session = await create_session(store, id="s")
            async with trio.open_nursery() as nursery:
                for number in range(10):
                    nursery.start_soon(session.append_turns, [turn(f"t{number}")])
            async with session.run("hello", stale_after_ms=30) as run:
                await run.append(turn("t10"))
                async with run.child("sub", call_id="c"):
                    pass
            async with session.send_request("r", fingerprint="f") as send:
                send.settle(1)
            with pytest.raises(LookupError, match="mine"):
                async with session.run():
                    raise LookupError("mine")
            again = await load_session(store, "s")
            assert again is not None
            assert list(again.turns) == list(session.turns)
            assert [each.status for each in again.runs] == ["completed", "completed", "error"]

    trio.run(main)


def test_a_run_cancelled_under_trio_is_stored_as_aborted(turn: Turn) -> None:
    """With its draft, although the scope is cancelled already."""

    async def main() -> None:
        async with MemoryStore() as store:
            session = await create_session(store, id="s")
            with trio.CancelScope() as scope:
                async with session.run("hello") as run:
                    run.draft(lambda: [turn("partial")])
                    scope.cancel()
                    await trio.sleep_forever()
            assert scope.cancelled_caught
            stored = await store.load("s")
            assert stored is not None
            assert (stored.status, stored.epoch, stored.runs[0].status) == ("idle", None, "aborted")
            assert stored.turns[-1].id == "partial"

    trio.run(main)


def test_entering_a_run_under_a_cancelled_scope_leaves_no_claim(turn: Turn) -> None:
    """At whichever checkpoint the cancellation arrives."""

    async def main(checkpoints: int) -> bool:
        async with MemoryStore() as store:
            left = checkpoints
            scope = trio.CancelScope()

            async def count(operation: Any) -> None:
                nonlocal left
                left -= 1
                if left == 0:
                    scope.cancel()
                await trio.lowlevel.checkpoint()

            session = await create_session(Troubled(store, before=count, after=count), id="s")
            with scope:
                async with session.run("hello"):
                    await trio.lowlevel.checkpoint()
            stored = await store.load("s")
            assert stored is None or stored.epoch is None
            async with session.run("again"):
                pass
            return scope.cancelled_caught

    cancelled = [trio.run(main, checkpoints) for checkpoints in range(1, 9)]
    assert cancelled[0]
    assert not cancelled[-1]


def test_a_lost_claim_cancels_the_body_under_trio() -> None:
    """And raises RunFencedError; a cancellation from outside wins over it."""

    async def main(outside: bool) -> None:
        async with MemoryStore() as store:
            session = await create_session(store, id="s")
            with trio.CancelScope() as scope:  # noqa: SIM117 -- the second one is chosen
                with pytest.raises(RunFencedError) if not outside else trio.CancelScope():
                    async with session.run("hello", stale_after_ms=30):
                        data = await store.load("s")
                        assert data is not None
                        thief = RunOwner(host_id="elsewhere", pid=1, token="t")
                        await store.claim_run("s", owner=thief, displaces=data.epoch)
                        try:
                            await trio.sleep_forever()
                        finally:
                            if outside:
                                scope.cancel()
            assert scope.cancelled_caught is outside
            await trio.lowlevel.checkpoint()

    for outside in (False, True):
        trio.run(main, outside)


def test_closing_a_generator_under_trio_aborts_its_run() -> None:
    async def main() -> None:
        async with MemoryStore() as store:
            session = await create_session(store, id="s")

            async def events() -> AsyncIterator[int]:
                async with session.run("hello"):
                    yield 1

            stream = events()
            await anext(stream)
            await stream.aclose()  # type: ignore[attr-defined]
            stored = await store.load("s")
            assert stored is not None
            assert (stored.status, stored.runs[0].status) == ("idle", "aborted")

    trio.run(main)
