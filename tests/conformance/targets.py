"""Bundled stores as targets, with ways to damage what they hold and to let what they ask of their backend fail."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from zidane_core.codec import EncodedTurn
from zidane_core.conformance import Target
from zidane_core.errors import StoreUnavailableError
from zidane_core.memory import MemoryStore
from zidane_core.store import SessionStore
from zidane_store_sqlite import SqliteStore
from zidane_store_sqlite import store as sqlite_store
from zidane_store_sqlite._transaction import SqliteTransaction

_GIVEN = os.environ.get("ZIDANE_CONFORMANCE_FOLDER")
_OWN = None if _GIVEN else tempfile.TemporaryDirectory(prefix="zidane-conformance-")
FOLDER = Path(_GIVEN if _OWN is None else _OWN.name)  # type: ignore[arg-type] # one of the two is there
os.environ["ZIDANE_CONFORMANCE_FOLDER"] = str(FOLDER)
"""The kit's worker processes import this module too, and must open the same files."""


def flipped(stored: bytes) -> bytes:
    """The bytes with one bit of their last character flipped, as a bad disk would leave them."""
    return stored[:-2] + bytes([stored[-2] ^ 1]) + stored[-1:]


# -- memory -----------------------------------------------------------------------------------


async def damage_memory(store: Any, session_id: str, what: str, key: str) -> None:
    entry = store._data.scopes[""].sessions[session_id]
    if what == "turn":
        turn = entry.turns[int(key)]
        entry.turns[int(key)] = EncodedTurn(turn.id, turn.role, flipped(turn.stored), turn.digest)
    else:
        entry.items[what][key] = flipped(entry.items[what][key])


class _Failing:
    """A transaction whose n-th call fails."""

    def __init__(self, transaction: Any, fault: SimpleNamespace, error: Exception) -> None:
        self._transaction, self._fault, self._error = transaction, fault, error

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._transaction, name)
        return self._counted(value) if callable(value) and name not in ("roll_back", "now_ms") else value

    def _counted(self, call: Any) -> Any:
        def counted(*args: Any, **kwargs: Any) -> Any:
            self._fault.left -= 1
            if self._fault.left == 0:
                self._fault.fired = True
                raise self._error
            return call(*args, **kwargs)

        return counted


@contextmanager
def memory_faults(store: Any, at: int) -> Iterator[Any]:
    fault, error = SimpleNamespace(left=at, fired=False), StoreUnavailableError("the backend failed, as it was told to")
    made = store._transaction
    store._transaction = lambda: _Failing(made(), fault, error)
    try:
        yield fault
    finally:
        del store._transaction


memory = Target(open=MemoryStore, shown="memory", damage=damage_memory, faults=memory_faults)

# -- SQLite -----------------------------------------------------------------------------------

SQLITE_FILE = FOLDER / "hooks.db"


def open_sqlite() -> SqliteStore:
    return SqliteStore(str(SQLITE_FILE))


async def damage_sqlite(_store: SessionStore, session_id: str, what: str, key: str) -> None:
    """Through a connection of its own, behind the store's back."""
    where = {
        "turn": ("turns", "session = :session AND position = CAST(:key AS INTEGER)"),
        "run": ("items", "owner = :session AND kind = 'run' AND key = :key"),
        "metadata": ("items", "owner = :session AND kind = 'metadata' AND key = :key"),
    }
    table, condition = where[what]
    with closing(sqlite3.connect(SQLITE_FILE, timeout=10)) as raw, raw:
        (number,) = raw.execute("SELECT number FROM sessions WHERE id = ?", (session_id,)).fetchone()
        given = {"session": number, "key": key}
        (stored,) = raw.execute(f"SELECT stored FROM {table} WHERE {condition}", given).fetchone()
        changed = raw.execute(
            f"UPDATE {table} SET stored = :stored WHERE {condition}", {**given, "stored": flipped(stored)}
        )
        assert changed.rowcount == 1


@contextmanager
def sqlite_faults(_store: SessionStore, at: int) -> Iterator[Any]:
    """The n-th thing that a transaction asks of the database meets a disk that fails."""
    fault, error = SimpleNamespace(left=at, fired=False), sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR
    with patch.object(
        sqlite_store, "SqliteTransaction", lambda *given: _Failing(SqliteTransaction(*given), fault, error)
    ):
        yield fault


sqlite = Target(
    open=open_sqlite,
    reference="tests.conformance.targets:open_sqlite",
    shown="sqlite",
    damage=damage_sqlite,
    faults=sqlite_faults,
)
