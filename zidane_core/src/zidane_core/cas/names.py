"""Names that every database can hold, made of ids of any kind.

A name has 1 to 100 characters of `[a-z0-9_-]`, starts with a letter, and is told apart without regard to case: it can
be a file name, a column value or a part of a path as it is. An id that is short and plain stays readable in its
token, any other is hashed; `n-` and `h-` keep the two apart. The real id stands in the record, and is compared there.

    group   n-_n-my-session          scope and session
            n-_shared                what a scope has besides sessions: its schedules
    key     head                     version, counters and the session's head
            turn-000000000042        a turn, by position
            place-n-turn7            position and digest of a turn, by its id
            item-n-run_n-run1        an item, by kind and key
"""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import NamedTuple

HEAD = "head"
"""The key that every group has, and that every commit writes."""

NAME_MAX_CHARS = 100

_PLAIN = re.compile(r"[a-z0-9-]{0,40}")
_LAST = "~"
"""Behind every character of a name."""


class Span(NamedTuple):
    """The keys from `start` up to, not including, `stop`, in byte order."""

    start: str
    stop: str

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self.start <= key < self.stop

    def covers(self, other: Span) -> bool:
        return self.start <= other.start and other.stop <= self.stop


def _below(prefix: str) -> Span:
    return Span(prefix, prefix + _LAST)


TURNS = _below("turn-")
PLACES = _below("place-")
ITEMS = _below("item-")
WHOLE_GROUP = Span("a", "z")


def group_prefix(scope: str) -> str:
    """What the names of all groups of a scope begin with, and no others."""
    return f"{_token(scope)}_"


def group_of(scope: str, session_id: str | None) -> str:
    """The group of a session, or the scope's own where it is None."""
    return group_prefix(scope) + ("shared" if session_id is None else _token(session_id))


def turn_key(position: int) -> str:
    return f"turn-{position:012}"


def turn_span(start: int, stop: int) -> Span:
    return Span(turn_key(start), turn_key(stop))


def place_key(turn_id: str) -> str:
    return f"place-{_token(turn_id)}"


def item_key(kind: str, key: str) -> str:
    return f"item-{_token(kind)}_{_token(key)}"


def item_span(kind: str) -> Span:
    return _below(f"item-{_token(kind)}_")


def _token(text: str) -> str:
    if _PLAIN.fullmatch(text):
        return f"n-{text}"
    return f"h-{blake2b(text.encode(), digest_size=20).hexdigest()}"
