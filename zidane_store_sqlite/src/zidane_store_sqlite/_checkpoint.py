"""When the write-ahead log is copied into the database file.

SQLite up to 3.51.2 can lose transactions when a checkpoint of one connection meets a commit of another that starts
the log anew. So SQLite's own checkpoints, which run beside commits, are off; the writer makes them, in a mode that
holds the write lock, and on every build alike.

Source: https://www.sqlite.org/wal.html#walresetbug
"""

from __future__ import annotations

import os
import sqlite3

RESTART_AFTER_ROWS = 3000
"""Rows that this writer changes between two checkpoints: some 20 MB of log. Fewer copy the same pages again."""

TRUNCATE_FROM_BYTES = 48 * 1024 * 1024
"""A log of this size is cut. A smaller one is kept and written over, which costs a disk less than growing a file."""

_LOOK_AFTER_ROWS = 32
"""Rows between two looks at the size, and so between two attempts."""

_PATIENCE_MS = 100
"""How long a checkpoint waits for readers. One that they outlast is tried again as many rows later."""


class Checkpoints:
    """Called by the writer after each commit, when its callers have been answered."""

    def __init__(self, path: str, busy_timeout: float) -> None:
        self._log = f"{path}-wal"
        self._busy_timeout_ms = round(busy_timeout * 1000)
        self._rows = 0

    def after_commit(self, raw: sqlite3.Connection) -> None:
        rows = raw.total_changes - self._rows
        if rows >= _LOOK_AFTER_ROWS and self._size() >= TRUNCATE_FROM_BYTES:
            self._checkpoint(raw, "TRUNCATE")
        elif rows >= RESTART_AFTER_ROWS:
            self._checkpoint(raw, "RESTART")

    def _checkpoint(self, raw: sqlite3.Connection, mode: str) -> None:
        self._rows = raw.total_changes
        try:
            raw.execute(f"PRAGMA busy_timeout = {_PATIENCE_MS}")
            raw.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
        except sqlite3.Error:
            pass  # what was committed is safe in the log, and the next write meets the same trouble and says so
        finally:
            raw.execute(f"PRAGMA busy_timeout = {self._busy_timeout_ms}")

    def _size(self) -> int:
        try:
            return os.stat(self._log).st_size  # noqa: PTH116 -- a look only: opening it would drop SQLite's locks
        except OSError:
            return 0


def has_wal_reset_bug(version: tuple[int, int, int]) -> bool:
    """Whether a version of SQLite has the fault that the checkpoints are arranged around."""
    fixed_in_branch = {(3, 44): 6, (3, 50): 7}
    branch, patch = version[:2], version[2]
    if branch in fixed_in_branch and patch >= fixed_in_branch[branch]:
        return False
    return (3, 7, 0) <= version < (3, 51, 3)
