"""The SQLite store."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from itertools import cycle
from typing import Literal, TypeVar

from zidane_core.clock import wall_clock_ms
from zidane_core.store import Capabilities, Health, Transaction, TransactionalStore, full_capabilities

from ._checkpoint import Checkpoints, has_wal_reset_bug
from ._connection import Connection
from ._errors import store_errors
from ._groups import WriteGroups
from ._opening import MEMORY, Settings, open_reader, open_writer
from ._transaction import Counter, SqliteTransaction

T = TypeVar("T")

Synchronous = Literal["full", "normal"]


def capabilities_of(path: str, synchronous: Synchronous) -> Capabilities:
    """What a store on this path declares."""
    private = path == MEMORY
    return full_capabilities(
        durable="no" if private else "power" if synchronous == "full" else "process",
        shared="instance" if private else "host",
    )


class SqliteStore(TransactionalStore):
    """Sessions in one SQLite file, shared by any number of stores and processes of this host.

    `path` is the file, made where it is missing (its folder is not), or ":memory:" for a private store that nothing
    outlives. `synchronous` is what an acknowledged write survives: "full" a power cut, "normal" the death of the
    process. `busy_timeout`, in seconds, is how long a call waits for another process that is writing before it is
    StoreBusyError. `readers` is the number of reads at a time; they neither wait for writes nor hold them up.
    `any_file_system` lets the file be on a file system that SQLite's write-ahead log is not made for. `clock` gives
    epoch milliseconds.

    Writes that wait together are committed together, so many concurrent callers share the cost of one commit. A call
    that is cancelled may still take effect; repeating it is harmless. asyncio only; one store may be used from several
    event loops.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        synchronous: Synchronous = "full",
        busy_timeout: float = 5.0,
        readers: int = 2,
        any_file_system: bool = False,
        clock: Callable[[], int] = wall_clock_ms,
    ) -> None:
        if synchronous not in {"full", "normal"}:
            raise ValueError(f"synchronous is 'full' or 'normal', not {synchronous!r}")
        given = os.fspath(path)
        absolute = given if given == MEMORY else os.path.abspath(given)  # noqa: PTH100 -- as text; links stay SQLite's
        super().__init__(f"sqlite:///{given}")
        self._settings = Settings(
            path=absolute, synchronous=synchronous, busy_timeout=busy_timeout, any_file_system=any_file_system
        )
        self._capabilities = capabilities_of(absolute, synchronous)
        self._reader_count = 0 if absolute == MEMORY else readers
        self._clock = clock

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    # -- opening and closing ------------------------------------------------------------------

    async def _open(self) -> None:
        with ExitStack() as opened:
            self._writer = await Connection.open(partial(open_writer, self._settings))
            opened.callback(self._writer.close)
            self._readers: list[Connection] = []
            for _ in range(self._reader_count):
                self._readers.append(await Connection.open(partial(open_reader, self._settings)))
                opened.callback(self._readers[-1].close)
            opened.pop_all()
        self._reading = cycle(self._readers or [self._writer])
        checkpoints = Checkpoints(self._settings.path, self._settings.busy_timeout)
        self._writes = WriteGroups(self._writer, self._settings.path, checkpoints.after_commit)

    async def _close(self) -> None:
        self._writes.flush()
        closings = [connection.close() for connection in (*self._readers, self._writer)]  # under way, whatever happens
        for closing in closings:
            await closing.wait()

    # -- the two primitives -------------------------------------------------------------------

    async def _read(self, step: Callable[[Transaction], T]) -> T:
        return await next(self._reading).run(lambda raw: self._read_snapshot(raw, step))

    async def _write(self, step: Callable[[Transaction], T]) -> T:
        return await self._writes.run(
            lambda raw, counter: step(SqliteTransaction(raw, self._scope, self._clock, counter))
        )

    def _read_snapshot(self, raw: sqlite3.Connection, step: Callable[[Transaction], T]) -> T:
        with store_errors(self._settings.path):
            raw.execute("BEGIN")
            try:
                return step(SqliteTransaction(raw, self._scope, self._clock, Counter(raw)))
            finally:
                if raw.in_transaction:
                    raw.execute("ROLLBACK")

    # -- health -------------------------------------------------------------------------------

    async def _health(self) -> Health:
        return await self._writer.run(self._facts)

    def _facts(self, raw: sqlite3.Connection) -> Health:
        def pragma(name: str) -> int | str:
            value: int | str = raw.execute(f"PRAGMA {name}").fetchone()[0]
            return value

        with store_errors(self._settings.path):
            return Health(
                ok=True,
                backend="sqlite",
                version=sqlite3.sqlite_version,
                details={
                    "path": self._settings.path,
                    "journal_mode": pragma("journal_mode"),
                    "synchronous": {1: "normal", 2: "full"}.get(int(pragma("synchronous")), "other"),
                    "schema_version": pragma("user_version"),
                    "bytes": int(pragma("page_count")) * int(pragma("page_size")),
                    "wal_reset_bug": has_wal_reset_bug(sqlite3.sqlite_version_info),
                },
            )
