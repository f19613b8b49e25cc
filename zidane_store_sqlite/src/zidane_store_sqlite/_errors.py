"""SQLite's errors as zidane's: the one place that knows its result codes."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager

from zidane_core.errors import (
    CorruptRecordError,
    PermissionDeniedError,
    StoreBusyError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
    StoreUnavailableError,
)

_PRIMARY = 0xFF
"""The bits of an extended result code that hold the primary one."""

_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_DENIED = {sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH}
_PASSING = {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_INTERRUPT}
"""Conditions of the machine, which may be over when the call is repeated."""


def store_error(error: sqlite3.Error, path: str, *, committing: bool = False) -> StoreError:
    """What an error of SQLite is to the callers of a store. `committing`: its outcome may be unknown."""
    code = getattr(error, "sqlite_errorcode", None)
    primary = None if code is None else code & _PRIMARY
    said = f"{path}: {error}"
    if primary in _BUSY:
        return StoreBusyError(said)
    if primary == sqlite3.SQLITE_FULL:
        return StoreFullError(said)
    if primary == sqlite3.SQLITE_READONLY:
        return StoreReadOnlyError(said)
    if primary in _DENIED:
        return PermissionDeniedError(said)
    if primary in _DAMAGED or (code is None and "decode" in str(error)):
        return CorruptRecordError(None, "the database file", said)
    return StoreUnavailableError(said, retryable=primary in _PASSING, outcome_unknown=committing)


@contextmanager
def store_errors(path: str) -> Generator[None]:
    """Raise what SQLite raises inside as the error of a store, with the cause kept."""
    try:
        yield
    except sqlite3.Error as error:
        raise store_error(error, path) from error
