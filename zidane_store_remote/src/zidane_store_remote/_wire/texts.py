"""Ids and other texts in paths, queries and headers.

In a path an id is always `~` and the base64url of its UTF-8 bytes, unpadded: `a/b`, `..` and `%2F` are then ids like
any other, and no proxy on the way can rewrite them. In queries and headers a text of letters, digits and `._:-` may
stand for itself; any other is written in the same way.
"""

from __future__ import annotations

import base64
import re

from zidane_core.errors import InvalidIdError

MARK = "~"
NULL = "null"
"""In a query: the value is absent, as in `agentId=null` for sessions without an agent."""

SEGMENT_PATTERN = "^~[A-Za-z0-9_-]+$"
_PLAIN = re.compile(r"[A-Za-z0-9._:-]+")


def to_segment(value: str) -> str:
    """The path segment of an id."""
    raw = value.encode("utf-8", "surrogatepass")  # filters may hold what ids may not; it matches nothing, on any store
    return MARK + base64.urlsafe_b64encode(raw).decode("ascii").rstrip("=")


def from_segment(segment: str) -> str:
    """The id of a path segment. One id has one segment: any other spelling is refused with InvalidIdError."""
    encoded = segment.removeprefix(MARK)
    try:
        raw = base64.b64decode(encoded + "=" * (-len(encoded) % 4), altchars=b"-_", validate=True)
        value = raw.decode("utf-8", "surrogatepass")
    except ValueError:
        value = ""
    if not value or to_segment(value) != segment:
        raise InvalidIdError("the path segment", segment, "is not ~ and the base64url of an id")
    return value


def to_text(value: str) -> str:
    """A text as a query or header carries it."""
    return value if _PLAIN.fullmatch(value) and value != NULL else to_segment(value)


def from_text(text: str) -> str:
    """The text that a query or header carries. Raises InvalidIdError."""
    if text == MARK:
        return ""
    return from_segment(text) if text.startswith(MARK) else text
