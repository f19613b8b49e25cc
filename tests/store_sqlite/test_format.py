"""Files that earlier versions wrote are read, for good. `formats/N.sql` is a dump of one with schema version N."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from zidane_core.errors import OperationConflictError
from zidane_core.records import RunOwner
from zidane_core.store import Guard
from zidane_store_sqlite import SqliteStore
from zidane_store_sqlite._schema import migrations

from .sample import all_well, child, turn

FORMATS = sorted(Path(__file__).with_name("formats").glob("*.sql"))


def restored(dump: Path, path: Path) -> Path:
    raw = sqlite3.connect(path)
    raw.executescript(dump.read_text(encoding="utf-8"))
    raw.close()
    return path


def test_each_version_has_a_dump() -> None:
    """A migration is not complete without a file to migrate in later tests."""
    assert [each.stem for each in FORMATS] == [str(number) for number in range(1, len(migrations()) + 1)]


@pytest.mark.parametrize("dump", FORMATS, ids=lambda dump: dump.stem)
async def test_a_file_of_an_earlier_version_has_all_it_had(path: Path, dump: Path) -> None:
    """Turns with their unknown keys and odd texts, runs, metadata, claims, requests, artifacts, schedules, tenants."""
    async with SqliteStore(restored(dump, path)) as store:
        session = await store.load("chat/1")
        assert session is not None
        assert [each.id for each in session.turns] == ["t1", "t2", "t3"]
        assert session.turns[0].content[0]["text"] == "Où est « le fichier » ? \U0001f4c4"  # type: ignore[typeddict-item]
        assert session.turns[1].content[0]["text"] == "lone \ud83d surrogate"  # type: ignore[typeddict-item]
        assert session.turns[1].content[1]["input"] == {"n": 2**60, "f": 1.5}  # type: ignore[typeddict-item]
        assert session.turns[2].extra == {"laterField": [1, None]}
        assert [(each.id, each.status) for each in session.runs] == [("r1", "completed")]
        assert session.metadata == {"title": "A title", "n": None}
        assert (session.agent_id, session.project_root, session.creation_id) == ("agent", "/p", "made")
        assert (session.status, session.run_owner) == ("running", RunOwner(host_id="h", pid=7, token="t"))
        assert await store.list_ids() == ["chat/1"]
        assert await store.in_scope("tenant").list_ids() == ["chat/1"]
        request = await store.find_send_request("chat/1", "req")
        assert request is not None
        assert request.result == {"ok": [True]}
        assert [each.id for each in await store.list_artifacts()] == ["a1"]
        assert [(each.next_fire_at, each.last_fire is not None) for each in await store.list_schedules()] == [
            (20, True)
        ]


@pytest.mark.parametrize("dump", FORMATS, ids=lambda dump: dump.stem)
async def test_a_file_of_an_earlier_version_goes_on(path: Path, dump: Path) -> None:
    """Its turns and operations are known when they come again, its claim holds, its revisions go on rising."""
    async with SqliteStore(restored(dump, path)) as store:
        session = await store.load("chat/1")
        assert session is not None
        again = await store.append_turns("chat/1", session.turns)
        assert (again.added, again.rev) == (0, session.rev)
        with pytest.raises(OperationConflictError):
            await store.append_turns("chat/1", [turn("x")], guard=Guard(op_id="op-1"))
        written = await store.append_turns("chat/1", [turn("x")], guard=Guard(fence=session.epoch))
        assert written.rev > (session.rev or 0)


@pytest.mark.parametrize("dump", FORMATS, ids=lambda dump: dump.stem)
def test_processes_that_migrate_at_once_all_succeed(path: Path, dump: Path) -> None:
    """Four open the same file of an earlier version; twice, so that the second time nothing is left to do."""
    restored(dump, path)
    code = """
async def main():
    async with SqliteStore(path, busy_timeout=60) as store:
        print(len(await store.get_turns("chat/1")))
asyncio.run(main())
"""
    for _ in range(2):
        assert all_well([child(code, path) for _ in range(4)]) == ["3\n"] * 4


async def test_a_migrated_file_is_like_a_new_one(tmp_path: Path) -> None:
    """Whatever version a file came from, its schema is the current one."""
    async with SqliteStore(tmp_path / "new.db") as store:
        expected = await _schema(store)
    for dump in FORMATS:
        async with SqliteStore(restored(dump, tmp_path / f"{dump.stem}.db")) as store:
            assert await _schema(store) == expected


async def _schema(store: SqliteStore) -> list[str]:
    rows = await store._writer.run(lambda raw: raw.execute("SELECT sql FROM sqlite_master ORDER BY name").fetchall())
    return [" ".join(sql.split()) for (sql,) in rows if sql is not None]
