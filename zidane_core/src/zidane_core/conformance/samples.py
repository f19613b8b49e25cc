"""Small records for checks, with every field given."""

from __future__ import annotations

from typing import Any, cast

from zidane_core.records import (
    Role,
    RunOwner,
    Schedule,
    ScheduleFire,
    SessionArtifact,
    SessionData,
    SessionHeader,
    SessionRun,
    SessionTurn,
)

EPOCH_MS = 1_700_000_000_000
"""Some instant in 2023: stores' own clocks are past it."""


def turn(position: int, text: str | None = None, **fields: Any) -> SessionTurn:
    """The turn `t<position>`: user and assistant take turns."""
    return SessionTurn(
        **{
            "id": f"t{position}",
            "role": cast("Role", "assistant" if position % 2 else "user"),
            "content": [{"type": "text", "text": f"turn {position}" if text is None else text}],
            "created_at": EPOCH_MS,
            **fields,
        }
    )


def turns(start: int, stop: int) -> list[SessionTurn]:
    return [turn(position) for position in range(start, stop)]


def run(run_id: str = "r0", **fields: Any) -> SessionRun:
    return SessionRun(**{"id": run_id, "status": "running", "prompt": "do it", "started_at": EPOCH_MS, **fields})


def header(creation_id: str, **fields: Any) -> SessionHeader:
    return SessionHeader(**{"creation_id": creation_id, "created_at": EPOCH_MS, **fields})


def owner(token: str = "kit", **fields: Any) -> RunOwner:  # noqa: S107 -- no password
    return RunOwner(**{"host_id": "host-of-the-kit", "pid": 1, "token": token, **fields})


def snapshot(session_id: str, **fields: Any) -> SessionData:
    return SessionData(
        **{
            "id": session_id,
            "created_at": EPOCH_MS,
            "updated_at": EPOCH_MS,
            "status": "idle",
            "turns": [],
            "runs": [],
            "metadata": {},
            **fields,
        }
    )


def artifact(session_id: str, artifact_id: str, **fields: Any) -> SessionArtifact:
    return SessionArtifact(
        **{
            "id": artifact_id,
            "session_id": session_id,
            "kind": "file",
            "uri": f"file:///{artifact_id}",
            "label": f"the file {artifact_id}",
            "created_at": EPOCH_MS,
            "updated_at": EPOCH_MS,
            **fields,
        }
    )


def schedule(schedule_id: str, **fields: Any) -> Schedule:
    return Schedule(
        **{
            "id": schedule_id,
            "prompt": "wake up",
            "enabled": True,
            "next_fire_at": EPOCH_MS,
            "created_at": EPOCH_MS,
            "updated_at": EPOCH_MS,
            **fields,
        }
    )


def fire(schedule_id: str, fire_id: str, **fields: Any) -> ScheduleFire:
    return ScheduleFire(
        **{
            "id": fire_id,
            "schedule_id": schedule_id,
            "due_at": EPOCH_MS,
            "fired_at": EPOCH_MS,
            "status": "started",
            **fields,
        }
    )
