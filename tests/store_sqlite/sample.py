"""Small records, the writes of a store by name, and child processes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from zidane_core.records import (
    Schedule,
    ScheduleFire,
    SessionArtifact,
    SessionHeader,
    SessionHistory,
    SessionRun,
    SessionTurn,
)
from zidane_store_sqlite import SqliteStore

Write = Callable[[SqliteStore], Awaitable[Any]]


def turn(turn_id: str, text: str = "hello", role: Any = "user") -> SessionTurn:
    return SessionTurn(id=turn_id, role=role, content=[{"type": "text", "text": text}], created_at=1)


def header(creation_id: str = "c", **fields: Any) -> SessionHeader:
    return SessionHeader(creation_id=creation_id, created_at=1, **fields)


def run(run_id: str = "r", status: Any = "running") -> SessionRun:
    return SessionRun(id=run_id, started_at=1, prompt="go", status=status)


async def filled(store: SqliteStore, session_id: str = "s") -> None:
    """A session with something of everything."""
    await store.append_turns(
        session_id, [turn("t1"), turn("t2")], create=header(), run=run(status="completed"), metadata={"title": "A"}
    )
    await store.claim_send_request(session_id, "sent", "print")
    await store.upsert_artifact(artifact("a1", session_id))
    await store.save_schedule(schedule())


def artifact(artifact_id: str, session_id: str = "s") -> SessionArtifact:
    return SessionArtifact(
        id=artifact_id, session_id=session_id, kind="file", uri=artifact_id, label="A", created_at=1, updated_at=1
    )


def schedule() -> Schedule:
    return Schedule(id="daily", prompt="go", enabled=True, next_fire_at=10, created_at=1, updated_at=1)


def first_turn(history: SessionHistory) -> SessionHistory:
    return SessionHistory(turns=history.turns[:1], runs=history.runs)


async def _save(store: SqliteStore) -> Any:
    session = await store.load("s")
    assert session is not None
    return await store.save(session)


async def _save_meta(store: SqliteStore) -> Any:
    session = await store.load("s")
    assert session is not None
    return await store.save_meta(session, keys=["title"])


WRITES: dict[str, Write] = {
    "append_turns": lambda store: store.append_turns("s", [turn("t3"), turn("t4")]),
    "append_turns, creating": lambda store: store.append_turns("new", [turn("t1")], create=header("n")),
    "save": _save,
    "save_meta": _save_meta,
    "patch_meta": lambda store: store.patch_meta("s", {"title": "B"}),
    "update_run": lambda store: store.update_run("s", run("r2")),
    "update_status": lambda store: store.update_status("s", "completed"),
    "mutate_history": lambda store: store.mutate_history("s", first_turn),
    "truncate": lambda store: store.truncate("s", "t2"),
    "claim_run": lambda store: store.claim_run("s"),
    "claim_send_request": lambda store: store.claim_send_request("s", "other", "print"),
    "settle_send_request": lambda store: store.settle_send_request("s", "sent", {"ok": True}),
    "upsert_artifact": lambda store: store.upsert_artifact(artifact("a2")),
    "delete_artifact": lambda store: store.delete_artifact("s", "a1"),
    "save_schedule": lambda store: store.save_schedule(schedule()),
    "claim_schedule_fire": lambda store: store.claim_schedule_fire("daily", 10, 20),
    "record_schedule_fire": lambda store: store.record_schedule_fire(
        ScheduleFire(id="f", schedule_id="daily", due_at=10, fired_at=11, status="started")
    ),
    "delete_schedule": lambda store: store.delete_schedule("daily"),
    "delete": lambda store: store.delete("s"),
}  # fmt: skip

READS: dict[str, Write] = {
    "load": lambda store: store.load("s"),
    "list_ids": lambda store: store.list_ids(),
    "list_meta": lambda store: store.list_meta(),
    "get_meta": lambda store: store.get_meta("s"),
    "get_turns": lambda store: store.get_turns("s", last=1),
    "find_send_request": lambda store: store.find_send_request("s", "sent"),
    "list_artifacts": lambda store: store.list_artifacts(),
    "list_schedules": lambda store: store.list_schedules(),
    "list_schedule_fires": lambda store: store.list_schedule_fires("daily", 5),
    "generate_session_id": lambda store: store.generate_session_id(),
    "generate_turn_id": lambda store: store.generate_turn_id(),
    "health": lambda store: store.health(),
}

_PRELUDE = """
import asyncio, os, sys
from tests.store_sqlite.sample import *
from zidane_store_sqlite import SqliteStore
path = sys.argv[1]
"""


def child(code: str, *arguments: str | Path, **options: Any) -> subprocess.Popen[str]:
    """A Python process that runs `code`, where `path` is its first argument."""
    return subprocess.Popen(
        [sys.executable, "-c", _PRELUDE + code, *map(str, arguments)],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def outcome(process: subprocess.Popen[str], timeout: float = 60) -> tuple[int, str, str]:
    """Its exit code and what it wrote to stdout and stderr."""
    out, err = process.communicate(timeout=timeout)
    return process.returncode, out, err


def all_well(processes: Sequence[subprocess.Popen[str]]) -> list[str]:
    """What processes said that must end well and complain about nothing."""
    ends = [outcome(process) for process in processes]
    assert [(code, err) for code, _, err in ends] == [(0, "")] * len(ends), ends
    return [out for _, out, _ in ends]
