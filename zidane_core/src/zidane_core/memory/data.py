"""Sessions held in memory as encoded bytes, and a transaction on them."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from zidane_core.codec import EncodedTurn
from zidane_core.errors import CapacityError
from zidane_core.store import Head, SessionFilter
from zidane_core.store.filters import matches_session_filter

Items = dict[str, dict[str, bytes]]


class SessionEntry:
    """One session: its head, its turns in order with an index by id, and its items by kind."""

    def __init__(self, head: Head) -> None:
        self.head = head
        self.turns: list[EncodedTurn] = []
        self.positions: dict[str, int] = {}
        self.items: Items = defaultdict(dict)


class ScopeData:
    """What one tenant has."""

    def __init__(self) -> None:
        self.sessions: dict[str, SessionEntry] = {}
        self.items: Items = defaultdict(dict)


class MemoryData:
    """Everything of one memory store, and its revision counter."""

    def __init__(self, *, max_sessions: int | None = None) -> None:
        self.scopes: dict[str, ScopeData] = defaultdict(ScopeData)
        self.rev = 0
        self.max_sessions = max_sessions


class MemoryTransaction:
    """A `Transaction` that keeps a list of what undoes it."""

    def __init__(self, data: MemoryData, scope: str, now_ms: Callable[[], int]) -> None:
        self._data, self._scope = data, data.scopes[scope]
        self._undo: list[Callable[[], object]] = []
        self.now_ms = now_ms
        self.changed = False

    def roll_back(self) -> None:
        while self._undo:
            self._undo.pop()()

    def next_rev(self) -> int:
        self._data.rev += 1
        return self._data.rev

    # -- heads --------------------------------------------------------------------------------

    def get_head(self, session_id: str) -> Head | None:
        entry = self._scope.sessions.get(session_id)
        return entry.head if entry is not None and entry.head.rev else None

    def put_head(self, head: Head) -> None:
        entry = self._entry(head.id)
        before = entry.head
        self._note(lambda: setattr(entry, "head", before))
        entry.head = head

    def list_by_id(self, where: SessionFilter, *, after: str | None, limit: int | None) -> list[str]:
        ids = sorted(self._scope.sessions)
        behind = ids if after is None else ids[bisect_right(ids, after) :]
        return list(islice((each for each in behind if self._matches(each, where)), limit))

    def list_by_recency(self, where: SessionFilter, *, after: tuple[int, str] | None, limit: int | None) -> list[Head]:
        heads = [entry.head for each, entry in self._scope.sessions.items() if self._matches(each, where)]
        heads.sort(key=_recency)
        if after is not None:
            heads = heads[bisect_right(heads, (-after[0], after[1]), key=_recency) :]
        return heads[:limit]

    def drop_session(self, session_id: str) -> None:
        entry = self._scope.sessions.pop(session_id)
        self._note(lambda: self._scope.sessions.__setitem__(session_id, entry))

    # -- turns --------------------------------------------------------------------------------

    def get_turns(self, session_id: str, start: int, stop: int) -> list[bytes]:
        return [turn.stored for turn in self._entry(session_id).turns[start:stop]]

    def get_digests(self, session_id: str, turn_ids: Sequence[str]) -> dict[str, str]:
        entry = self._entry(session_id)
        found = ((turn_id, entry.positions.get(turn_id)) for turn_id in turn_ids)
        return {turn_id: entry.turns[at].digest for turn_id, at in found if at is not None}

    def find_turn(self, session_id: str, turn_id: str) -> int | None:
        return self._entry(session_id).positions.get(turn_id)

    def add_turns(self, session_id: str, position: int, turns: Iterable[EncodedTurn]) -> None:
        entry = self._entry(session_id)
        self._note(lambda: _cut(entry, position))
        _add(entry, turns)

    def cut_turns(self, session_id: str, position: int) -> None:
        entry = self._entry(session_id)
        removed = entry.turns[position:]
        self._note(lambda: _add(entry, removed))
        _cut(entry, position)

    # -- items --------------------------------------------------------------------------------

    def get_item(self, session_id: str | None, kind: str, key: str) -> bytes | None:
        return self._items(session_id, kind).get(key)

    def get_items(self, session_id: str | None, kind: str) -> list[tuple[str, bytes]]:
        return list(self._items(session_id, kind).items())

    def get_all_items(self, kind: str) -> list[tuple[str, bytes]]:
        sessions = self._scope.sessions.items()
        return [(each, stored) for each, entry in sessions for stored in entry.items.get(kind, {}).values()]

    def put_item(self, session_id: str | None, kind: str, key: str, stored: bytes) -> None:
        items = self._own_items(session_id, kind)
        before = items.get(key)
        self._note(lambda: items.pop(key) if before is None else items.__setitem__(key, before))
        items[key] = stored

    def drop_item(self, session_id: str | None, kind: str, key: str) -> None:
        items = self._own_items(session_id, kind)
        before = dict(items)  # all of them, since putting one back would change their order
        self._note(lambda: _restore(items, before))
        items.pop(key, None)

    def drop_items(self, session_id: str | None, kind: str) -> None:
        items = self._own_items(session_id, kind)
        before = dict(items)
        self._note(lambda: items.update(before))
        items.clear()

    # -- how it is done -----------------------------------------------------------------------

    def _entry(self, session_id: str) -> SessionEntry:
        """The session's entry; a new one is not there for readers until it gets a head with a revision."""
        sessions = self._scope.sessions
        if session_id not in sessions:
            if self._data.max_sessions is not None and len(sessions) >= self._data.max_sessions:
                raise CapacityError(
                    f"this store holds {self._data.max_sessions} session, and has {next(iter(sessions))!r}"
                )
            sessions[session_id] = SessionEntry(_NO_HEAD)
            self._note(lambda: sessions.pop(session_id))
        return sessions[session_id]

    def _matches(self, session_id: str, where: SessionFilter) -> bool:
        head = self._scope.sessions[session_id].head
        return head.rev > 0 and matches_session_filter(head, where)

    def _items(self, session_id: str | None, kind: str) -> dict[str, bytes]:
        if session_id is None:
            return self._scope.items.get(kind, {})
        entry = self._scope.sessions.get(session_id)
        return {} if entry is None else entry.items.get(kind, {})

    def _own_items(self, session_id: str | None, kind: str) -> dict[str, bytes]:
        return (self._scope.items if session_id is None else self._entry(session_id).items)[kind]

    def _note(self, undo: Callable[[], object]) -> None:
        self.changed = True
        self._undo.append(undo)


def _recency(head: Head) -> tuple[int, str]:
    return -head.updated_at, head.id


def _restore(items: dict[str, bytes], before: dict[str, bytes]) -> None:
    items.clear()
    items.update(before)


def _add(entry: SessionEntry, turns: Iterable[EncodedTurn]) -> None:
    for turn in turns:
        entry.positions[turn.id] = len(entry.turns)
        entry.turns.append(turn)


def _cut(entry: SessionEntry, position: int) -> None:
    for turn in entry.turns[position:]:
        del entry.positions[turn.id]
    del entry.turns[position:]


_NO_HEAD = Head(id="", creation_id="", created_at=0, updated_at=0)
