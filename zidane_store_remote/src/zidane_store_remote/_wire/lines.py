"""A history as lines (NDJSON), so that neither end holds its text as a whole.

The first line is a `HistoryHead`, which says how many turns and runs follow, one a line. A body with fewer or more is
not a shorter history but a broken answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from msgspec.structs import replace

from zidane_core import codec
from zidane_core.records import Record, SessionData, SessionRun, SessionTurn

from .bodies import HistoryHead, Turns
from .json_text import text_of

MEDIA_TYPE = "application/x-ndjson"
PIECE_BYTES = 1 << 18
"""Lines are sent in pieces of about this size."""


def to_lines(history: SessionData | Turns) -> Iterator[bytes]:
    """The history's lines, in pieces."""
    runs = history.runs if isinstance(history, SessionData) else ()
    session = replace(history, turns=[], runs=[]) if isinstance(history, SessionData) else None
    head = HistoryHead(turns=len(history.turns), runs=len(runs), session=session)
    records: Iterable[Record] = chain((head,), history.turns, runs)
    return _in_pieces(text_of(record) for record in records)


class HistoryReader:
    """Takes the lines of a history in whatever pieces they arrive. Raises ValueError for what is not one."""

    def __init__(self) -> None:
        self._head: HistoryHead | None = None
        self._turns: list[SessionTurn] = []
        self._runs: list[SessionRun] = []
        self._begun: list[bytes] = []
        """A line that is not whole yet."""

    def feed(self, piece: bytes) -> None:
        first, *more = piece.split(b"\n")
        self._begun.append(first)
        for line in more:
            self._take(b"".join(self._begun))
            self._begun = [line]

    def turns(self) -> list[SessionTurn]:
        """The turns, once all has been fed."""
        self._finished()
        return self._turns

    def session(self) -> SessionData:
        """The session, once all has been fed."""
        head = self._finished()
        if head.session is None:
            raise ValueError("the history has no session")
        return replace(head.session, turns=self._turns, runs=self._runs)

    def _take(self, line: bytes) -> None:
        if self._head is None:
            self._head = codec.from_json(HistoryHead, line)
        elif len(self._turns) < self._head.turns:
            self._turns.append(codec.from_json(SessionTurn, line))
        else:
            self._runs.append(codec.from_json(SessionRun, line))

    def _finished(self) -> HistoryHead:
        head = self._head
        if head is None or any(self._begun) or len(self._turns) != head.turns or len(self._runs) != head.runs:
            raise ValueError("the history is cut off")
        return head


def _in_pieces(lines: Iterable[bytes]) -> Iterator[bytes]:
    piece: list[bytes] = []
    size = 0
    for line in lines:
        piece += (line, b"\n")
        size += len(line)
        if size >= PIECE_BYTES:
            yield b"".join(piece)
            piece, size = [], 0
    yield b"".join(piece)
