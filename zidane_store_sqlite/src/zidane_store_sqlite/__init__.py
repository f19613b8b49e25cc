"""Sessions in a SQLite file."""

from .store import SqliteStore

__all__ = ["SqliteStore"]
