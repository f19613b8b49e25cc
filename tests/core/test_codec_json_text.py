"""`codec.from_json`: records from JSON text that came over a wire."""

from __future__ import annotations

import pytest

from zidane_core import codec
from zidane_core.errors import InvalidContentError
from zidane_core.records import SessionRun, SessionTurn


def turn(**changes: object) -> SessionTurn:
    plain = {"id": "t1", "role": "user", "content": [{"type": "text", "text": "hi"}], "createdAt": 1, **changes}
    return codec.from_json_object(SessionTurn, plain)


@pytest.mark.parametrize(
    "record",
    [
        turn(),
        turn(content=[{"type": "text", "text": "half \ud800 of a pair, and \0"}]),
        turn(content=[{"type": "new", "n": 2**70, "x": 1.0, "y": -0.0}], newKey={"kept": [None]}),
        turn(**{"\udc00": 1}),
    ],
    ids=["plain", "lone surrogate", "unknown block and key", "surrogate key"],
)
def test_what_json_of_gave_reads_back_equal(record: SessionTurn) -> None:
    """The text of stored bytes decodes to the record that was stored, unknown keys and odd text included."""
    text = codec.json_of(codec.encode(record))
    again = codec.from_json(SessionTurn, text)
    assert again == record
    assert codec.json_of(codec.encode(again)) == text


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'{"id":"r","status":"running","prompt":"p","startedAt":"now"}',
        b'{"id":"r","status":"odd","prompt":"p","startedAt":1}',
        b'{"id":"r","status":"running","prompt":"p","startedAt":1,"cost":NaN}',
        b'{"id":"r","status":"running","prompt":"p","startedAt":1,"cost":1e999}',
        b'{"id":"\xff","status":"running","prompt":"p","startedAt":1}',
        b'{"id":"r","status":"running","prompt":"p","startedAt":1,"deep":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
)
def test_what_is_no_such_record_is_refused(text: bytes) -> None:
    """Text that is not JSON, or JSON that is not the record, raises InvalidContentError and nothing else."""
    with pytest.raises(InvalidContentError):
        codec.from_json(SessionRun, text)
