"""A `Transaction` on the entries of one group."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NoReturn

from msgspec.structs import replace

from zidane_core import codec
from zidane_core.codec import EncodedTurn
from zidane_core.errors import CorruptRecordError
from zidane_core.records import Record
from zidane_core.store import Head, SessionFilter
from zidane_core.store.operations import DELETION

from .names import HEAD, ITEMS, PLACES, WHOLE_GROUP, Span, item_key, item_span, place_key, turn_key, turn_span
from .view import View

_LAST_OF_ALL = 2**62
_DELETIONS = item_span(DELETION)


class GroupState(Record, frozen=True, kw_only=True):
    """The entry `head` of a group. It stays when the session is deleted, so that no revision comes twice."""

    version: int = 0
    """How many commits the group has had."""
    rev: int = 0
    items: int = 0
    """How many items were ever put: the next one's place in its kind."""
    head: Head | None = None


class _Place(Record, frozen=True, kw_only=True):
    id: str
    at: int
    digest: str


class _Label(Record, frozen=True, kw_only=True):
    """The line in front of an item's bytes."""

    key: str
    at: int


def read_state(stored: bytes | None, session_id: str | None, where: str = "the head") -> GroupState:
    return GroupState() if stored is None else codec.decode(GroupState, stored, session_id=session_id, where=where)


class CasTransaction:
    """Reads what the view has, keeps what is put, and is thrown away when the view has too little."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._puts: dict[str, bytes | None] = {}
        self._first: GroupState | None = None
        self._state = GroupState()

    @property
    def version(self) -> int:
        """The version that this step read; 0 where the group was never written."""
        return self._first.version if self._first is not None else 0

    @property
    def puts(self) -> dict[str, bytes | None]:
        """What a commit has to write; nothing where the step changed nothing."""
        if self._first is None or (not self._puts and self._state == self._first):
            return {}
        return {**self._puts, HEAD: codec.encode_own(replace(self._state, version=self.version + 1))}

    def now_ms(self) -> int:
        return self._view.now

    def next_rev(self) -> int:
        self._state = replace(self._state, rev=self._state.rev + 1)
        return self._state.rev

    # -- heads --------------------------------------------------------------------------------

    def get_head(self, session_id: str) -> Head | None:
        head = self._of(session_id).head
        if head is not None and head.id != session_id:
            raise CorruptRecordError(session_id, "the head", f"it is that of session {head.id!r}")
        return head

    def put_head(self, head: Head) -> None:
        self._state = replace(self._of(head.id), head=head)

    def drop_session(self, session_id: str) -> None:
        self._state = replace(self._of(session_id), head=None)
        self._puts = {key: None for key in self._span(WHOLE_GROUP) if key not in _DELETIONS}

    def list_by_id(self, where: SessionFilter, *, after: str | None, limit: int | None) -> NoReturn:
        raise NotImplementedError("a step on one group lists nothing: CasStore does")

    def list_by_recency(self, where: SessionFilter, *, after: tuple[int, str] | None, limit: int | None) -> NoReturn:
        raise NotImplementedError("a step on one group lists nothing: CasStore does")

    def get_all_items(self, kind: str) -> NoReturn:
        raise NotImplementedError("a step on one group lists nothing: CasStore does")

    # -- turns --------------------------------------------------------------------------------

    def get_turns(self, session_id: str, start: int, stop: int) -> list[bytes]:
        self._of(session_id)
        return [stored for _, stored in sorted(self._span(turn_span(start, stop)).items())]

    def get_digests(self, session_id: str, turn_ids: Sequence[str]) -> dict[str, str]:
        return {place.id: place.digest for place in self._places(session_id, turn_ids)}

    def find_turn(self, session_id: str, turn_id: str) -> int | None:
        return next((place.at for place in self._places(session_id, [turn_id])), None)

    def add_turns(self, session_id: str, position: int, turns: Iterable[EncodedTurn]) -> None:
        self._of(session_id)
        for at, turn in enumerate(turns, position):
            self._puts[turn_key(at)] = turn.stored
            self._puts[place_key(turn.id)] = codec.encode_own(_Place(id=turn.id, at=at, digest=turn.digest))

    def cut_turns(self, session_id: str, position: int) -> None:
        head = self._of(session_id).head
        places = self._span(PLACES)
        for at in range(position, head.turn_count if head is not None else 0):
            self._puts[turn_key(at)] = None
        for key, stored in places.items():
            if position == 0 or _place(session_id, stored).at >= position:  # 0: a damaged one goes too
                self._puts[key] = None

    def _places(self, session_id: str, turn_ids: Sequence[str]) -> list[_Place]:
        self._of(session_id)
        entries = self._entries([place_key(turn_id) for turn_id in turn_ids])
        found = [_place(session_id, stored) for stored in entries]
        strangers = {place.id for place in found} - set(turn_ids)
        if strangers:
            raise CorruptRecordError(session_id, "the index of turns", f"{strangers} in another turn's place")
        return found

    # -- items --------------------------------------------------------------------------------

    def get_item(self, session_id: str | None, kind: str, key: str) -> bytes | None:
        found = self._item(session_id, kind, key)
        return None if found is None else found[1]

    def get_items(self, session_id: str | None, kind: str) -> list[tuple[str, bytes]]:
        self._of(session_id)
        items = [_labelled(name, stored) for name, stored in self._span(item_span(kind), region=ITEMS).items()]
        return [(label.key, stored) for label, stored in sorted(items, key=lambda item: (item[0].at, item[0].key))]

    def put_item(self, session_id: str | None, kind: str, key: str, stored: bytes) -> None:
        found = self._item(session_id, kind, key)
        at = _LAST_OF_ALL if found is None else found[0].at
        if at == _LAST_OF_ALL:
            at = self._state.items
            self._state = replace(self._state, items=at + 1)
        self._puts[item_key(kind, key)] = codec.encode_own(_Label(key=key, at=at)) + b"\n" + stored

    def drop_item(self, session_id: str | None, kind: str, key: str) -> None:
        self._of(session_id)
        self._puts[item_key(kind, key)] = None

    def drop_items(self, session_id: str | None, kind: str) -> None:
        self._of(session_id)
        self._puts.update(dict.fromkeys(self._span(item_span(kind), region=ITEMS)))

    def _item(self, session_id: str | None, kind: str, key: str) -> tuple[_Label, bytes] | None:
        self._of(session_id)
        name = item_key(kind, key)
        if name in self._puts or not self.version:
            stored = self._puts.get(name)
        else:
            stored = self._view.entry(name, region=item_span(kind))
        return None if stored is None else _labelled(name, stored)

    # -- how it is done -----------------------------------------------------------------------

    def _of(self, session_id: str | None) -> GroupState:
        """The state of the group that the step is about, which is chosen here."""
        self._view.bind(session_id)
        if self._first is None:
            self._first = self._state = read_state(self._view.head(), session_id)
        return self._state

    def _entries(self, keys: Iterable[str]) -> list[bytes]:
        keys = list(keys)
        stored: dict[str, bytes | None] = {}
        if self.version:
            stored.update(self._view.entries(key for key in keys if key not in self._puts))
        stored.update((key, self._puts[key]) for key in keys if key in self._puts)
        return [value for value in stored.values() if value is not None]

    def _span(self, span: Span, *, region: Span | None = None) -> dict[str, bytes]:
        stored: dict[str, bytes | None] = dict(self._view.span(span, region=region)) if self.version else {}
        stored.update((key, value) for key, value in self._puts.items() if key in span)
        return {key: value for key, value in stored.items() if value is not None}


def _place(session_id: str, stored: bytes) -> _Place:
    return codec.decode(_Place, stored, session_id=session_id, where="the index of turns")


def _labelled(name: str, stored: bytes) -> tuple[_Label, bytes]:
    """An item's label and bytes. Under a damaged label all is taken for the item, which makes it a damaged one."""
    line, _, rest = stored.partition(b"\n")
    try:
        return codec.decode(_Label, line), rest
    except CorruptRecordError:
        return _Label(key=name, at=_LAST_OF_ALL), stored
