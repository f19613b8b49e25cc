"""Turns and headers for the tests."""

from __future__ import annotations

from zidane_core.records import SessionHeader, SessionTurn


def turn(turn_id: str, text: str = "hello", role: str = "user") -> SessionTurn:
    return SessionTurn(id=turn_id, role=role, content=[{"type": "text", "text": text}], created_at=1)  # type: ignore[arg-type]


def header(creation_id: str = "creation", **fields: object) -> SessionHeader:
    return SessionHeader(creation_id=creation_id, created_at=1, **fields)  # type: ignore[arg-type]
