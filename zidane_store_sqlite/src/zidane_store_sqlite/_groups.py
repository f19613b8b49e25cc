"""Group commit: steps that wait for the writer together are committed together."""

from __future__ import annotations

import sqlite3
from asyncio import AbstractEventLoop
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from ._connection import Connection, Reply, settle_soon
from ._errors import store_error
from ._transaction import Counter

T = TypeVar("T")

Step = Callable[[sqlite3.Connection, Counter], T]

GROUP_LIMIT = 128
"""Steps in one transaction; more would keep the write lock from other processes for too long."""


class _Member:
    """A step, who waits for it, and what came of it; told only once that is committed."""

    def __init__(self, step: Step[Any]) -> None:
        self.step, self.reply = step, Reply[Any]()
        self.value: Any = None
        self.error: BaseException | None = None

    def tell(self) -> None:
        """On the event loop of who waits."""
        self.reply.settle(self.value, self.error)


class WriteGroups:
    """Runs steps on the writer, each all or nothing. The order is that of the calls.

    Steps that wait at the same time share a transaction. A step that raises before it has changed anything, as nearly
    all that raise do, has nothing to undo and leaves the others as they are. In any other trouble (a step that raises
    later, a full disk, a failing commit) all of it is undone and each step runs again in a transaction of its own.
    So no step pays for a savepoint.
    """

    def __init__(self, writer: Connection, path: str, after_commit: Callable[[sqlite3.Connection], None]) -> None:
        self._writer, self._path, self._after_commit = writer, path, after_commit
        self._waiting: deque[_Member] = deque()
        self._called_on: AbstractEventLoop | None = None

    async def run(self, step: Step[T]) -> T:
        member = _Member(step)
        self._waiting.append(member)
        if self._called_on is not member.reply.loop:  # at the end of this turn of the loop: who else writes in it joins
            self._called_on = member.reply.loop
            self._called_on.call_soon(self.flush)
        value: T = await member.reply.wait()
        return value

    def flush(self) -> None:
        """Hand what waits to the writer's thread."""
        self._called_on = None
        for _ in range(0, len(self._waiting), GROUP_LIMIT):
            self._writer.submit(self._write_waiting)

    # -- in the writer's thread ---------------------------------------------------------------

    def _write_waiting(self, raw: sqlite3.Connection) -> None:
        members = [self._waiting.popleft() for _ in range(min(len(self._waiting), GROUP_LIMIT))]
        members = [member for member in members if member.reply.is_awaited]
        if not members:
            return
        self._write_group(raw, members)
        _tell(members)
        self._after_commit(raw)

    def _write_group(self, raw: sqlite3.Connection, members: Sequence[_Member]) -> None:
        try:
            raw.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            for member in members:
                member.error = self._translated(error)
            return
        if len(members) == 1:
            self._write_alone(raw, members[0])
        elif not self._write_together(raw, members):
            for member in members:
                self._write_group(raw, [member])

    def _write_alone(self, raw: sqlite3.Connection, member: _Member) -> None:
        """Run a step in the open transaction and end that."""
        counter, committing = Counter(raw), False
        try:
            member.value = member.step(raw, counter)
            counter.flush()
            committing = True
            raw.execute("COMMIT")
            member.error = None
        except BaseException as error:  # noqa: BLE001 -- raised again where it is awaited
            member.error = self._translated(error, committing=committing)
            _roll_back(raw)

    def _write_together(self, raw: sqlite3.Connection, members: Sequence[_Member]) -> bool:
        """Run steps in the open transaction and commit them. False: all is undone, as if none had run."""
        counter = Counter(raw)
        try:
            for member in members:
                _run_in_company(raw, counter, member)
            counter.flush()
            raw.execute("COMMIT")
        except BaseException:  # noqa: BLE001 -- whatever it was, it comes again where a step runs alone
            _roll_back(raw)
            return False
        return True

    def _translated(self, error: BaseException, *, committing: bool = False) -> BaseException:
        if not isinstance(error, sqlite3.Error):
            return error
        translated = store_error(error, self._path, committing=committing)
        translated.__cause__ = error
        return translated


def _tell(members: Sequence[_Member]) -> None:
    """Answer all who wait on one event loop by one call: each would wake it, and the thread would wait for it."""
    for loop in dict.fromkeys(member.reply.loop for member in members):
        settle_soon(loop, partial(_tell_on, [member for member in members if member.reply.loop is loop]))


def _tell_on(members: Sequence[_Member]) -> None:
    for member in members:
        member.tell()


def _run_in_company(raw: sqlite3.Connection, counter: Counter, member: _Member) -> None:
    """Run a step. Raises where that leaves something to undo."""
    before = raw.total_changes
    try:
        member.value = member.step(raw, counter)
    except sqlite3.Error:
        raise
    except BaseException as error:
        if raw.total_changes != before:
            raise
        member.error = error


def _roll_back(raw: sqlite3.Connection) -> None:
    if raw.in_transaction:  # SQLite has ended it by itself where the disk is full or failed
        with suppress(sqlite3.Error):  # says the next BEGIN
            raw.execute("ROLLBACK")
