"""A history as lines (NDJSON), so that neither end holds its text as a whole.

The first line is a `HistoryHead`, which says how many turns and runs follow, one a line. A body with fewer or more is
not a shorter history but a broken answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from zidane_core import codec
from zidane_core.records import EXTRA_KEY, Record, SessionData, SessionRun, SessionTurn
from zidane_core.store import SessionTexts

from .bodies import HistoryHead, Turns
from .json_text import text_of

MEDIA_TYPE = "application/x-ndjson"
PIECE_BYTES = 1 << 18
"""Lines are sent in pieces of about this size."""

R = TypeVar("R", bound=Record)

_EXTRA_MARK = f'"{EXTRA_KEY}"'.encode()
_encode_lines = msgspec.json.Encoder().encode_lines
_DECODERS: dict[type[Record], msgspec.json.Decoder[Any]] = {
    kind: msgspec.json.Decoder(kind) for kind in (SessionTurn, SessionRun)
}


def to_lines(history: SessionData | Turns) -> Iterator[bytes]:
    """The history's lines, in pieces."""
    runs = history.runs if isinstance(history, SessionData) else ()
    session = replace(history, turns=[], runs=[]) if isinstance(history, SessionData) else None
    head = HistoryHead(turns=len(history.turns), runs=len(runs), session=session)
    yield text_of(head) + b"\n"
    yield from _in_pieces(history.turns)
    yield from _in_pieces(runs)


def texts_to_lines(texts: SessionTexts) -> Iterator[bytes]:
    """The same of a history that was never decoded."""
    yield text_of(HistoryHead(turns=len(texts.turns), runs=len(texts.runs), session=texts.session)) + b"\n"
    piece: list[bytes] = []
    size = 0
    for text in chain(texts.turns, texts.runs):
        piece.append(text)
        size += len(text)
        if size >= PIECE_BYTES:
            yield b"\n".join(piece) + b"\n"
            piece, size = [], 0
    if piece:
        yield b"\n".join(piece) + b"\n"


class HistoryReader:
    """Takes the lines of a history in whatever pieces they arrive. Raises ValueError for what is not one."""

    def __init__(self) -> None:
        self._head: HistoryHead | None = None
        self._turns: list[SessionTurn] = []
        self._runs: list[SessionRun] = []
        self._begun: list[bytes] = []
        """A line that is not whole yet."""

    def feed(self, piece: bytes) -> None:
        end = piece.rfind(b"\n")
        if end < 0:
            self._begun.append(piece)
            return
        whole = b"".join((*self._begun, piece[:end]))
        self._begun = [piece[end + 1 :]]
        self._take(whole.split(b"\n"))

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

    def _take(self, lines: list[bytes]) -> None:
        if self._head is None:
            self._head = codec.from_json(HistoryHead, lines.pop(0))
        more_turns = max(0, self._head.turns - len(self._turns))
        self._turns += _decoded(SessionTurn, lines[:more_turns])
        self._runs += _decoded(SessionRun, lines[more_turns:])

    def _finished(self) -> HistoryHead:
        head = self._head
        if head is None or any(self._begun) or len(self._turns) != head.turns or len(self._runs) != head.runs:
            raise ValueError("the history is cut off")
        return head


def _in_pieces(records: Sequence[Record]) -> Iterator[bytes]:
    at, many = 0, 8
    while at < len(records):
        batch = records[at : at + many]
        piece = _encoded(batch)
        yield piece
        at += len(batch)
        many = max(1, min(256, len(batch) * PIECE_BYTES // len(piece)))


def _encoded(records: Sequence[Record]) -> bytes:
    """A line for each; all in one go, unless one of them has unknown keys or text that UTF-8 cannot hold."""
    try:
        lines = _encode_lines(records)
    except UnicodeEncodeError:
        lines = _EXTRA_MARK
    return lines if _EXTRA_MARK not in lines else b"".join(text_of(record) + b"\n" for record in records)


def _decoded(kind: type[R], lines: list[bytes]) -> list[R]:
    """The records, likewise in one go where they are all plain."""
    text = b"\n".join(lines)
    try:
        records: list[R] = _DECODERS[kind].decode_lines(text) if _EXTRA_MARK not in text else []
    except ValueError:
        records = []
    return records if len(records) == len(lines) else [codec.from_json(kind, line) for line in lines]
