"""A SQLite connection in a thread of its own: the seam to aiosqlite.

aiosqlite hands single statements to its worker thread. A transaction handed over like that can be torn apart by a
cancellation, and pays the way to the thread and back for each statement. Here whole functions are handed over: one hop
for a transaction, which no await can interrupt. aiosqlite's own answers would kill its thread where the event loop was
closed in the meantime, so answering is done here, for opening and closing too. All that needs four things that
aiosqlite does not publish: its queue, where an entry without a future is run and not answered, the thread behind it,
its `_connection`, and that `stop` may be called in the thread. They are used in this file only, and
`tests/store_sqlite/test_connection.py` pins them.
"""

# ruff: noqa: SLF001 -- the seam itself
# pyright: reportPrivateUsage=false, reportUnknownMemberType=false

from __future__ import annotations

import asyncio
import os
import sqlite3
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Generic, Self, TypeVar

import aiosqlite

T = TypeVar("T")


class Reply(Generic[T]):
    """What a caller on an event loop waits for, to be answered from another thread."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._future: asyncio.Future[T] = self.loop.create_future()

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
        settle_soon(self.loop, lambda: self.settle(value, None))

    def fail(self, error: BaseException) -> None:
        settle_soon(self.loop, lambda: self.settle(None, error))

    def settle(self, value: Any, error: BaseException | None) -> None:
        """Send one or the other, on the caller's event loop itself."""
        if self._future.done():  # its caller was cancelled
            return
        if error is None:
            self._future.set_result(value)
        else:
            self._future.set_exception(error)


def settle_soon(loop: asyncio.AbstractEventLoop, act: Callable[[], object]) -> None:
    """Have a function run on an event loop of another thread, if that is still there."""
    with suppress(RuntimeError):  # it was closed: nobody waits any more
        loop.call_soon_threadsafe(act)


class Connection:
    """One SQLite connection. Work given to it is done in order, each piece undisturbed.

    A caller may be cancelled while it waits; the work is done all the same. May be used from any event loop, also one
    after another. A connection that is never closed ends with the interpreter, or when it is collected.
    """

    def __init__(self, driver: aiosqlite.Connection) -> None:
        self._driver = driver
        self._end = weakref.finalize(self, _abandon, driver, os.getpid())

    @classmethod
    async def open(cls, connect: Callable[[], sqlite3.Connection]) -> Self:
        """Run `connect` in a new thread and keep what it returns there. Leaves nothing behind when it fails."""
        driver = aiosqlite.Connection(connect, iter_chunk_size=64)
        driver._thread.daemon = True  # or a forgotten close would keep the interpreter from ending
        driver._thread.start()
        reply = Reply[None]()
        _submit(driver, lambda: reply.answer(lambda: setattr(driver, "_connection", connect())))
        try:
            await reply.wait()
        except BaseException:
            _submit(driver, lambda: _end(driver))
            raise
        return cls(driver)

    def submit(self, work: Callable[[sqlite3.Connection], object]) -> None:
        """Have a function run on the connection. It must not raise, and answers for itself."""
        driver = self._driver
        _submit(driver, lambda: work(driver._conn))

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """What a function returns, or raises, when it is run on the connection."""
        reply = Reply[T]()
        self.submit(lambda raw: reply.answer(lambda: work(raw)))
        return await reply.wait()

    def close(self) -> Reply[None]:
        """Close the connection and end its thread, once the work given before is done. It happens without waiting."""
        reply = Reply[None]()
        driver = self._driver
        if self._end.detach() is None:
            reply.send(None)
        else:
            _submit(driver, lambda: reply.answer(lambda: _end(driver)))
        return reply


def _submit(driver: aiosqlite.Connection, work: Callable[[], object]) -> None:
    driver._tx.put_nowait((None, work))


def _end(driver: aiosqlite.Connection) -> None:
    """Close the connection and stop the thread that this runs in, where no loop is asked for."""
    try:
        if driver._connection is not None:
            driver._connection.close()
    finally:
        driver._connection = None
        driver.stop()


def _abandon(driver: aiosqlite.Connection, pid: int) -> None:
    """Close a connection that was forgotten; in a fork leave it, since its thread and its locks are the parent's."""
    if pid == os.getpid():
        _submit(driver, lambda: _end(driver))
