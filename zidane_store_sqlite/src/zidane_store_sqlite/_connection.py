"""A SQLite connection in a thread of its own: the seam to aiosqlite.

aiosqlite hands single statements to its worker thread. A transaction handed over like that can be torn apart by a
cancellation, and pays the way to the thread and back for each statement. Here whole functions are handed over: one hop
for a transaction, which no await can interrupt. That needs three things that aiosqlite does not publish, used in this
file only and pinned by `tests/store_sqlite/test_connection.py`: its queue, the thread behind it, and that an entry
without a future is run and not answered. Answering is done here, since a loop that was closed in the meantime would
kill aiosqlite's thread.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, Self, TypeVar

import aiosqlite

T = TypeVar("T")


class Reply(Generic[T]):
    """What a caller on an event loop waits for, to be answered from another thread."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._future: asyncio.Future[T] = self._loop.create_future()

    @property
    def is_awaited(self) -> bool:
        """False once the caller was cancelled."""
        return not self._future.done()

    async def wait(self) -> T:
        return await self._future

    def answer(self, act: Callable[[], T]) -> None:
        """Do something for the caller and send what comes of it."""
        try:
            value = act()
        except BaseException as error:  # noqa: BLE001 -- raised again where it is awaited
            self.fail(error)
        else:
            self.send(value)

    def send(self, value: T) -> None:
        self._call(lambda future: future.set_result(value))

    def fail(self, error: BaseException) -> None:
        self._call(lambda future: future.set_exception(error))

    def _call(self, settle: Callable[[asyncio.Future[T]], None]) -> None:
        def deliver() -> None:
            if not self._future.done():
                settle(self._future)

        with suppress(RuntimeError):  # the loop was closed: nobody waits any more
            self._loop.call_soon_threadsafe(deliver)


class Connection:
    """One SQLite connection. Work given to it is done in order, each piece undisturbed.

    A caller may be cancelled while it waits; the work is done all the same. May be used from any event loop, also one
    after another. A connection that is never closed ends with the interpreter, or when it is collected.
    """

    def __init__(self, driver: aiosqlite.Connection, raw: sqlite3.Connection) -> None:
        self._driver, self._raw = driver, raw
        self._end = weakref.finalize(self, _abandon, driver, raw, os.getpid())

    @classmethod
    async def open(cls, connect: Callable[[], sqlite3.Connection]) -> Self:
        """Run `connect` in a new thread and keep what it returns there. Leaves nothing behind when it fails."""
        opening = _Opening(connect)
        driver = aiosqlite.Connection(opening, iter_chunk_size=64)
        driver._thread.daemon = True  # noqa: SLF001 -- or a forgotten close would keep the interpreter from ending
        try:
            await driver
        except BaseException:
            opening.abandon()
            raise
        return cls(driver, opening.result())

    def submit(self, work: Callable[[sqlite3.Connection], object]) -> None:
        """Have a function run on the connection. It must not raise, and answers for itself."""
        raw = self._raw
        self._driver._tx.put_nowait((None, lambda: work(raw)))  # noqa: SLF001 -- see the top of the file

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """What a function returns, or raises, when it is run on the connection."""
        reply = Reply[T]()
        self.submit(lambda raw: reply.answer(lambda: work(raw)))
        return await reply.wait()

    def close(self) -> Reply[None]:
        """Close the connection and end its thread, once the work given before is done. It happens without waiting."""
        reply = Reply[None]()
        driver, raw = self._driver, self._raw
        if self._end.detach() is None:
            reply.send(None)
        else:
            self.submit(lambda _: reply.answer(lambda: _end(driver, raw)))
        return reply


class _Opening:
    """Hands a fresh connection over from its thread, or closes it there if nobody wants it any more."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect
        self._lock = threading.Lock()
        self._raw: sqlite3.Connection | None = None
        self._abandoned = False

    def __call__(self) -> sqlite3.Connection:
        raw = self._connect()
        with self._lock:
            self._raw = raw
            if self._abandoned:
                raw.close()
        return raw

    def abandon(self) -> None:
        with self._lock:
            self._abandoned = True
            if self._raw is not None:
                self._raw.close()

    def result(self) -> sqlite3.Connection:
        assert self._raw is not None  # noqa: S101 -- aiosqlite has just got it
        return self._raw


def _end(driver: aiosqlite.Connection, raw: sqlite3.Connection) -> None:
    """Close the connection and stop the thread that this runs in, where no loop is asked for."""
    try:
        raw.close()
    finally:
        driver.stop()


def _abandon(driver: aiosqlite.Connection, raw: sqlite3.Connection, pid: int) -> None:
    """Close a connection that was forgotten; in a fork leave it, since its thread and its locks are the parent's."""
    if pid == os.getpid():
        driver._tx.put_nowait((None, lambda: _end(driver, raw)))  # noqa: SLF001 -- see the top of the file
