"""Bad days: a full disk, a lock that is not given up, a file that may only be read, damaged rows."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from zidane_core.errors import CorruptRecordError, StoreBusyError, StoreFullError
from zidane_store_sqlite import SqliteStore
from zidane_store_sqlite._errors import store_error

from .sample import READS, WRITES, all_well, child, filled, header, run, turn

BIG = "x" * 100_000


async def rev_of(store: SqliteStore) -> int:
    row = await store.get_meta("s")
    assert row is not None
    return row.rev


async def limit_pages(store: SqliteStore, pages: int) -> None:
    await store._writer.run(lambda raw: raw.execute(f"PRAGMA max_page_count = {pages}").fetchone())


class TestAFullDisk:
    async def test_a_write_that_has_no_room_leaves_nothing(self, store: SqliteStore) -> None:
        """It is StoreFullError; what was there is there, reading and deleting work, and later so does writing."""
        await filled(store)
        await limit_pages(store, 40)
        with pytest.raises(StoreFullError) as caught:
            await store.append_turns("s", [turn("big1", BIG), turn("big2", BIG)])
        assert isinstance(caught.value.__cause__, sqlite3.OperationalError)
        assert [each.id for each in await store.get_turns("s")] == ["t1", "t2"]
        assert await store.delete("s")
        await limit_pages(store, 10_000)
        await store.append_turns("s", [turn("big1", BIG), turn("big2", BIG)], create=header("again"))

    async def test_those_that_still_fit_are_written(self, store: SqliteStore) -> None:
        """Of calls that share a transaction, one that is too large does not take the small ones down."""
        await filled(store)
        await limit_pages(store, 40)
        calls = [
            store.append_turns("s", [turn("a")]),
            store.append_turns("s", [turn("big1", BIG), turn("big2", BIG)]),
            store.append_turns("s", [turn("b")]),
        ]
        first, second, third = await asyncio.gather(*calls, return_exceptions=True)
        assert isinstance(second, StoreFullError)
        assert not isinstance(first, BaseException)
        assert not isinstance(third, BaseException)
        assert [each.id for each in await store.get_turns("s")] == ["t1", "t2", "a", "b"]


HOLD_THE_LOCK = """
import sqlite3
raw = sqlite3.connect(path, isolation_level=None)
raw.execute("BEGIN IMMEDIATE")
raw.execute("UPDATE counter SET value = value + 1")
print("held", flush=True)
sys.stdin.readline()
raw.execute("COMMIT")
print("released", flush=True)
"""


class TestALockHeldElsewhere:
    async def test_writes_wait_for_it_and_reads_do_not(self, path: Path, store: SqliteStore) -> None:
        """A call that waits for another process's transaction succeeds once that ends."""
        await filled(store)
        holder = _holder(path)
        waiting = asyncio.create_task(store.append_turns("s", [turn("t3")]))
        assert len(await store.get_turns("s")) == 2
        assert not waiting.done()
        _release(holder)
        assert (await waiting).added == 1

    async def test_past_the_timeout_it_is_busy_and_may_be_repeated(self, path: Path) -> None:
        """Every write is StoreBusyError, retryable, and nothing happened; afterwards the same call works."""
        async with SqliteStore(path, busy_timeout=0.01, clock=lambda: 5) as store:
            await filled(store)
            rev = await rev_of(store)
            holder = _holder(path)
            for name, write in WRITES.items():
                with pytest.raises(StoreBusyError) as caught:
                    await write(store)
                assert caught.value.retryable, name
                assert not caught.value.outcome_unknown
            _release(holder)
            assert await rev_of(store) == rev
            assert (await store.append_turns("s", [turn("t3")])).added == 1

    async def test_all_calls_of_a_group_are_told(self, path: Path) -> None:
        """Waiting calls fail together, not one timeout after another."""
        async with SqliteStore(path, busy_timeout=0.01) as store:
            await filled(store)
            holder = _holder(path)
            calls = [store.append_turns("s", [turn(f"x{n}")]) for n in range(10)]
            answers = await asyncio.gather(*calls, return_exceptions=True)
            _release(holder)
            assert {type(answer) for answer in answers} == {StoreBusyError}


def _holder(path: Path):
    import subprocess

    process = child(HOLD_THE_LOCK, path, stdin=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def _release(process) -> None:
    assert process.communicate("go\n", timeout=30) == ("released\n", "")


async def test_no_call_lets_go_of_sqlites_locks(path: Path) -> None:
    """While this process is writing, another stays locked out whatever else is called here.

    Opening and closing the database file or its companions beside SQLite would drop the locks of the whole process.
    """
    async with SqliteStore(path) as store, SqliteStore(path, busy_timeout=0.01) as beside:
        await filled(store)
        await store._writer.run(lambda raw: raw.execute("BEGIN IMMEDIATE"))
        for call in (*READS.values(), *WRITES.values()):
            await asyncio.gather(call(beside), return_exceptions=True)
            async with SqliteStore(path, busy_timeout=0.01):
                pass
        code = """
import sqlite3
raw = sqlite3.connect(path, isolation_level=None, timeout=0.01)
try:
    raw.execute("BEGIN IMMEDIATE")
    print("got it")
except sqlite3.OperationalError as error:
    print(error)
"""
        assert all_well([child(code, path)]) == ["database is locked\n"]
        await store._writer.run(lambda raw: raw.execute("ROLLBACK"))


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may use, unlike pytest's."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


async def test_a_read_only_file_can_be_read(open_folder: Path) -> None:
    """Opening and reading work, a write is StoreReadOnlyError. (Tried as a user who is not root, who may write all.)"""
    path = open_folder / "sessions.db"
    async with SqliteStore(path) as store:
        await filled(store)
    path.chmod(0o444)
    code = """
from zidane_core.errors import StoreReadOnlyError
async def load_all_modules():
    async with SqliteStore(":memory:"):
        pass
asyncio.run(load_all_modules())
if os.getuid() == 0:
    os.setuid(65534)
async def main():
    async with SqliteStore(path) as store:
        print(len(await store.get_turns("s")), await store.list_ids())
        try:
            await store.append_turns("s", [turn("t3")])
        except StoreReadOnlyError as error:
            print("read-only", error.__cause__.sqlite_errorname)
asyncio.run(main())
"""
    assert all_well([child(code, path)]) == ["2 ['s']\nread-only SQLITE_READONLY\n"]


OF_S = "(SELECT number FROM sessions WHERE id = 's')"
DAMAGE = {
    "a byte of a turn": (
        "UPDATE turns SET stored = replace(CAST(stored AS TEXT), 'hello', 'hallo') WHERE position = 1",
        "turn 1",
    ),
    "a turn cut short": (
        f"UPDATE turns SET stored = substr(stored, 1, 40) WHERE position = 0 AND session = {OF_S}",
        "turn 0",
    ),
    "a turn of another type": ("UPDATE turns SET stored = 7 WHERE position = 1", "turn 1"),
    "a missing turn": ("DELETE FROM turns WHERE position = 1", "the history"),
    "the head": ("UPDATE sessions SET head = substr(head, 1, 50) WHERE id = 's'", "the header"),
    "the head of another type": ("UPDATE sessions SET head = 'x' WHERE id = 's'", "the header"),
    "an index column": ("UPDATE sessions SET updated_at = updated_at + 1 WHERE id = 's'", "the header"),
    "a run": ("UPDATE items SET stored = x'00' WHERE kind = 'run' AND key = 'r'", "run 'r'"),
    "the metadata": (f"UPDATE items SET stored = x'00' WHERE kind = 'metadata' AND owner = {OF_S}", "the metadata"),
}


@pytest.mark.parametrize(("statement", "where"), DAMAGE.values(), ids=DAMAGE)
async def test_damage_is_named_and_stays_where_it_is(
    path: Path, store: SqliteStore, statement: str, where: str
) -> None:
    """The error names session and place; other sessions can be read; a repair tool gets the rest with a report.

    And a damaged session can be removed.
    """
    await filled(store)
    await store.append_turns("other", [turn("t1")], create=header(), run=run("mine"))
    _damage(path, statement)
    with pytest.raises(CorruptRecordError) as caught:
        await store.load("s")
    assert (caught.value.session_id, caught.value.where) == ("s", where)
    assert [each.id for each in await store.get_turns("other")] == ["t1"]
    if where != "the header":
        rest = await store.load("s", damaged="skip")
        assert rest is not None
        assert [each.where for each in rest.damage or ()] == [where]
    assert await store.delete("s")
    assert await store.load("s") is None
    assert [each.id for each in await store.get_turns("other")] == ["t1"]


async def test_a_damaged_page_is_a_damaged_store(path: Path) -> None:
    """Where SQLite itself finds the file malformed, the error says so with its cause."""
    async with SqliteStore(path) as store:
        await store.append_turns("s", [turn(f"t{n}", "x" * 2000) for n in range(50)], create=header())
    content = bytearray(path.read_bytes())
    for page in range(3, len(content) // 4096):
        content[page * 4096 : page * 4096 + 12] = b"\xff" * 12
    path.write_bytes(content)
    async with SqliteStore(path) as store:
        with pytest.raises(CorruptRecordError) as caught:
            await store.load("s")
        assert isinstance(caught.value.__cause__, sqlite3.DatabaseError)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (sqlite3.SQLITE_BUSY, "StoreBusyError"),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, "StoreBusyError"),
        (sqlite3.SQLITE_LOCKED, "StoreBusyError"),
        (sqlite3.SQLITE_FULL, "StoreFullError"),
        (sqlite3.SQLITE_READONLY_DBMOVED, "StoreReadOnlyError"),
        (sqlite3.SQLITE_PERM, "PermissionDeniedError"),
        (sqlite3.SQLITE_CORRUPT_INDEX, "CorruptRecordError"),
        (sqlite3.SQLITE_NOTADB, "CorruptRecordError"),
        (sqlite3.SQLITE_CANTOPEN, "StoreUnavailableError"),
        (sqlite3.SQLITE_IOERR_WRITE, "StoreUnavailableError"),
        (None, "StoreUnavailableError"),
    ],
)
def test_each_code_of_sqlite_has_its_error(code: int | None, kind: str) -> None:
    """The table, code by code."""
    error = sqlite3.OperationalError("said")
    if code is not None:
        error.sqlite_errorcode = code
    assert type(store_error(error, "/a.db")).__name__ == kind


async def test_awkward_ids_are_just_ids(store: SqliteStore) -> None:
    """Quotes, wildcards, slashes, case, other scripts, 512 characters: none collides with another."""
    ids = [
        "a",
        "A",
        "a/b",
        "..",
        "a%",
        "a_",
        "'; DROP TABLE turns; --",
        "{x}",
        " ",
        "é",
        "e\u0301",
        "\U0001f600",
        "0",
        "1",
        "x" * 512,
    ]
    for session_id in ids:
        scoped = store.in_scope(session_id)
        for handle in (store, scoped):
            await handle.append_turns(session_id, [turn(session_id, session_id)], create=header())
    assert await store.list_ids() == sorted(ids, key=str.encode)
    for session_id in ids:
        assert await store.in_scope(session_id).list_ids() == [session_id]
        assert [each.id for each in await store.get_turns(session_id)] == [session_id]


async def test_deleting_leaves_no_rows_and_no_revision_comes_back(path: Path, store: SqliteStore) -> None:
    """All that a session had is gone, and a session of the same id starts from a later revision."""
    await filled(store)
    await store.delete_schedule("daily")
    last = await rev_of(store)
    await store.delete("s")
    raw = sqlite3.connect(path)
    assert [raw.execute(f"SELECT count(*) FROM {table}").fetchone() for table in ("sessions", "turns", "items")] == [
        (0,)
    ] * 3
    raw.close()
    assert (await store.append_turns("s", [turn("t1")], create=header())).rev > last


def _damage(path: Path, statement: str) -> None:
    raw = sqlite3.connect(path)
    with raw:
        assert raw.execute(statement).rowcount == 1
    raw.close()
