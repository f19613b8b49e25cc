"""A cancelled call has happened wholly or not at all, and the store goes on."""

from __future__ import annotations

import asyncio
from itertools import count
from pathlib import Path

import pytest

from zidane_store_sqlite import SqliteStore

from .driving import cancelled_at
from .sample import READS, WRITES, Write, filled, header, turn


async def picture(store: SqliteStore) -> object:
    """All that a user sees, but for revisions and times."""
    await store.health()  # runs on the writer, behind whatever is still going on there
    session = await store.load("s")
    created = await store.load("new")
    return (
        None if session is None else (session.turns, session.runs, session.metadata, session.status),
        None if created is None else created.turns,
        await store.find_send_request("s", "sent"),
        await store.find_send_request("s", "other"),
        [artifact.id for artifact in await store.list_artifacts()],
        await store.list_schedules(),
        await store.list_schedule_fires("daily", 9),
    )


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
async def test_a_write_cancelled_anywhere_happens_wholly_or_not_at_all(tmp_path: Path, write: Write) -> None:
    """At each suspension, cancelled there and at every one of its clean-up; then the same call works."""
    async with SqliteStore(tmp_path / "untouched.db", clock=lambda: 5) as store:
        await filled(store)
        before = await picture(store)
        await write(store)
        after = await picture(store)
    for suspension in count(1):
        async with SqliteStore(tmp_path / f"{suspension}.db", clock=lambda: 5) as store:
            await filled(store)
            call = write(store)
            assert asyncio.iscoroutine(call)
            if not await cancelled_at(suspension, call):
                break
            assert await picture(store) in (before, after)
            assert (await store.append_turns("other", [turn("t")], create=header("other"))).added == 1
    assert suspension > 1


@pytest.mark.parametrize("read", READS.values(), ids=READS)
async def test_a_cancelled_read_leaves_the_store_working(store: SqliteStore, read: Write) -> None:
    """No snapshot stays open: a checkpoint by another connection finds no reader."""
    await filled(store)
    for _ in range(5):
        call = read(store)
        assert asyncio.iscoroutine(call)
        await cancelled_at(1, call)
    for _ in range(2):  # once for each reader: what was given to them before is done by then
        await store.list_ids()
    busy, *_ = await store._writer.run(lambda raw: raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone())
    assert not busy


async def test_a_write_that_is_cancelled_while_it_waits_in_line_need_not_run(store: SqliteStore) -> None:
    """Of several calls cancelled in one go, all are wholly there or not, and the history has no gap."""
    await filled(store)
    calls = [store.append_turns("s", [turn(f"x{number}a"), turn(f"x{number}b")]) for number in range(20)]
    for call in calls:
        call.send(None)
    for call in calls:
        with pytest.raises(asyncio.CancelledError):
            call.throw(asyncio.CancelledError())
    await store.append_turns("s", [turn("last")])
    ids = [each.id for each in await store.get_turns("s", 2)]
    assert ids.pop() == "last"
    assert [each[:-1] for each in ids[::2]] == [each[:-1] for each in ids[1::2]]


async def test_opening_cancelled_anywhere_leaves_a_store_that_can_be_opened(path: Path) -> None:
    """At each suspension of opening: the next attempt works, on the same store object."""
    for suspension in count(1):
        store = SqliteStore(path)
        if not await cancelled_at(suspension, store.__aenter__()):
            await store.aclose()
            break
        async with store:
            assert await store.list_ids() == []
    assert suspension > 3, "a writer and two readers are opened one after another"


async def test_closing_cancelled_anywhere_is_done(path: Path) -> None:
    """At each suspension of closing: the store is closed, and the file is free."""
    for suspension in count(1):
        store = await SqliteStore(path).__aenter__()
        ended = not await cancelled_at(suspension, store.aclose())
        async with SqliteStore(path, busy_timeout=20) as other:
            assert await other.list_ids() == []
        if ended:
            break
    assert suspension > 1
