"""The store's data as texts and back.

Every stored value is JSON beside the codec's check of it, so that a person can read the files and a flipped bit is an
error. Turns have a line each. The other files also check their own skeleton: names, order, and the checks within.

    {"check":"1j:5c2f7a10","rev":3,"session":{"check":"1j:…","value":{…}},"items":{"run":{"r1":{"check":…}}}}
    {"check":"1j:1c291ca3","turn":{"id":"t1","role":"user",…}}

A value that is damaged is kept as it is, and reported when it is read; a skeleton that is damaged is reported at once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from zidane_core import codec
from zidane_core.codec import EncodedTurn
from zidane_core.errors import CorruptRecordError
from zidane_core.memory import MemoryData, SessionEntry
from zidane_core.records import SessionTurn
from zidane_core.store import Head
from zidane_core.store.collections import SEND_REQUEST

from .adapter import FileMapStoreOptions

_LINE = re.compile(rb'\{"check":"(1[ej]:[0-9a-f]{8})","turn":(.*)\}', re.DOTALL)
_SEALED = re.compile(rb"1[ej]:[0-9a-f]{8}:")


class _Value(msgspec.Struct, frozen=True):
    """Stored bytes, with the JSON readable in its place."""

    check: str
    value: msgspec.Raw


_Items = dict[str, dict[str, _Value]]


class _File(msgspec.Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    check: str = ""
    rev: int = 0
    session: _Value | None = None
    items: _Items = {}
    """Of the session, by kind and key."""
    store: _Items = {}
    """Of the store itself."""


def to_files(data: MemoryData, names: FileMapStoreOptions) -> dict[str, str]:
    """The texts to save; files that are not among them have nothing to hold."""
    scope = data.scopes[""]
    meta = _File(rev=data.rev, store=_to_items(scope.items))
    files: dict[str, str] = {}
    for entry in scope.sessions.values():
        own = {kind: items for kind, items in entry.items.items() if kind != SEND_REQUEST}
        meta.session, meta.items = _to_value(codec.encode_own(entry.head)), _to_items(own)
        files[names.turns_file] = b"".join(_to_line(turn.stored) for turn in entry.turns).decode()
        sends = _to_items({SEND_REQUEST: entry.items.get(SEND_REQUEST, {})})
        if sends:
            files[names.send_requests_file] = _to_text(_File(items=sends))
    return {names.meta_file: _to_text(meta), **files}


def from_files(files: Mapping[str, str], names: FileMapStoreOptions, *, max_sessions: int) -> MemoryData:
    """The data that the texts hold.

    Raises:
        CorruptRecordError: a file is damaged, or missing beside the others.
    """
    data = MemoryData(max_sessions=max_sessions)
    if names.meta_file not in files:
        for orphan in (names.turns_file, names.send_requests_file):
            if files.get(orphan):
                raise CorruptRecordError(None, f"the file {names.meta_file!r}", f"it is missing, and {orphan!r} is not")
        return data
    meta = _from_text(files, names.meta_file)
    data.rev = meta.rev
    data.scopes[""].items.update(_from_items(meta.store))
    if meta.session is not None:
        head = codec.decode(Head, _from_value(meta.session), where="the header")
        entry = data.scopes[""].sessions[head.id] = SessionEntry(head)
        entry.items.update(_from_items(meta.items))
        if names.send_requests_file in files:
            entry.items.update(_from_items(_from_text(files, names.send_requests_file, head.id).items))
        _add_turns(entry, files.get(names.turns_file, ""))
    return data


# -- turns ----------------------------------------------------------------------------------------


def _add_turns(entry: SessionEntry, text: str) -> None:
    lines = text.encode("utf-8", "surrogatepass").split(b"\n")
    if lines.pop():
        raise CorruptRecordError(entry.head.id, "the history", "its last line is cut off")
    if len(lines) > entry.head.turn_count:
        reason = f"{entry.head.turn_count} turns expected, {len(lines)} found"
        raise CorruptRecordError(entry.head.id, "the history", reason)
    for position, line in enumerate(lines):
        turn = _from_line(line, position)
        entry.positions[turn.id] = position
        entry.turns.append(turn)


def _to_line(stored: bytes) -> bytes:
    """The line of a turn. One that was damaged when it was read goes back as it came."""
    if not _SEALED.match(stored):
        return stored + b"\n"
    raw = codec.json_of(stored)
    return b'{"check":"%b","turn":%b}\n' % (stored[: -len(raw) - 1], raw)


def _from_line(line: bytes, position: int) -> EncodedTurn:
    parts = _LINE.fullmatch(line)
    stored = parts[1] + b":" + parts[2] if parts else line
    try:
        turn = codec.decode(SessionTurn, stored)
    except CorruptRecordError:  # reading this turn reports it; an id with a NUL can be no turn's own
        return EncodedTurn(f"\0{position}", "", stored, "")
    return EncodedTurn(turn.id, turn.role, stored, codec.digest(turn))


# -- the other files ------------------------------------------------------------------------------


def _to_text(file: _File) -> str:
    file.check = _skeleton_check(file)
    return msgspec.json.encode(file).decode() + "\n"


def _from_text(files: Mapping[str, str], name: str, session_id: str | None = None) -> _File:
    try:
        file = msgspec.json.decode(files[name].encode(), type=_File)
    except ValueError as error:  # no UTF-8 and no JSON alike
        raise CorruptRecordError(session_id, f"the file {name!r}", str(error)) from error
    if file.check != _skeleton_check(file):
        raise CorruptRecordError(session_id, f"the file {name!r}", "its checksum does not match")
    return file


def _skeleton_check(file: _File) -> str:
    """A check of all that the values' own checks leave open: which values there are, of what, in which order."""
    session = None if file.session is None else file.session.check
    skeleton = codec.encode_value([file.rev, session, _skeleton(file.items), _skeleton(file.store)])
    return _check_of(skeleton)


def _skeleton(items: _Items) -> list[list[str]]:
    return [[kind, key, value.check] for kind, values in items.items() for key, value in values.items()]


def _to_items(items: Mapping[str, Mapping[str, bytes]]) -> _Items:
    filled = ((kind, values) for kind, values in items.items() if values)
    return {kind: {key: _to_value(stored) for key, stored in values.items()} for kind, values in filled}


def _from_items(items: _Items) -> dict[str, dict[str, bytes]]:
    return {kind: {key: _from_value(value) for key, value in values.items()} for kind, values in items.items()}


def _to_value(stored: bytes) -> _Value:
    check, raw = _check_of(stored), codec.json_of(stored)
    return _Value(check, msgspec.Raw(msgspec.json.encode(raw.decode()) if _is_escaped(check) else raw))


def _from_value(value: _Value) -> bytes:
    raw = bytes(value.value)
    if _is_escaped(value.check):
        raw = msgspec.json.decode(raw, type=str).encode()
    return value.check.encode() + b":" + raw


def _is_escaped(check: str) -> bool:
    """Whether the JSON holds lone surrogates: strict readers refuse it, so it goes into the file as a string."""
    return check.startswith("1e:")


def _check_of(stored: bytes) -> str:
    return stored[: -len(codec.json_of(stored)) - 1].decode()
