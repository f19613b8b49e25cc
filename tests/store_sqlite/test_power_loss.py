"""What is left after the power went: nothing acknowledged is lost with `full`, and only the latest with `normal`.

The statements are the store's own: a trace on its writer records them while it runs a real workload, acknowledgements
among them. They are replayed on a connection whose VFS (apsw's) writes down every write and sync. A moment at which
the power goes is a place in that log: what was synced by then is on the disk, and of the rest each 512-byte sector is
there or not, as chance has it. Such images are opened with the SQLite that Python has, by the store.
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
from pathlib import Path
from typing import Any, Literal

import apsw
import pytest

from zidane_store_sqlite import SqliteStore

from .sample import header, turn

SECTOR = 512
ACKNOWLEDGED = "-- acknowledged "
IMAGES = 60

Event = tuple[Literal["write", "sync", "truncate", "ack"], str, int, bytes]


class Disk:
    """Everything that reached the VFS, in order. `name` is `db` or `wal`."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def after(self, event_count: int, chance: random.Random) -> tuple[dict[str, bytes], int]:
        """An image of the files as the power goes, and how many turns were acknowledged by then."""
        synced: dict[str, bytearray] = {"db": bytearray(), "wal": bytearray()}
        loose: dict[str, list[Event]] = {"db": [], "wal": []}
        acknowledged = 0
        for event in self.events[:event_count]:
            kind, name, number, _ = event
            if kind == "ack":
                acknowledged = number
            elif kind == "sync":
                for change in loose[name]:
                    _apply(synced[name], change)
                loose[name].clear()
            else:
                loose[name].append(event)
        for name, changes in loose.items():
            for change in changes:
                for part in _sectors(change):
                    if chance.random() < 0.5:
                        _apply(synced[name], part)
        return {name: bytes(content) for name, content in synced.items()}, acknowledged


def _sectors(change: Event) -> list[Event]:
    kind, name, offset, data = change
    if kind == "truncate":
        return [change]
    parts: list[Event] = []
    at = 0
    while at < len(data):
        size = min(len(data) - at, SECTOR - (offset + at) % SECTOR)
        parts.append(("write", name, offset + at, data[at : at + size]))
        at += size
    return parts


def _apply(content: bytearray, change: Event) -> None:
    kind, _, offset, data = change
    if kind == "truncate":
        del content[offset:]
        return
    if len(content) < offset:
        content.extend(bytes(offset - len(content)))
    content[offset : offset + len(data)] = data


class RecordingVFS(apsw.VFS):
    def __init__(self, disk: Disk) -> None:
        self.disk = disk
        super().__init__("recording", base="", iVersion=3)

    def xOpen(self, name: Any, flags: list[int]) -> Any:
        return RecordingFile(self.disk, name, flags)


class RecordingFile(apsw.VFSFile):
    def __init__(self, disk: Disk, name: Any, flags: list[int]) -> None:
        self.events = disk.events
        self.name = "wal" if flags[0] & apsw.SQLITE_OPEN_WAL else "db"
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        self.events.append(("write", self.name, offset, bytes(data)))
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:
        self.events.append(("truncate", self.name, newsize, b""))
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:
        self.events.append(("sync", self.name, 0, b""))
        super().xSync(flags)


async def recorded_statements(path: Path, synchronous: Literal["full", "normal"]) -> list[str]:
    """What the writer executes in a workload of single appends and bursts, with what was acknowledged in between."""
    log: list[str] = []
    async with SqliteStore(path, synchronous=synchronous) as store:
        await store._writer.run(lambda raw: raw.set_trace_callback(log.append))
        await store.append_turns("s", [turn("0")], create=header())
        log.append(f"{ACKNOWLEDGED}1")
        count = 1
        for burst in [1] * 30 + [5] * 10 + [1] * 30:
            turns = [turn(str(count + n), "x" * 900) for n in range(burst)]
            await asyncio.gather(*(store.append_turns("s", [each]) for each in turns))
            count += burst
            log.append(f"{ACKNOWLEDGED}{count}")
            if count in {25, 70}:  # in the middle of it, as the store does after more rows than fit here
                store._writer.submit(lambda raw: raw.execute("PRAGMA wal_checkpoint(RESTART)").fetchone())
    return log


def replayed(base: Path, statements: list[str], synchronous: str) -> Disk:
    """Run statements on a copy of a database file whose VFS records."""
    disk = Disk()
    disk.events += [("write", "db", 0, base.read_bytes()), ("sync", "db", 0, b"")]
    vfs = RecordingVFS(disk)
    connection = apsw.Connection(str(base), vfs="recording")
    for setting in ("locking_mode = EXCLUSIVE", f"synchronous = {synchronous}", "wal_autocheckpoint = 0"):
        connection.execute(f"PRAGMA {setting}").fetchall()
    for statement in statements:
        if statement.startswith(ACKNOWLEDGED):
            disk.events.append(("ack", "", int(statement.removeprefix(ACKNOWLEDGED)), b""))
        else:
            connection.execute(statement).fetchall()
    connection.close()
    vfs.unregister()
    return disk


@pytest.mark.timeout(600)
@pytest.mark.parametrize("images", [IMAGES, pytest.param(1500, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("synchronous", ["full", "normal"])
async def test_a_power_cut_loses_nothing_or_only_the_latest(
    tmp_path: Path, synchronous: Literal["full", "normal"], images: int
) -> None:
    """Whatever part of the unsynced data made it to the disk: the history is whole, up to where it ends."""
    base = tmp_path / "base.db"
    async with SqliteStore(base):
        pass
    statements = await recorded_statements(tmp_path / "real.db", synchronous)
    disk = replayed(base, statements, synchronous)
    chance = random.Random(7)
    lost = [await _turns_lost(tmp_path, disk, chance) for _ in range(images)]
    print(f"{synchronous}: {sum(map(bool, lost))} of {images} images lost turns, at most {max(lost)}")
    if synchronous == "full":
        assert max(lost) == 0
    else:
        assert max(lost) > 0, "otherwise the simulation would not cut anything"


async def _turns_lost(tmp_path: Path, disk: Disk, chance: random.Random) -> int:
    """Cut the power once, check what is there, and count the acknowledged turns that are not."""
    files, acknowledged = disk.after(chance.randrange(2, len(disk.events) + 1), chance)  # behind the file's creation
    path = tmp_path / "image.db"
    for suffix, name in (("", "db"), ("-wal", "wal")):
        path.with_name(path.name + suffix).write_bytes(files[name])
    async with SqliteStore(path) as store:
        session = await store.load("s")
        row = await store.get_meta("s")
        ids = [each.id for each in session.turns] if session is not None else []
        assert ids == [str(n) for n in range(len(ids))]
        assert row is None or row.turn_count == len(ids)
        again = await store.append_turns("s", [turn("0")], create=header())
        assert again.added == (not ids)
    raw = sqlite3.connect(path)
    assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    raw.close()
    return max(0, acknowledged - len(ids))
