"""Larger JSON texts from those of their parts, which are not encoded again."""

from __future__ import annotations

from collections.abc import Iterable

from zidane_core import codec
from zidane_core.records import Record

MEDIA_TYPE = "application/json"


def text_of(record: Record) -> bytes:
    """The JSON text of a record whose parts were checked before."""
    return codec.json_of(codec.encode_own(record))


def array_of(texts: Iterable[bytes]) -> bytes:
    return b"[%b]" % b",".join(texts)


def object_of(**members: bytes | None) -> bytes:
    """An object of the members that are there."""
    return b"{%b}" % b",".join(b'"%b":%b' % (key.encode(), text) for key, text in members.items() if text is not None)
