"""Opaque cursors of listings by recency."""

from __future__ import annotations

import base64
import binascii

import msgspec

from .checks import check_time


def to_cursor(updated_at: int, session_id: str) -> str:
    """The cursor behind a row."""
    return base64.urlsafe_b64encode(msgspec.json.encode((updated_at, session_id))).decode().rstrip("=")


def from_cursor(cursor: str) -> tuple[int, str]:
    """The row behind which the next page begins. Raises ValueError."""
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        updated_at, session_id = msgspec.json.decode(raw, type=tuple[int, str])
        check_time("$[0]", updated_at)
        return updated_at, session_id
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"{cursor!r} is no cursor of this listing: pass the `next` of a page, unchanged") from error
