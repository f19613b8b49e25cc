"""Several processes on one file, and processes that are killed."""

from __future__ import annotations

import random
import signal
import sqlite3
import threading
from pathlib import Path

import pytest

from zidane_store_sqlite import SqliteStore

from .sample import all_well, child, header, turn

PROCESSES, APPENDS = 8, 200


async def test_eight_processes_append_to_one_session(path: Path) -> None:
    """1,600 turns: each there once, each process's own in its order, the counts right."""
    async with SqliteStore(path, busy_timeout=60) as store:
        await store.append_turns("s", [turn("first")], create=header())
        code = """
async def main():
    async with SqliteStore(path, busy_timeout=60, synchronous="normal") as store:
        for n in range(int(sys.argv[3])):
            await store.append_turns("s", [turn(f"{sys.argv[2]}-{n}")])
asyncio.run(main())
"""
        all_well([child(code, path, str(number), str(APPENDS)) for number in range(PROCESSES)])
        ids = [each.id for each in await store.get_turns("s", 1)]
        row = await store.get_meta("s")
    assert len(ids) == len(set(ids)) == PROCESSES * APPENDS
    for number in range(PROCESSES):
        own = [each for each in ids if each.startswith(f"{number}-")]
        assert own == [f"{number}-{n}" for n in range(APPENDS)]
    assert row is not None
    assert row.turn_count == PROCESSES * APPENDS + 1


BATCH = 3
APPENDER = """
import itertools
async def main():
    async with SqliteStore(path, busy_timeout=60, synchronous=sys.argv[3]) as store:
        async def append(lane):
            for n in itertools.count():
                ids = [f"{sys.argv[2]}-{lane}-{n}-{part}" for part in range(3)]
                await store.append_turns("s", [turn(each, "x" * 700) for each in ids], run=run(f"{sys.argv[2]}-{lane}"))
                print(ids[0][:-2], flush=True)
        await asyncio.gather(append(0), append(1))
asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("synchronous", "rounds"),
    [
        ("full", 12),
        ("normal", 8),
        *(pytest.param(each, 200, marks=pytest.mark.thorough) for each in ("full", "normal")),
    ],
)
@pytest.mark.timeout(1200)
async def test_a_killed_process_loses_nothing_it_was_told(path: Path, synchronous: str, rounds: int) -> None:
    """SIGKILL at any moment: every acknowledged batch is there, no batch is there in part, the file is sound."""
    seed = random.randrange(1_000_000)
    print(f"seed {seed}")
    moment = random.Random(seed)
    async with SqliteStore(path) as store:
        await store.append_turns("s", [turn("first")], create=header())
    acknowledged: list[str] = []
    for number in range(rounds):
        acknowledged += _killed_after(child(APPENDER, path, str(number), synchronous), moment.randrange(1, 12))
        if number % 5 == 4 or number == rounds - 1:
            await _check(path, acknowledged)
    assert len(acknowledged) >= rounds


def _killed_after(process, lines: int) -> list[str]:
    """The lines that a process said until it was killed, some of them after the n-th."""
    said: list[str] = []
    enough = threading.Event()

    def listen() -> None:
        for line in process.stdout:
            if line.endswith("\n"):
                said.append(line.strip())
            if len(said) >= lines:
                enough.set()
        enough.set()

    listener = threading.Thread(target=listen)
    listener.start()
    assert enough.wait(60)
    process.send_signal(signal.SIGKILL)
    listener.join()
    assert process.wait() == -signal.SIGKILL, process.stderr.read()
    process.stderr.close()
    process.stdout.close()
    return said


async def _check(path: Path, acknowledged: list[str]) -> None:
    async with SqliteStore(path) as store:
        session = await store.load("s")
        row = await store.get_meta("s")
    assert session is not None
    assert row is not None
    ids = [each.id for each in session.turns[1:]]
    batches = [each[:-2] for each in ids[::BATCH]]
    assert ids == [f"{batch}-{part}" for batch in batches for part in range(BATCH)]
    assert set(acknowledged) <= set(batches)
    assert row.turn_count == len(session.turns)
    assert {batch.rpartition("-")[0] for batch in batches} == {each.id for each in session.runs}
    raw = sqlite3.connect(path)
    assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    raw.close()
