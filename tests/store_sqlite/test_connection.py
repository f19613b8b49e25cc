"""The seam to aiosqlite, and what becomes of a store that is not closed as it should be."""

from __future__ import annotations

import asyncio
import inspect
import signal
import sqlite3
import threading
from importlib.metadata import requires
from pathlib import Path
from queue import SimpleQueue

import aiosqlite
import pytest

from zidane_core.errors import StoreClosedError, StoreForkedError
from zidane_store_sqlite import SqliteStore
from zidane_store_sqlite._connection import Connection

from .sample import child, filled, header, outcome, turn


def open_in_memory() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)


class TestWhatAiosqliteDoesNotPublish:
    """Each point that `_connection` relies on; a new release of aiosqlite is allowed in once these pass with it."""

    def test_the_version_is_pinned(self) -> None:
        """The dependency allows only the line that was looked at."""
        assert "aiosqlite<0.23,>=0.22.1" in (requires("zidane-store-sqlite") or [])

    def test_a_connection_takes_a_connector(self) -> None:
        """`Connection` is made from a function that connects."""
        assert list(inspect.signature(aiosqlite.Connection).parameters)[:2] == ["connector", "iter_chunk_size"]

    def test_an_entry_without_a_future_is_run_in_the_thread(self) -> None:
        """The queue takes (None, function), and the function runs in the connection's thread."""
        driver = _started(aiosqlite.Connection(open_in_memory, iter_chunk_size=64))
        assert isinstance(driver._tx, SimpleQueue)
        ran = SimpleQueue[int]()
        driver._tx.put_nowait((None, lambda: ran.put(threading.get_ident())))
        assert ran.get(timeout=5) == driver._thread.ident
        driver._tx.put_nowait((None, driver.stop))

    def test_stopping_from_the_thread_ends_it(self) -> None:
        """`stop` needs no event loop where none runs, and closes `_connection` behind the work that is queued."""
        driver = _started(aiosqlite.Connection(open_in_memory, iter_chunk_size=64))
        raw = driver._connection = open_in_memory()
        assert driver._conn is raw
        driver._tx.put_nowait((None, driver.stop))
        driver._thread.join(timeout=5)
        assert not driver._thread.is_alive()
        assert driver._connection is None
        with pytest.raises(sqlite3.ProgrammingError):
            raw.execute("SELECT 1")


def _started(driver: aiosqlite.Connection) -> aiosqlite.Connection:
    driver._thread.daemon = True
    driver._thread.start()
    return driver


async def test_work_runs_in_order_and_answers_or_raises() -> None:
    """A function's value comes back, and its error as itself."""
    connection = await Connection.open(open_in_memory)
    try:
        answers = await asyncio.gather(*(connection.run(lambda raw, n=n: (n, raw.total_changes)) for n in range(5)))
        assert answers == [(n, 0) for n in range(5)]
        with pytest.raises(ZeroDivisionError):
            await connection.run(lambda raw: 1 / 0)
    finally:
        await connection.close().wait()


async def test_a_failing_open_leaves_no_thread() -> None:
    """What `connect` raises reaches the caller, and the thread ends."""

    def fail() -> sqlite3.Connection:
        raise sqlite3.OperationalError("no")

    before = set(threading.enumerate())
    with pytest.raises(sqlite3.OperationalError):
        await Connection.open(fail)
    _join_new_threads(before)


async def test_a_cancelled_open_closes_what_it_opened() -> None:
    """Cancelled while the thread still connects: the connection is closed there, and the thread ends."""
    before = set(threading.enumerate())
    connecting, go_on = threading.Event(), threading.Event()
    opened: list[sqlite3.Connection] = []

    def connect() -> sqlite3.Connection:
        connecting.set()
        go_on.wait()
        opened.append(open_in_memory())
        return opened[0]

    task = asyncio.create_task(Connection.open(connect))
    await asyncio.to_thread(connecting.wait)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go_on.set()
    await asyncio.to_thread(_join_new_threads, before)
    with pytest.raises(sqlite3.ProgrammingError):
        opened[0].execute("SELECT 1")


def _join_new_threads(before: set[threading.Thread]) -> None:
    for thread in set(threading.enumerate()) - before:
        if thread.name.startswith("Thread-") and "_connection_worker" in thread.name:
            thread.join(timeout=10)
            assert not thread.is_alive()


async def test_three_hundred_stores_leave_no_descriptor_and_no_thread(path: Path) -> None:
    """Opening and closing is free of leaks."""
    before, counts = set(threading.enumerate()), []
    for _ in range(300):
        async with SqliteStore(path, synchronous="normal") as store:
            await store.list_ids()
        counts.append(sum(1 for _ in Path("/proc/self/fd").iterdir()))
    assert max(counts[1:]) <= counts[0]
    _join_new_threads(before)


def test_a_store_works_in_one_loop_after_another(path: Path) -> None:
    """An open store is not bound to the event loop that it was opened in."""
    store = SqliteStore(path)
    asyncio.run(store.__aenter__())
    assert asyncio.run(store.append_turns("s", [turn("t")], create=header())).added == 1
    assert asyncio.run(store.list_ids()) == ["s"]
    asyncio.run(store.aclose())
    with pytest.raises(StoreClosedError):
        asyncio.run(store.list_ids())


def test_a_loop_that_closes_first_harms_nobody(path: Path) -> None:
    """A call whose loop ended before its answer came takes effect, and the next loop finds a working store."""
    store = SqliteStore(path)
    asyncio.run(store.__aenter__())
    first = asyncio.new_event_loop()
    call = store.append_turns("s", [turn("t")], create=header())

    async def begin() -> None:
        call.send(None)  # up to where it waits for its answer; nobody ever takes it

    first.run_until_complete(begin())
    first.close()
    call.close()
    assert asyncio.run(store.list_ids()) in ([], ["s"])  # a reader's snapshot may be from before it
    assert asyncio.run(store.append_turns("s", [turn("t2")])).added == 1
    asyncio.run(store.aclose())


async def test_closing_is_done_even_when_it_is_cancelled(path: Path) -> None:
    """The connections close although nobody waits for it any more; closing again is fine."""
    before = set(threading.enumerate())
    store = await SqliteStore(path).__aenter__()
    await filled(store)
    closing = store.aclose()
    closing.send(None)
    with pytest.raises(asyncio.CancelledError):
        closing.throw(asyncio.CancelledError())
    await asyncio.to_thread(_join_new_threads, before)
    assert not path.with_name(path.name + "-wal").exists()
    await store.aclose()
    with pytest.raises(StoreClosedError):
        await store.list_ids()


FORGOTTEN = {
    "never closed": """
async def main():
    global store
    store = SqliteStore(path)
    await store.__aenter__()
    await filled(store)
asyncio.run(main())
""",
    "never closed and collected": """
import gc
async def main():
    store = await SqliteStore(path).__aenter__()
    await filled(store)
    del store
    gc.collect()
asyncio.run(main())
""",
    "raises before closing": """
async def main():
    store = await SqliteStore(path).__aenter__()
    await filled(store)
    sys.exit(0)
asyncio.run(main())
""",
    "cancelled while opening": """
async def main():
    opening = asyncio.create_task(SqliteStore(path).__aenter__())
    await asyncio.sleep(0)
    opening.cancel()
asyncio.run(main())
""",
    "the loop closes first": """
loop = asyncio.new_event_loop()
store = SqliteStore(path)
loop.run_until_complete(store.__aenter__())
call = store.append_turns("s", [turn("t")], create=header())
async def begin():
    call.send(None)
loop.run_until_complete(begin())
loop.close()
call.close()
""",
    "forked with an open store": """
store = SqliteStore(path)
asyncio.run(store.__aenter__())
asyncio.run(filled(store))
if os.fork():
    _, status = os.wait()
    assert status == 0, status
    asyncio.run(store.aclose())
""",
}


@pytest.mark.parametrize("code", FORGOTTEN.values(), ids=FORGOTTEN)
def test_a_program_that_forgets_to_close_ends_quietly(path: Path, code: str) -> None:
    """The interpreter exits by itself and prints nothing."""
    process = child(code, path)
    returncode, _, err = outcome(process, timeout=20)
    assert (returncode, err) == (0, "")


def test_a_program_that_is_interrupted_while_it_waits_ends(path: Path) -> None:
    """SIGINT ends a program with an open store."""
    process = child(
        """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it

async def main():
    async with SqliteStore(path):
        print("open", flush=True)
        while True:  # asyncio misses a signal that comes just before it sleeps, until something wakes it
            await asyncio.sleep(0.05)
asyncio.run(main())
""",
        path,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"
    process.send_signal(signal.SIGINT)
    _, _, err = outcome(process)
    assert "KeyboardInterrupt" in err
    assert "zidane_store_sqlite" not in err


def test_a_fork_may_not_use_its_parents_store(path: Path) -> None:
    """The child gets StoreForkedError, exits, and the parent goes on undisturbed."""
    process = child(
        """
store = SqliteStore(path)
asyncio.run(store.__aenter__())
if os.fork() == 0:
    from zidane_core.errors import StoreForkedError
    try:
        asyncio.run(store.list_ids())
    except StoreForkedError as error:
        assert error.used_in == os.getpid()
        asyncio.run(store.aclose())
        print("refused", flush=True)
else:
    os.wait()
    asyncio.run(filled(store))
    print(asyncio.run(store.list_ids()))
    asyncio.run(store.aclose())
""",
        path,
    )
    assert outcome(process) == (0, "refused\n['s']\n", "")
    assert StoreForkedError is not None
