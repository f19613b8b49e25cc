"""What a store makes of the file that it is given."""

from __future__ import annotations

import sqlite3
import subprocess
from pathlib import Path

import pytest

from zidane_core.errors import SchemaTooNewError, StoreError, StoreUnavailableError
from zidane_store_sqlite import SqliteStore, _filesystem, _opening
from zidane_store_sqlite._schema import APPLICATION_ID, migrations

from .sample import all_well, child, filled, header, turn

FRESH_ROUNDS = 12


async def opening_error(path: Path | str) -> BaseException:
    with pytest.raises(StoreError) as caught:
        await SqliteStore(path).__aenter__()
    return caught.value


async def test_an_empty_file_is_a_new_store(path: Path) -> None:
    """A file of no bytes, as `touch` makes it, is filled."""
    path.touch()
    async with SqliteStore(path) as store:
        await filled(store)
        assert (await store.health()).details["schema_version"] == len(migrations())


async def test_the_file_names_its_application(path: Path) -> None:
    """The header says whose it is and of which version, so `file` and we can tell."""
    async with SqliteStore(path):
        pass
    raw = sqlite3.connect(path)
    assert raw.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    assert raw.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    raw.close()


async def test_a_newer_schema_is_refused_and_left_alone(path: Path) -> None:
    """A file of a later version says which version it has."""
    async with SqliteStore(path) as store:
        await filled(store)
    _change(path, "PRAGMA user_version = 99")
    error = await opening_error(path)
    assert isinstance(error, SchemaTooNewError)
    assert (error.found, error.supported) == (99, len(migrations()))


@pytest.mark.parametrize(
    "statement", ["CREATE TABLE invoices (id)", "PRAGMA application_id = 7", "PRAGMA user_version = 3"]
)
async def test_another_applications_database_is_refused_and_left_alone(path: Path, statement: str) -> None:
    """A database that holds something else is not written to, not even its journal mode."""
    _change(path, statement)
    before = path.read_bytes()
    error = await opening_error(path)
    assert isinstance(error, StoreUnavailableError)
    assert "another application" in str(error)
    assert not error.retryable
    assert path.read_bytes() == before


async def test_a_file_that_is_no_database_is_damaged(path: Path) -> None:
    """Text in place of a database is reported with the path, and stays."""
    path.write_text("dear diary, " * 100)
    error = await opening_error(path)
    assert "damaged" in str(error)
    assert str(path) in str(error)
    assert isinstance(error.__cause__, sqlite3.DatabaseError)
    assert path.read_text().startswith("dear diary")


async def test_a_missing_folder_is_not_made(tmp_path: Path) -> None:
    """The folder has to be there."""
    error = await opening_error(tmp_path / "missing" / "a.db")
    assert isinstance(error, StoreUnavailableError)
    assert not error.retryable
    assert not (tmp_path / "missing").exists()


async def test_relative_absolute_and_linked_paths_are_one_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However the file is named, its users see each other, also after a change of folder."""
    monkeypatch.chdir(tmp_path)
    link = tmp_path / "link.db"
    link.symlink_to("a.db")
    async with SqliteStore("a.db") as relative:
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        async with SqliteStore(tmp_path / "a.db") as absolute, SqliteStore(link) as linked:
            await relative.append_turns("s", [turn("t1")], create=header())
            await absolute.append_turns("s", [turn("t2")])
            await linked.append_turns("s", [turn("t3")])
            for store in (relative, absolute, linked):
                assert [each.id for each in await store.get_turns("s")] == ["t1", "t2", "t3"]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.db", "elsewhere", "link.db"]


async def test_memory_is_private_to_its_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two stores on `:memory:` see nothing of one another; scoped handles share; no file is made."""
    monkeypatch.chdir(tmp_path)
    async with SqliteStore(":memory:") as one, SqliteStore(":memory:") as other:
        await one.append_turns("s", [turn("t")], create=header())
        scoped = one.in_scope("tenant")
        await scoped.append_turns("s", [turn("x")], create=header())
        assert [await each.list_ids() for each in (one, other, scoped)] == [["s"], [], ["s"]]
        assert one.capabilities.shared == "instance"
        assert one.capabilities.durable == "no"
    assert list(tmp_path.iterdir()) == []


async def test_it_declares_what_its_settings_promise(tmp_path: Path) -> None:
    """`full` survives a power cut, `normal` the process, and both are shared on the host."""
    full, normal = SqliteStore(tmp_path / "a"), SqliteStore(tmp_path / "a", synchronous="normal")
    assert (full.capabilities.durable, normal.capabilities.durable) == ("power", "process")
    assert full.capabilities.shared == "host"
    async with full, normal:
        for store, expected in ((full, "full"), (normal, "normal")):
            assert (await store.health()).details["synchronous"] == expected
    with pytest.raises(ValueError, match="synchronous"):
        SqliteStore(tmp_path / "a", synchronous="off")  # type: ignore[arg-type]


def test_processes_that_open_a_fresh_file_at_once_all_succeed(tmp_path: Path) -> None:
    """Four at a time: one makes the schema and switches the journal mode, nobody fails, nothing is made twice."""
    code = """
sys.stdin.readline()
async def main():
    for name in range(int(sys.argv[2])):
        async with SqliteStore(f"{path}/{name}.db", busy_timeout=30) as store:
            await store.append_turns(f"s{os.getpid()}", [turn("t")], create=header())
asyncio.run(main())
"""
    processes = [child(code, tmp_path, str(FRESH_ROUNDS), stdin=subprocess.PIPE) for _ in range(4)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    all_well(processes)
    for name in range(FRESH_ROUNDS):
        raw = sqlite3.connect(tmp_path / f"{name}.db")
        assert raw.execute("SELECT count(*) FROM sessions").fetchone() == (4,)
        assert raw.execute("SELECT count(*) FROM counter").fetchone() == (1,)
        raw.close()


async def test_opening_again_migrates_nothing(path: Path) -> None:
    """The second opening leaves the schema as it is."""
    schemas = []
    for _ in range(2):
        async with SqliteStore(path) as store:
            schemas.append(await store._writer.run(lambda raw: raw.execute("SELECT sql FROM sqlite_master").fetchall()))
    assert schemas[0] == schemas[1]


class TestTheFileSystem:
    @pytest.mark.parametrize("kind", ["nfs4", "cifs", "9p", "virtiofs", "fuse.sshfs"])
    async def test_one_that_cannot_share_memory_is_refused(
        self, path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
    ) -> None:
        """The error names the file system and the way out; the option takes it."""
        mounts = path.with_name("mountinfo")
        mounts.write_text(f"1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 0:5 / {path.parent} rw shared:1 - {kind} x rw\n")
        monkeypatch.setattr(_filesystem, "_MOUNTS", mounts)
        error = await opening_error(path)
        assert isinstance(error, StoreUnavailableError)
        assert kind in str(error)
        assert "any_file_system" in str(error)
        assert not path.exists()
        async with SqliteStore(path, any_file_system=True):
            pass

    def test_the_deepest_mount_counts(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A local disk below a network mount is local, and a name that only begins alike is another one."""
        mounts = tmp_path / "mountinfo"
        mounts.write_text(
            "1 0 8:1 / / rw - ext4 /dev/a rw\n"
            "2 1 0:5 / /srv rw - nfs x rw\n"
            "3 2 8:2 / /srv/my\\040disk\u0436 rw - xfs y rw\n",
            encoding="utf-8",
        )
        monkeypatch.setattr(_filesystem, "_MOUNTS", mounts)
        kinds = [_filesystem.file_system_of(path) for path in ("/srv/a", "/srv/my disk\u0436/a", "/srvx/a")]
        assert kinds == ["nfs", "xfs", "ext4"]

    def test_where_it_cannot_be_told_nothing_is_refused(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Other systems than Linux have no such list."""
        monkeypatch.setattr(_filesystem, "_MOUNTS", tmp_path / "missing")
        _filesystem.refuse_remote_file_system("/a")


async def test_a_sqlite_that_is_too_old_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says which version is there and which is needed."""
    monkeypatch.setattr(_opening.sqlite3, "sqlite_version_info", (3, 20, 0))
    assert "3.24.0 or newer" in str(await opening_error(path))


def _change(path: Path, statement: str) -> None:
    raw = sqlite3.connect(path)
    with raw:
        raw.execute(statement)
    raw.close()
