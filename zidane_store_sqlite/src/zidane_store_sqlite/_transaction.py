"""A `Transaction` in SQLite's terms: each method is a statement or two."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec import UNSET

from zidane_core import codec
from zidane_core.codec import EncodedTurn
from zidane_core.errors import CorruptRecordError
from zidane_core.store import Head, SessionFilter

_NOBODY = 0
"""A number that no session has: the counter's first value is 1."""


class Counter:
    """The store's counter during one transaction of the database: read once, written back once."""

    def __init__(self, raw: sqlite3.Connection) -> None:
        self._raw = raw
        self._stored = self._value = -1

    def next(self) -> int:
        if self._value < 0:
            (self._stored,) = self._raw.execute("SELECT value FROM counter").fetchone()
            self._value = self._stored
        self._value += 1
        return self._value

    def flush(self) -> None:
        if self._value != self._stored:
            self._raw.execute("UPDATE counter SET value = ?", (self._value,))


class SqliteTransaction:
    """A step on the data of one scope, inside a transaction that somebody else begins and ends."""

    def __init__(self, raw: sqlite3.Connection, scope: str, now_ms: Callable[[], int], counter: Counter) -> None:
        self._execute = raw.execute
        self._executemany = raw.executemany
        self._scope = scope
        self._numbers: dict[str, int] = {}
        self._stored: set[str] = set()
        self.now_ms = now_ms
        self.next_rev = counter.next

    # -- heads --------------------------------------------------------------------------------

    def get_head(self, session_id: str) -> Head | None:
        row = self._execute(
            "SELECT number, head, updated_at, status, agent_id, project_root FROM sessions WHERE scope = ? AND id = ?",
            (self._scope, session_id),
        ).fetchone()
        return None if row is None else self._head(session_id, row)

    def put_head(self, head: Head) -> None:
        columns = (head.updated_at, head.status, head.agent_id, head.project_root, codec.encode_own(head))
        number = self._number_to_write(head.id)
        if head.id in self._stored:
            self._execute(
                "UPDATE sessions SET updated_at = ?, status = ?, agent_id = ?, project_root = ?, head = ?"
                " WHERE number = ?",
                (*columns, number),
            )
        else:
            self._execute(
                "INSERT INTO sessions (updated_at, status, agent_id, project_root, head, number, scope, id)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (*columns, number, self._scope, head.id),
            )
            self._stored.add(head.id)

    def list_by_id(self, where: SessionFilter, *, after: str | None, limit: int | None) -> list[str]:
        condition, values = _conditions(where)
        rows = self._execute(
            f"SELECT id FROM sessions WHERE scope = ? AND id > ?{condition} ORDER BY id LIMIT ?",  # noqa: S608 -- own text
            (self._scope, after or "", *values, _limit(limit)),
        )
        return [session_id for (session_id,) in rows]

    def list_by_recency(self, where: SessionFilter, *, after: tuple[int, str] | None, limit: int | None) -> list[Head]:
        condition, values = _conditions(where)
        if after is not None:  # the first comparison finds the place in the index, the second leaves ties out
            condition += " AND updated_at <= ? AND (updated_at < ? OR id > ?)"
            values += (after[0], after[0], after[1])
        rows = self._execute(
            "SELECT id, number, head, updated_at, status, agent_id, project_root FROM sessions"  # noqa: S608 -- own text
            f" WHERE scope = ?{condition} ORDER BY updated_at DESC, id LIMIT ?",
            (self._scope, *values, _limit(limit)),
        ).fetchall()
        return [self._head(session_id, row) for session_id, *row in rows]

    def drop_session(self, session_id: str) -> None:
        number = self._number(session_id)
        for statement in (
            "DELETE FROM turns WHERE session = ?",
            "DELETE FROM items WHERE owner = ?",
            "DELETE FROM sessions WHERE number = ?",
        ):
            self._execute(statement, (number,))
        del self._numbers[session_id]
        self._stored.discard(session_id)

    # -- turns --------------------------------------------------------------------------------

    def get_turns(self, session_id: str, start: int, stop: int) -> list[bytes]:
        rows = self._execute(
            "SELECT stored FROM turns WHERE session = ? AND position >= ? AND position < ? ORDER BY position",
            (self._number(session_id), start, stop),
        )
        return [stored for (stored,) in rows.fetchall()]

    def get_digests(self, session_id: str, turn_ids: Sequence[str]) -> dict[str, str]:
        number, found = self._number(session_id), dict[str, str]()
        for turn_id in turn_ids:  # one by one: for a list of ids SQLite builds a table, or reads the whole history
            query = "SELECT digest FROM turns WHERE session = ? AND id = ?"
            row = self._execute(query, (number, turn_id)).fetchone()
            if row is not None:
                found[turn_id] = row[0]
        return found

    def find_turn(self, session_id: str, turn_id: str) -> int | None:
        row = self._execute(
            "SELECT position FROM turns WHERE session = ? AND id = ?", (self._number(session_id), turn_id)
        ).fetchone()
        return None if row is None else row[0]

    def add_turns(self, session_id: str, position: int, turns: Iterable[EncodedTurn]) -> None:
        number = self._number_to_write(session_id)
        self._executemany(
            "INSERT INTO turns (session, position, id, digest, stored) VALUES (?, ?, ?, ?, ?)",
            [(number, at, turn.id, turn.digest, turn.stored) for at, turn in enumerate(turns, position)],
        )

    def cut_turns(self, session_id: str, position: int) -> None:
        self._execute("DELETE FROM turns WHERE session = ? AND position >= ?", (self._number(session_id), position))

    # -- items --------------------------------------------------------------------------------

    def get_item(self, session_id: str | None, kind: str, key: str) -> bytes | None:
        row = self._execute(
            "SELECT stored FROM items WHERE owner = ? AND kind = ? AND key = ?", (self._owner(session_id), kind, key)
        ).fetchone()
        return None if row is None else row[0]

    def get_items(self, session_id: str | None, kind: str) -> list[tuple[str, bytes]]:
        return self._execute(
            "SELECT key, stored FROM items WHERE owner = ? AND kind = ? ORDER BY place", (self._owner(session_id), kind)
        ).fetchall()

    def get_all_items(self, kind: str) -> list[tuple[str, bytes]]:
        return self._execute(  # CROSS and +: from the sessions to their items, by an index whose column has no type
            "SELECT id, stored FROM sessions CROSS JOIN items ON owner = +number AND kind = ? WHERE scope = ?"
            " ORDER BY number, place",
            (kind, self._scope),
        ).fetchall()

    def put_item(self, session_id: str | None, kind: str, key: str, stored: bytes) -> None:
        owner = self._scope if session_id is None else self._number_to_write(session_id)
        self._execute(
            "INSERT INTO items (owner, kind, place, key, stored)"
            " SELECT ?1, ?2, coalesce(max(place), 0) + 1, ?3, ?4 FROM items WHERE owner = ?1 AND kind = ?2"
            " ON CONFLICT (owner, kind, key) DO UPDATE SET stored = excluded.stored",
            (owner, kind, key, stored),
        )

    def drop_item(self, session_id: str | None, kind: str, key: str) -> None:
        self._execute(
            "DELETE FROM items WHERE owner = ? AND kind = ? AND key = ?", (self._owner(session_id), kind, key)
        )

    def drop_items(self, session_id: str | None, kind: str) -> None:
        self._execute("DELETE FROM items WHERE owner = ? AND kind = ?", (self._owner(session_id), kind))

    # -- how it is done -----------------------------------------------------------------------

    def _head(self, session_id: str, row: Sequence[Any]) -> Head:
        number, stored, *columns = row
        head = codec.decode(Head, stored, session_id=session_id, where="the header")
        if [head.updated_at, head.status, head.agent_id, head.project_root] != columns or head.id != session_id:
            raise CorruptRecordError(session_id, "the header", "it is not what the row's index columns say")
        self._numbers[session_id] = number
        self._stored.add(session_id)
        return head

    def _owner(self, session_id: str | None) -> int | str:
        return self._scope if session_id is None else self._number(session_id)

    def _number(self, session_id: str) -> int:
        """The session's number, or one that no session has."""
        number = self._numbers.get(session_id)
        if number is None:
            row = self._execute(
                "SELECT number FROM sessions WHERE scope = ? AND id = ?", (self._scope, session_id)
            ).fetchone()
            if row is None:
                return _NOBODY
            self._stored.add(session_id)
            number = self._numbers[session_id] = row[0]
        return number

    def _number_to_write(self, session_id: str) -> int:
        """The session's number; a new one where this transaction is creating the session."""
        number = self._number(session_id)
        if number == _NOBODY:
            number = self._numbers[session_id] = self.next_rev()
        return number


def _conditions(where: SessionFilter) -> tuple[str, tuple[str | int | None, ...]]:
    wanted = [
        (column, value)
        for column, value in (
            ("status", where.status),
            ("agent_id", where.agent_id),
            ("project_root", where.project_root),
        )
        if value is not UNSET
    ]
    return "".join(f" AND {column} IS ?" for column, _ in wanted), tuple(value for _, value in wanted)


def _limit(limit: int | None) -> int:
    return -1 if limit is None else limit
