"""What a row of the route table says."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

import msgspec

from zidane_core.records import Record

from .texts import to_segment

Kind: TypeAlias = Literal["text", "text or null", "count", "integer", "word"]


class Query(msgspec.Struct, frozen=True):
    """A query parameter. `word` takes one of `words`; `text or null` also the word `null`, for "without one"."""

    name: str
    kind: Kind
    doc: str
    words: tuple[str, ...] = ()


class Route(msgspec.Struct, frozen=True):
    """A call. `path` holds the names of ids in braces; `answer` is what a call that succeeds gets, with status 200."""

    name: str
    method: Literal["GET", "PUT", "POST", "PATCH", "DELETE"]
    path: str
    doc: str
    answer: type[Record]
    body: type[Record] | None = None
    query: tuple[Query, ...] = ()
    problems: tuple[str, ...] = ()
    """Slugs of the problems that only some routes have."""
    streams: bool = False
    """The answer also comes as lines, one record each."""
    on_session: bool = True
    """It is about a session, which has a revision and may have a run; a schedule has neither."""

    def at(self, **ids: str) -> str:
        """The path for these ids."""
        return re.sub(r"{(\w+)}", lambda found: to_segment(ids[found[1]]), self.path)

    @property
    def writes(self) -> bool:
        """The headers of a guard are honoured, and a token that may only read is refused."""
        return self.method != "GET"

    @property
    def moves_session(self) -> bool:
        """A revision and a fence can guard it."""
        return self.writes and self.on_session

    @property
    def ids(self) -> list[str]:
        return re.findall(r"{(\w+)}", self.path)
