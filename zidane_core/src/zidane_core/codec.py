"""Records to stored bytes and back: lossless, strict, the same for every store.

Stored bytes are a 12-byte envelope and JSON:

    1j:1c291ca3:{"id":"t1","role":"user",...}
    ││ └ CRC-32 of the JSON, in hex: a flipped bit is an error, never other data
    │└ j: UTF-8 JSON; e: ASCII JSON with escapes, for text that UTF-8 cannot hold (lone surrogates)
    └ format number

Before the first byte is stored, a value is encoded, decoded again and compared, types included. So what comes back is
what went in, and what JSON would have changed is refused by every store alike. Key order and unknown keys are kept.
"""

from __future__ import annotations

import json
import marshal
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import blake2b
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast
from zlib import crc32

import msgspec
from msgspec.structs import astuple

from ._json_check import MAX_DEPTH, check_json, join_surrogates
from ._unknown_keys import split_unknown, with_extra
from .blocks import JsonValue
from .errors import CorruptRecordError, InvalidContentError
from .records import EXTRA_KEY, Record, SessionRun, SessionTurn

R = TypeVar("R", bound=Record)

OnDamage: TypeAlias = Callable[[CorruptRecordError], object]

_ENVELOPE = 12
_EXTRA_MARK = f'"{EXTRA_KEY}"'.encode()

_encode = msgspec.json.Encoder().encode
_encode_sorted = msgspec.json.Encoder(order="sorted").encode


class EncodedTurn(NamedTuple):
    """A turn as stores keep it. `digest` is equal for equal turns, whatever format their bytes have."""

    id: str
    role: str
    stored: bytes
    digest: str


class EncodedRun(NamedTuple):
    """A run as stores keep it."""

    id: str
    stored: bytes


class _Json(NamedTuple):
    raw: bytes
    flavour: bytes
    """`j` or `e`, as in the envelope."""
    is_plain: bool = False
    """The record is known to have no unknown keys, and nothing in it looks like the codec's own."""


# -- records ----------------------------------------------------------------------------------


def encode(record: Record) -> bytes:
    """The bytes to store for a record.

    Raises:
        InvalidContentError: it holds something that JSON cannot hold unchanged.
    """
    return _seal(_checked_json(record))


def decode(kind: type[R], stored: bytes, *, session_id: str | None = None, where: str = "a record") -> R:
    """The record that `stored` holds; a fresh object at every call.

    Raises:
        CorruptRecordError: the bytes are damaged, or not such a record; it names `session_id` and `where`.
    """
    try:
        return _from_json(kind, _open(stored))
    except (TypeError, ValueError) as error:  # not even bytes, or not such JSON: msgspec's errors are ValueErrors
        raise CorruptRecordError(session_id, where, str(error)) from error


def decode_many(
    kind: type[R], stored: Sequence[bytes], *, session_id: str, where: Callable[[int], str], damaged: OnDamage
) -> list[R]:
    """The records of many stored values: `decode` for each, but faster.

    `where` names the value at an index. One that is damaged is left out, once `damaged` was called with its
    CorruptRecordError and did not raise it.
    """
    decoder: msgspec.json.Decoder[R] = _decoder(kind)
    read = decoder.decode
    records: list[R] = []
    for at, value in enumerate(stored):
        try:
            raw = value[_ENVELOPE:]
            if value[:_ENVELOPE] == _envelope(b"j", raw) and not _has_mark(raw):
                records.append(read(raw))
                continue
        except (ValueError, TypeError):  # an unknown key, or damage: the slow way tells
            pass
        try:
            records.append(decode(kind, value, session_id=session_id, where=where(at)))
        except CorruptRecordError as error:
            damaged(error)
    return records


def stored_json(stored: bytes, *, session_id: str, where: str) -> bytes:
    """The JSON text in stored bytes, once its checksum was checked, for handing it on undecoded.

    Raises:
        CorruptRecordError: the bytes are damaged.
    """
    try:
        return _open(stored).raw
    except ValueError as error:
        raise CorruptRecordError(session_id, where, str(error)) from error


def encode_turn(turn: SessionTurn) -> EncodedTurn:
    checked = _checked_json(turn)
    return EncodedTurn(turn.id, turn.role, _seal(checked), _digest(turn, checked))


def encode_run(run: SessionRun) -> EncodedRun:
    return EncodedRun(run.id, encode(run))


def json_of(stored: bytes) -> bytes:
    """The JSON text in stored bytes, without the envelope and unchecked: for putting it into a larger document."""
    return stored[_ENVELOPE:]


def encode_own(record: Record) -> bytes:
    """`encode` without the comparison, for a store's own records, whose parts were checked when they came in."""
    try:
        raw = _encode(record)
    except UnicodeEncodeError:
        return _seal(_Json(_escaped(with_extra(record)), b"e"))
    return _seal(_Json(_encode(with_extra(record)) if _has_mark(raw) else raw, b"j"))


def digest(record: Record) -> str:
    """32 hex digits, equal for records with equal content: keys sorted, however unknown keys were kept."""
    return _digest(record, _checked_json(record))


def copy_of(record: R) -> R:
    """What storing and loading the record would give: the caller's own objects are not shared.

    Raises:
        InvalidContentError: it holds something that JSON cannot hold unchanged.
    """
    return _from_json(type(record), _checked_json(record))


# -- plain values and objects -----------------------------------------------------------------


def encode_value(value: JsonValue, path: str = "$") -> bytes:
    """The bytes to store for a plain JSON value. Raises InvalidContentError, with a path below `path`."""
    check_json(value, path)
    try:
        return _seal(_Json(_encode(value), b"j"))
    except UnicodeEncodeError:
        return _seal(_Json(_escaped(value), b"e"))


def check_value(value: Any, path: str = "$") -> Any:
    """A copy of a plain JSON value as storing and loading would give it. Raises InvalidContentError."""
    return decode_value(encode_value(value, path))


def decode_value(stored: bytes, *, session_id: str | None = None, where: str = "a value") -> Any:
    try:
        return _loads(_open(stored))
    except (TypeError, ValueError) as error:
        raise CorruptRecordError(session_id, where, str(error)) from error


def to_json_object(record: Record) -> dict[str, Any]:
    """The record as plain dicts and lists, as it looks on the wire; fresh, and yours to change."""
    return cast("dict[str, Any]", _loads(_checked_json(record)))


def from_json_object(kind: type[R], value: object) -> R:
    """The record that a plain object describes.

    Raises:
        InvalidContentError: it is not such a record.
    """
    check_json(value, "$")
    try:
        return msgspec.convert(split_unknown(kind, join_surrogates(value)), kind)
    except msgspec.ValidationError as error:
        raise InvalidContentError("$", str(error)) from error


def from_json(kind: type[R], text: bytes) -> R:
    """The record that JSON text describes: what `json_of` gave, or what another program wrote. Unknown keys are kept.

    Raises:
        InvalidContentError: it is not JSON, or not such a record.
    """
    try:
        return _from_json(kind, _Json(text, b"j"))
    except msgspec.ValidationError as error:
        raise InvalidContentError("$", str(error)) from error
    except (ValueError, RecursionError):  # perhaps only a lone surrogate, which the fast decoder does not take
        return _from_unusual_json(kind, text)


# -- how it is done ---------------------------------------------------------------------------


def _from_unusual_json(kind: type[R], text: bytes) -> R:
    try:
        return _from_json(kind, _Json(text, b"e"))
    except (ValueError, RecursionError) as error:
        raise InvalidContentError("$", str(error)) from error


def _checked_json(record: Record) -> _Json:
    """The record's JSON, once it is known to decode to an equal record."""
    try:
        raw = _encode(record)
        is_plain = not _has_mark(raw)
        if not is_plain:
            raw = _encode(with_extra(record))
        checked = _Json(raw, b"j", is_plain)
        if len(raw) > MAX_DEPTH and raw.count(b"}") + raw.count(b"]") > MAX_DEPTH:  # perhaps nested too deeply: look
            check_json(record, "$")
        if _same(_from_json(type(record), checked), record):
            return checked
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        return _checked_slowly(record, error)
    return _checked_slowly(record, None)


def _checked_slowly(record: Record, error: Exception | None) -> _Json:
    """Name what JSON cannot hold, or keep what only escapes can hold."""
    if isinstance(error, InvalidContentError):
        raise error
    check_json(record, "$")
    plain = join_surrogates(with_extra(record))
    checked = _Json(_escaped(plain), b"e")
    try:
        if _same(_from_json(type(record), checked), msgspec.convert(split_unknown(type(record), plain), type(record))):
            return checked
    except msgspec.ValidationError as mismatch:
        raise InvalidContentError("$", str(mismatch)) from error
    raise InvalidContentError("$", "storing and loading would change it") from error


def _same(one: Record, other: Record) -> bool:
    """Whether two records are equal, types included: `==` takes `1`, `1.0` and `True` for one another."""
    try:
        return marshal.dumps(astuple(one), 2) == marshal.dumps(astuple(other), 2)
    except ValueError:  # it has records in its fields
        return marshal.dumps(_fields(one), 2) == marshal.dumps(_fields(other), 2)


def _fields(value: Any) -> Any:
    if isinstance(value, Record):
        return tuple(_fields(field) for field in astuple(value))
    if isinstance(value, list) and value and isinstance(value[0], Record):
        return [_fields(item) for item in cast("list[Record]", value)]
    return cast("object", value)


def _digest(record: Record, checked: _Json) -> str:
    plain: object = record if checked.is_plain else with_extra(record)
    if checked.flavour == b"j":
        canonical = _encode_sorted(plain)
    else:
        canonical = json.dumps(_loads(checked), sort_keys=True, separators=(",", ":")).encode("ascii")
    return blake2b(canonical, digest_size=16).hexdigest()


def _seal(checked: _Json) -> bytes:
    return _envelope(checked.flavour, checked.raw) + checked.raw


def _envelope(flavour: bytes, raw: bytes) -> bytes:
    return b"1%b:%08x:" % (flavour, crc32(raw))


def _open(stored: bytes) -> _Json:
    envelope, raw = stored[:_ENVELOPE], stored[_ENVELOPE:]
    for flavour in (b"j", b"e"):
        if envelope == _envelope(flavour, raw):
            return _Json(raw, flavour)
    if envelope[:1] == b"1" and envelope[1:3] in (b"j:", b"e:"):
        raise ValueError("its checksum does not match")
    raise ValueError(f"it does not begin like a stored record: {envelope!r}")


def _escaped(plain: object) -> bytes:
    return json.dumps(plain, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")


def _loads(checked: _Json) -> Any:
    if checked.flavour == b"j":
        return msgspec.json.decode(checked.raw)
    return json.loads(checked.raw, parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"JSON has no {name}")


def _from_json(kind: type[R], checked: _Json) -> R:
    if checked.flavour == b"j" and (checked.is_plain or not _has_mark(checked.raw)):
        try:
            decoder: msgspec.json.Decoder[R] = _decoder(kind)
            return decoder.decode(checked.raw)
        except msgspec.ValidationError:  # perhaps an unknown key: decode again, keeping it
            pass
    record: R = msgspec.convert(split_unknown(kind, _loads(checked)), kind)
    return record


def _has_mark(raw: bytes) -> bool:
    return b"$" in raw and _EXTRA_MARK in raw  # one byte is found much faster than several


@cache
def _decoder(kind: type[R]) -> msgspec.json.Decoder[R]:
    return msgspec.json.Decoder(kind)
