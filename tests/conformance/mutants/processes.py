"""Broken between processes, and when one is killed."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from msgspec.structs import replace

from tests.conformance.mutants.base import mutant
from tests.conformance.mutants.whole_file import WholeFileStore
from zidane_core.errors import StoreForkedError
from zidane_core.records import SessionHistory


@mutant(
    "append.concurrent-processes",
    "guard.compare-and-swap-processes",
    "claim.across-processes",
    "create.across-processes",
)
class LockPerProcess(WholeFileStore):
    """The file is read when the store is opened and at reads, and written under a lock that only this process sees."""

    @contextmanager
    def locked(self) -> Iterator[None]:
        yield

    async def _write(self, step: Any) -> Any:
        self.fetch()
        transaction = self._transaction()
        answer = step(transaction)
        kept = self._data.scopes, self._data.rev
        await asyncio.sleep(0.002)
        self._data.scopes, self._data.rev = kept
        self.store()
        return answer


@mutant("history.edit-amid-appends-processes")
class EditWithoutCompare(WholeFileStore):
    """An edited history is saved over what was appended while it was edited."""

    async def mutate_history(self, session_id: str, mutate: Any, **kwargs: Any) -> Any:
        data = await self.load(session_id)
        assert data is not None
        after = mutate(SessionHistory(turns=data.turns, runs=data.runs))
        await asyncio.sleep(0.3)
        return await self.save(replace(data, turns=after.turns))


@mutant("kill.acknowledged-is-kept", "exit.forgotten-close", "kill.rev-goes-on")
class AcknowledgesBeforeItWrites(WholeFileStore):
    """Writes are acknowledged from memory, and reach the file when the store is closed."""

    def store(self) -> None:
        self.dirty = True

    def fetch(self) -> None:
        if not getattr(self, "dirty", False):
            super().fetch()

    async def _close(self) -> None:
        super().store()


@mutant("kill.acknowledged-is-kept", "kill.creation-is-whole")
class TornWrite(WholeFileStore):
    """An append writes the turns to the file, and then, in a second write, the run and the metadata."""

    async def append_turns(
        self, session_id: str, turns: Any, *, run: Any = None, metadata: Any = None, **kwargs: Any
    ) -> Any:
        if run is None:
            return await super().append_turns(session_id, turns, metadata=metadata, **kwargs)
        await super().append_turns(session_id, turns, **kwargs)
        time.sleep(0.05)
        return await super().append_turns(session_id, [], run=run, metadata=metadata)


@mutant("kill.claim-is-free-at-once")
class AnonymousOwner(WholeFileStore):
    """The owner of a claim is recorded without its process, so a dead one cannot be told."""

    async def claim_run(self, session_id: str, *, owner: Any = None, **kwargs: Any) -> Any:
        owner = None if owner is None else replace(owner, host_id="somewhere")
        return await super().claim_run(session_id, owner=owner, **kwargs)


@mutant("exit.forgotten-close")
class HangsAtExit(WholeFileStore):
    """A store that was not closed keeps the program from ending."""

    async def _open(self) -> None:
        self.open = threading.Event()
        threading.Thread(target=self.open.wait, args=(60,)).start()

    async def _close(self) -> None:
        self.open.set()


@mutant("exit.fork-is-refused")
class WorksInAFork(WholeFileStore):
    """In a fork a call waits for a worker that is not there."""

    async def load(self, session_id: str, **kwargs: Any) -> Any:
        if self._lifecycle._pid != os.getpid():
            await asyncio.Event().wait()
        try:
            return await super().load(session_id, **kwargs)
        except StoreForkedError:
            return None
