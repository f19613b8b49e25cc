"""Small records for checks, with every field open to be given."""

from __future__ import annotations

from typing import Any, TypeVar

from zidane_core.records import (
    Record,
    RunOwner,
    Schedule,
    ScheduleFire,
    SessionArtifact,
    SessionData,
    SessionHeader,
    SessionRun,
    SessionTurn,
)

R = TypeVar("R", bound=Record)

EPOCH_MS = 1_700_000_000_000
"""Some instant in 2023: stores' own clocks are past it."""


def turn(position: int, text: str | None = None, **fields: Any) -> SessionTurn:
    """The turn `t<position>`: user and assistant take turns."""
    return _made(
        SessionTurn,
        fields,
        id=f"t{position}",
        role="assistant" if position % 2 else "user",
        content=[{"type": "text", "text": f"turn {position}" if text is None else text}],
        created_at=EPOCH_MS,
    )


def turns(start: int, stop: int) -> list[SessionTurn]:
    return [turn(position) for position in range(start, stop)]


def run(run_id: str = "r0", **fields: Any) -> SessionRun:
    return _made(SessionRun, fields, id=run_id, status="running", prompt="do it", started_at=EPOCH_MS)


def header(creation_id: str, **fields: Any) -> SessionHeader:
    return _made(SessionHeader, fields, creation_id=creation_id, created_at=EPOCH_MS)


def owner(token: str = "kit", **fields: Any) -> RunOwner:  # noqa: S107 -- no password
    return _made(RunOwner, fields, host_id="host-of-the-kit", pid=1, token=token)


def snapshot(session_id: str, **fields: Any) -> SessionData:
    return _made(
        SessionData,
        fields,
        id=session_id,
        created_at=EPOCH_MS,
        updated_at=EPOCH_MS,
        status="idle",
        turns=[],
        runs=[],
        metadata={},
    )


def artifact(session_id: str, artifact_id: str, **fields: Any) -> SessionArtifact:
    return _made(
        SessionArtifact,
        fields,
        id=artifact_id,
        session_id=session_id,
        kind="file",
        uri=f"file:///{artifact_id}",
        label=f"the file {artifact_id}",
        created_at=EPOCH_MS,
        updated_at=EPOCH_MS,
    )


def schedule(schedule_id: str, **fields: Any) -> Schedule:
    return _made(
        Schedule,
        fields,
        id=schedule_id,
        prompt="wake up",
        enabled=True,
        next_fire_at=EPOCH_MS,
        created_at=EPOCH_MS,
        updated_at=EPOCH_MS,
    )


def fire(schedule_id: str, fire_id: str, **fields: Any) -> ScheduleFire:
    return _made(
        ScheduleFire,
        fields,
        id=fire_id,
        schedule_id=schedule_id,
        due_at=EPOCH_MS,
        fired_at=EPOCH_MS,
        status="started",
    )


def _made(kind: type[R], given: dict[str, Any], /, **otherwise: Any) -> R:
    return kind(**{**otherwise, **given})
