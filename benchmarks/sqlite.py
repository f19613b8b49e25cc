"""The SQLite store beside raw `sqlite3`: `python benchmarks/sqlite.py [folder]`.

The limit of an append is the same transaction by hand: the same schema and settings, the same rows read and written
(head, idempotency look-ups, turns, head, counter), in the caller's thread, with everything encoded beforehand.
"""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
import sys
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
from _measure import Comparison, compare, report

from zidane_core import codec
from zidane_core.records import SessionHeader, SessionTurn
from zidane_core.store import Head
from zidane_store_sqlite import SqliteStore

ROUNDS = 60
APPENDS = 50
SESSIONS = 64

_names = itertools.count()


def turns_of_exchange() -> list[SessionTurn]:
    """A step of an agent: a tool call of 0.6 kB and its result of 1.9 kB, the means of real transcripts."""
    number = next(_names)
    call = {"type": "tool_call", "id": f"call-{number}", "name": "read", "input": {"path": "a/b.txt", "lines": 40}}
    result = {"type": "tool_result", "callId": f"call-{number}", "output": "src/main.py: 12 of 40 passed\n" * 60}
    return [
        SessionTurn(
            id=f"turn-{number}-a",
            role="assistant",
            content=[{"type": "text", "text": "I will look at the log. " * 14}, call],  # type: ignore[list-item]
            created_at=1_700_000_000_000 + number,
            run_id="run-1",
            usage={"input": 1200, "output": 85},
        ),
        SessionTurn(
            id=f"turn-{number}-b",
            role="user",
            content=[result],  # type: ignore[list-item]
            created_at=1_700_000_000_001 + number,
            run_id="run-1",
        ),
    ]


class RawAppends:
    """The limit: the store's transaction, by hand."""

    def __init__(self, path: Path, synchronous: str) -> None:
        self.db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self.db.execute(f"PRAGMA synchronous = {synchronous}")
        self.counts: dict[str, int] = defaultdict(lambda: 2)

    def prepare(self, session: str) -> tuple[str, bytes, list[tuple[str, str, bytes]]]:
        turns = [codec.encode_turn(turn) for turn in turns_of_exchange()]
        head = Head(id=session, creation_id="c", created_at=1, updated_at=1_790_000_000_000, rev=10, turn_count=100)
        return session, codec.encode_own(head), [(turn.id, turn.digest, turn.stored) for turn in turns]

    def append(self, session: str, head: bytes, turns: list[tuple[str, str, bytes]], updated_at: int) -> None:
        self.db.execute("BEGIN IMMEDIATE")
        self.step(session, head, turns, updated_at)
        self.db.execute("COMMIT")

    def step(self, session: str, head: bytes, turns: list[tuple[str, str, bytes]], updated_at: int) -> None:
        execute = self.db.execute
        number, *_ = execute(
            "SELECT number, head, updated_at, status, agent_id, project_root FROM sessions WHERE scope = ? AND id = ?",
            ("", session),
        ).fetchone()
        for turn_id, _, _ in turns:
            execute("SELECT digest FROM turns WHERE session = ? AND id = ?", (number, turn_id)).fetchone()
        execute("SELECT value FROM counter").fetchone()
        at = self.counts[session]  # the store has it from the head
        self.db.executemany(
            "INSERT INTO turns (session, position, id, digest, stored) VALUES (?, ?, ?, ?, ?)",
            [(number, place, *turn) for place, turn in enumerate(turns, at)],
        )
        self.counts[session] = at + len(turns)
        execute(
            "UPDATE sessions SET updated_at = ?, status = ?, agent_id = ?, project_root = ?, head = ? WHERE number = ?",
            (updated_at, "idle", None, None, head, number),
        )
        execute("UPDATE counter SET value = value + 1")


async def appends(folder: Path, synchronous: str, callers: int) -> Comparison:
    """Appends of two turns by concurrent callers, each to a session of its own, for each append."""
    path, raw_path = folder / f"{synchronous}-{callers}.db", folder / f"{synchronous}-{callers}-raw.db"
    async with (
        SqliteStore(path, synchronous=synchronous) as store,  # type: ignore[arg-type]
        SqliteStore(raw_path) as other,
    ):
        for each in (store, other):
            for number in range(callers):
                header = SessionHeader(creation_id="c", created_at=1)
                await each.append_turns(f"session-{number}", turns_of_exchange(), create=header)
        raw = RawAppends(raw_path, synchronous)
        rounds = APPENDS if callers == 1 else 4
        batches = iter([[turns_of_exchange() for _ in range(rounds * callers)] for _ in range(ROUNDS + 2)])
        raw_batches = iter(
            [[raw.prepare(f"session-{at % callers}") for at in range(rounds * callers)] for _ in range(ROUNDS + 2)]
        )

        async def caller(number: int, batch: list[list[SessionTurn]]) -> None:
            for turns in batch:
                await store.append_turns(f"session-{number}", turns)

        async def ours() -> None:
            batch = next(batches)
            if callers == 1:
                await caller(0, batch)
            else:
                await asyncio.gather(*(caller(number, batch[number::callers]) for number in range(callers)))

        async def limit() -> None:
            for at, (session, head, turns) in enumerate(next(raw_batches)):
                raw.append(session, head, turns, 1_790_000_000_000 + at)

        return await compare(ours, limit, units=rounds * callers, rounds=ROUNDS)


async def least(folder: Path, synchronous: str, callers: int) -> Comparison:
    """The least that any store on asyncio could do, by hand: encode, and run the statements in a worker thread.

    One caller pays the way to the thread and back. Many share a transaction, and wait for nothing else here.
    """
    path, raw_path = folder / f"{synchronous}-{callers}-least.db", folder / f"{synchronous}-{callers}-least-raw.db"
    for each in (path, raw_path):
        async with SqliteStore(each) as store:
            for number in range(callers):
                header = SessionHeader(creation_id="c", created_at=1)
                await store.append_turns(f"session-{number}", turns_of_exchange(), create=header)
    raw, hand = RawAppends(raw_path, synchronous), RawAppends(path, synchronous)
    rounds = APPENDS if callers == 1 else 4
    raw_batches = iter(
        [[raw.prepare(f"session-{at % callers}") for at in range(rounds * callers)] for _ in range(ROUNDS + 2)]
    )
    head = codec.encode_own(Head(id="s", creation_id="c", created_at=1, updated_at=1_790_000_000_000, turn_count=100))
    batches = iter([[turns_of_exchange() for _ in range(rounds * callers)] for _ in range(ROUNDS + 2)])
    worker = ThreadPoolExecutor(1)

    def group(batch: list[list[tuple[str, str, bytes]]]) -> None:
        hand.db.execute("BEGIN IMMEDIATE")
        for at, turns in enumerate(batch):
            hand.step(f"session-{at % callers}", head, turns, 1_790_000_000_000)
        hand.db.execute("COMMIT")

    async def ours() -> None:
        batch = next(batches)
        for first in range(0, len(batch), callers):
            encoded = [[codec.encode_turn(turn) for turn in turns] for turns in batch[first : first + callers]]
            rows = [[(turn.id, turn.digest, turn.stored) for turn in turns] for turns in encoded]
            await asyncio.get_running_loop().run_in_executor(worker, group, rows)

    async def limit() -> None:
        for at, (session, head, turns) in enumerate(next(raw_batches)):
            raw.append(session, head, turns, 1_790_000_000_000 + at)

    return await compare(ours, limit, units=rounds * callers, rounds=ROUNDS)


async def load(folder: Path) -> Comparison:
    """Loading 3,000 turns, beside a select and msgspec's decoding of the same JSON; for each turn."""
    path, count = folder / "load.db", 3_000
    async with SqliteStore(path) as store:
        await fill(store, "long", count)
        raw = sqlite3.connect(path)
        decode = msgspec.json.Decoder(SessionTurn).decode

        async def ours() -> None:
            session = await store.load("long")
            assert session is not None
            assert len(session.turns) == count

        async def limit() -> None:
            rows = raw.execute("SELECT stored FROM turns WHERE session = 1 ORDER BY position")
            assert len([decode(memoryview(stored)[12:]) for (stored,) in rows]) == count

        return await compare(ours, limit, units=count, rounds=20)


async def tail(folder: Path) -> Comparison:
    """The last 20 of 20,000 turns, beside the last 20 of 200."""
    async with SqliteStore(folder / "tail.db") as store:
        await fill(store, "long", 20_000)
        await fill(store, "short", 200)

        async def of(session: str) -> None:
            for _ in range(40):
                assert len(await store.get_turns(session, last=20)) == 20

        return await compare(lambda: of("long"), lambda: of("short"), units=40, rounds=20)


async def listing(folder: Path) -> Comparison:
    """`list_meta(limit=20)` among 10,000 sessions, beside the same among 100."""
    async with SqliteStore(folder / "many.db") as many, SqliteStore(folder / "few.db") as few:
        for store, count in ((many, 10_000), (few, 100)):
            for at in range(0, count, 100):
                await asyncio.gather(*(fill(store, f"session-{number}", 2) for number in range(at, at + 100)))

        async def of(store: SqliteStore) -> None:
            for _ in range(20):
                assert len((await store.list_meta(limit=20)).items) == 20

        return await compare(lambda: of(many), lambda: of(few), units=20, rounds=20)


async def fill(store: SqliteStore, session: str, count: int) -> None:
    header = SessionHeader(creation_id="c", created_at=1, metadata={"title": "A title"})
    for at in range(0, count, 200):
        turns = [turn for _ in range(min(200, count - at) // 2) for turn in turns_of_exchange()]
        await store.append_turns(session, turns, create=header if at == 0 else None)


async def main(folder: Path) -> bool:
    for synchronous, callers in (("normal", 1), ("full", 1), ("normal", SESSIONS), ("full", SESSIONS)):
        floor = await least(folder, synchronous, callers)
        what = f"by hand in a thread, {synchronous}, {callers} caller(s)"
        print(f"{what:<52} {floor.ours * 1e6:>9.1f} µs  limit {floor.limit * 1e6:>9.1f} µs  ratio {floor.ratio:5.2f}")
    results = [
        report("append of 2 turns, normal, 1 caller", await appends(folder, "normal", 1), 2.0),
        report("append of 2 turns, full, 1 caller", await appends(folder, "full", 1), 1.4),
        report("append of 2 turns, normal, 64 callers", await appends(folder, "normal", SESSIONS), 0.8),
        report("append of 2 turns, full, 64 callers", await appends(folder, "full", SESSIONS), 0.3),
        report("load of 3,000 turns, per turn", await load(folder), 2.0),
        report("last 20 of 20,000 turns, beside 20 of 200", await tail(folder), 1.3),
        report("list_meta(limit=20) in 10,000, beside 100", await listing(folder), 1.5),
    ]
    return all(results)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as name:
        sys.exit(0 if asyncio.run(main(Path(name))) else 1)
