"""What is in a database file: ours or not, which version, and the way to the current one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from functools import cache
from importlib.resources import files

from zidane_core.errors import SchemaTooNewError, StoreUnavailableError

APPLICATION_ID = 0x7A69646E
"""`zidn`, in the file's header: how a database of ours is told from any other."""


def migrate(raw: sqlite3.Connection, path: str) -> None:
    """Bring the database to the current schema. Several processes may try at once; one does it."""
    if version_of(raw, path) == len(migrations()):
        return
    raw.execute("BEGIN EXCLUSIVE")
    try:
        done = version_of(raw, path)  # again: another process may have been here before the lock was had
        for number, script in enumerate(migrations()[done:], done + 1):
            for statement in _statements(script):
                raw.execute(statement)
            raw.execute(f"PRAGMA user_version = {number}")
        raw.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        raw.execute("COMMIT")
    finally:
        if raw.in_transaction:
            raw.execute("ROLLBACK")


def version_of(raw: sqlite3.Connection, path: str) -> int:
    """The version of the schema; 0 in a new, empty database.

    Raises:
        SchemaTooNewError: a newer version of this package has been here.
        StoreUnavailableError: it is another application's database.
    """
    (application,) = raw.execute("PRAGMA application_id").fetchone()
    (version,) = raw.execute("PRAGMA user_version").fetchone()
    if application == APPLICATION_ID:
        if version > len(migrations()):
            raise SchemaTooNewError(path, found=version, supported=len(migrations()))
        return int(version)
    (tables,) = raw.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application or version or tables:
        raise StoreUnavailableError(f"{path} is the database of another application", retryable=False)
    return 0


@cache
def migrations() -> tuple[str, ...]:
    """The scripts in `sql/`, of which the n-th leads to version n."""
    scripts = sorted((files("zidane_store_sqlite") / "sql").iterdir(), key=lambda script: script.name)
    return tuple(script.read_text(encoding="utf-8") for script in scripts if script.name.endswith(".sql"))


def _statements(script: str) -> Iterator[str]:
    """The statements of a script one by one, since `executescript` would commit first."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
