"""How a connection is made ready, in the order that matters."""

from __future__ import annotations

import sqlite3
import time

import msgspec

from zidane_core.errors import StoreUnavailableError

from ._errors import store_errors
from ._filesystem import refuse_remote_file_system
from ._schema import migrate, version_of

MEMORY = ":memory:"

_OLDEST_SQLITE = (3, 24, 0)
"""The first with `ON CONFLICT DO UPDATE`."""

_CONVERSION_PAUSE = 0.01
"""Seconds between attempts to switch to the write-ahead log, for which SQLite itself does not wait."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What connections are opened with. `busy_timeout` is in seconds."""

    path: str
    synchronous: str
    busy_timeout: float
    any_file_system: bool


def check_environment(settings: Settings) -> None:
    """Return where this SQLite and this file system will do. Raises StoreUnavailableError."""
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        oldest = ".".join(map(str, _OLDEST_SQLITE))
        raise StoreUnavailableError(
            f"Python is linked to SQLite {sqlite3.sqlite_version}; {oldest} or newer is needed", retryable=False
        )
    if settings.path != MEMORY and not settings.any_file_system:
        refuse_remote_file_system(settings.path)


def open_writer(settings: Settings) -> sqlite3.Connection:
    """A connection to a database that is ours, in the current schema, in write-ahead mode."""
    check_environment(settings)
    raw = _connect(settings)
    try:
        with store_errors(settings.path):
            version_of(raw, settings.path)  # before anything is changed: it may not be ours
            if settings.path != MEMORY:
                _use_write_ahead_log(raw, settings.busy_timeout)
            migrate(raw, settings.path)
    except BaseException:
        raw.close()
        raise
    return raw


def open_reader(settings: Settings) -> sqlite3.Connection:
    """A connection that cannot write, to a database that a writer has made ready."""
    raw = _connect(settings)
    raw.execute("PRAGMA query_only = ON")
    return raw


def _connect(settings: Settings) -> sqlite3.Connection:
    with store_errors(settings.path):
        raw = sqlite3.connect(
            settings.path,
            timeout=settings.busy_timeout,  # first of all, since everything behind it may have to wait
            isolation_level=None,  # transactions are begun and ended in so many words
            check_same_thread=False,  # closed by another thread where nobody waits for the opening any more
        )
        raw.execute("PRAGMA trusted_schema = OFF")
        raw.execute("PRAGMA mmap_size = 0")  # an I/O error is an error, not a SIGBUS
        raw.execute(f"PRAGMA synchronous = {settings.synchronous}")
        raw.execute("PRAGMA wal_autocheckpoint = 0")  # `_checkpoint` says why
    return raw


def _use_write_ahead_log(raw: sqlite3.Connection, patience: float) -> None:
    """Switch the file to write-ahead mode; it stays so. Tried for `patience` seconds while others are at it."""
    end = time.monotonic() + patience
    while _journal_mode(raw) != "wal":
        try:
            raw.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= end:
                raise
            time.sleep(_CONVERSION_PAUSE)


def _journal_mode(raw: sqlite3.Connection) -> str:
    (mode,) = raw.execute("PRAGMA journal_mode").fetchone()
    return str(mode)
