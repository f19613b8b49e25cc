"""Who may take a session over from whom, and when."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from zidane_core import (
    RUN_OWNER_HOLD_MS,
    RunInProgressError,
    SessionHeader,
    SessionNotFoundError,
    SessionRun,
    claim_run,
    create_session,
    current_run_owner,
    load_session,
    may_displace,
)
from zidane_core.claims import STALE_AFTER_MS, demote_stale_running_status, has_stale_run
from zidane_core.memory import MemoryStore
from zidane_core.records import RunOwner, SessionData
from zidane_core.run_owner import Holding
from zidane_store_sqlite import SqliteStore

from .processes import kill, waiting_process

Header = Callable[..., SessionHeader]

ELSEWHERE = RunOwner(host_id="elsewhere", pid=1, token="t")

HOLD_A_RUN = """
session = await create_session(store, id="s")
async with session.run("hello", run_id="r1") as run:
    await run.append(SessionTurn(id="t1", role="assistant", content=[tool_call("c", "f", {})], created_at=1))
    await wait()
await wait()
"""


def dead_owner() -> RunOwner:
    return replace(current_run_owner(), token="an earlier process with this pid")


@pytest.mark.parametrize(
    ("holder", "quiet_ms", "answer"),
    [
        (dead_owner(), 0, True),
        (current_run_owner(), RUN_OWNER_HOLD_MS - 1, False),
        (current_run_owner(), RUN_OWNER_HOLD_MS, True),
        (ELSEWHERE, STALE_AFTER_MS - 1, False),
        (ELSEWHERE, STALE_AFTER_MS, True),
        (None, STALE_AFTER_MS - 1, False),
        (None, STALE_AFTER_MS, True),
    ],
)
def test_whether_a_holder_may_be_displaced(holder: RunOwner | None, quiet_ms: int, answer: bool) -> None:
    """The dead at once; the living of this host after an hour of silence; others once they are stale."""
    assert may_displace(holder, quiet_ms) is answer


def test_the_patience_with_other_hosts_is_the_callers() -> None:
    assert may_displace(ELSEWHERE, 10, stale_after_ms=10)
    assert not may_displace(ELSEWHERE, 9, stale_after_ms=10)
    assert not may_displace(current_run_owner(), 10, stale_after_ms=10)


async def test_a_claim_is_refused_with_the_holder_and_its_silence(header: Header) -> None:
    now = 1_000
    async with MemoryStore(clock=lambda: now) as store:
        first = await claim_run(store, "s", create=header())
        assert (first.claimed, first.previous) == (True, "idle")
        now = 1_500
        second = await claim_run(store, "s", owner=ELSEWHERE)
        assert (second.claimed, second.epoch, second.holder, second.quiet_ms) == (
            False,
            first.epoch,
            current_run_owner(),
            500,
        )


async def test_another_hosts_silence_is_measured_by_the_stores_clock(header: Header) -> None:
    """The claimant's clock plays no part, however wrong it is."""
    now = 1_000
    async with MemoryStore(clock=lambda: now) as store:
        await claim_run(store, "s", owner=ELSEWHERE, create=header())
        now += STALE_AFTER_MS - 1
        fast = await load_session(store, "s", clock=lambda: now + 10_000_000)
        assert fast is not None
        assert fast.status == "running"
        with pytest.raises(RunInProgressError):
            await fast.run("hello").__aenter__()
        now += 1
        async with fast.run("hello"):
            assert fast.status == "running"


async def test_a_claim_whose_body_is_gone_is_displaced_by_its_own_process_at_once(header: Header) -> None:
    """Though the process lives: the store failed when the claim was to be given back, or its answer was lost."""
    async with MemoryStore() as store:
        holding = Holding()
        await claim_run(store, "s", owner=holding.owner, create=header())
        assert not (await claim_run(store, "s")).claimed
        holding.end()
        holding.end()
        assert (await claim_run(store, "s")).claimed


async def test_of_many_that_displace_a_dead_run_one_wins(header: Header) -> None:
    async with MemoryStore() as store:
        await claim_run(store, "s", owner=dead_owner(), create=header())
        claims = await asyncio.gather(*(claim_run(store, "s") for _ in range(20)))
        (winner,) = [claim for claim in claims if claim.claimed]
        assert winner.holder == dead_owner()
        assert winner.previous == "running"
        assert {claim.epoch for claim in claims} == {winner.epoch}


async def test_claiming_an_unknown_session_makes_no_row(store: MemoryStore) -> None:
    with pytest.raises(SessionNotFoundError):
        await claim_run(store, "ghost")
    assert await store.list_ids() == []


async def test_demoting_a_dead_run_is_pure_and_idempotent() -> None:
    runs = [SessionRun(id=status, status=status, prompt="", started_at=1) for status in ("running", "completed")]
    data = SessionData(
        id="s", created_at=1, updated_at=1, status="running", turns=[], runs=runs, metadata={}, run_owner=dead_owner()
    )
    assert has_stale_run(data)
    demoted = demote_stale_running_status(data)
    assert (data.status, demoted.status, demoted.run_owner) == ("running", "idle", None)
    assert [run.status for run in demoted.runs] == ["aborted", "completed"]
    assert not has_stale_run(demoted)
    assert demote_stale_running_status(demoted) is demoted


# -- with real processes --------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.db"


async def test_a_killed_process_holds_nothing(path: Path) -> None:
    """The session loads as idle with the run aborted, and a new run begins at once."""
    with waiting_process(path, HOLD_A_RUN) as process:
        kill(process)
    async with SqliteStore(path) as store:
        session = await load_session(store, "s")
        assert session is not None
        assert session.interrupted is not None
        assert (session.status, session.interrupted.id, session.interrupted.status) == ("idle", "r1", "aborted")
        assert [each.role for each in session.turns] == ["user", "assistant"]
        stored = await store.load("s")
        assert stored is not None
        assert (stored.status, stored.epoch, stored.runs[0].status) == ("idle", None, "aborted")
        async with session.run("go on"):
            pass
        assert [run.status for run in session.runs] == ["aborted", "completed"]


async def test_a_session_held_by_a_killed_process_is_claimed_without_loading_it_anew(path: Path) -> None:
    """A window opened before the process died goes on as well."""
    with waiting_process(path, HOLD_A_RUN) as process:
        async with SqliteStore(path) as store:
            session = await load_session(store, "s")
            assert session is not None
            assert session.status == "running"
            kill(process)
            async with session.run("go on"):
                assert [run.status for run in session.runs] == ["aborted", "running"]


async def test_a_living_process_of_this_host_is_not_displaced_before_an_hour(path: Path) -> None:
    """However impatient the claimant is, and neither is its status touched by those who load the session."""
    now = 0
    with waiting_process(path, HOLD_A_RUN) as process:
        async with SqliteStore(path) as first:
            before = await first.load("s")
            assert before is not None
        started = before.updated_at
        async with SqliteStore(path, clock=lambda: started + now) as store:
            for now in (0, STALE_AFTER_MS * 2, RUN_OWNER_HOLD_MS - 60_000):  # noqa: B007 -- the clock reads it
                session = await load_session(store, "s")
                assert session is not None
                assert (session.status, session.interrupted) == ("running", None)
                with pytest.raises(RunInProgressError) as refused:
                    await session.run("hello", stale_after_ms=0).__aenter__()
                assert refused.value.holder is not None
                assert refused.value.holder.pid == process.pid
            after = await store.load("s")
            assert after is not None
            assert (after.status, after.epoch, after.run_owner) == (before.status, before.epoch, before.run_owner)
            assert after.runs == before.runs
            now = RUN_OWNER_HOLD_MS * 2
            session = await load_session(store, "s")
            assert session is not None
            async with session.run("hello"):
                pass


async def test_of_two_processes_that_claim_at_once_one_runs(path: Path) -> None:
    async with SqliteStore(path) as store:
        await (await create_session(store, id="s")).update_status("idle")
    racer = """
    session = await load_session(store, "s")
    await wait()
    try:
        async with session.run("hello"):
            say("won")
            sys.stdin.readline()
    except RunInProgressError:
        say("refused")
    """
    with waiting_process(path, racer) as one, waiting_process(path, racer) as two:
        for process in (one, two):
            _write(process)
        heard = {_read(one), _read(two)}
        assert heard == {"won\n", "refused\n"}


def _write(process: Any) -> None:
    process.stdin.write("\n")
    process.stdin.flush()


def _read(process: Any) -> str:
    return str(process.stdout.readline())
