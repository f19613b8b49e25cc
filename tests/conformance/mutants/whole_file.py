"""A correct store for several processes, in fifty lines: one file that is locked, read and replaced by every call."""

from __future__ import annotations

import fcntl
import os
import pickle
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from msgspec.structs import replace

from tests.conformance.mutants.base import MutantStore
from zidane_core.memory import MEMORY_CAPABILITIES, MemoryData

FOLDER = Path(tempfile.gettempdir()) / f"zidane-mutants-{os.environ.get('ZIDANE_MUTANTS', '0')}"


class WholeFileStore(MutantStore):
    """Sessions in one file for each class. Broken ones are made by overriding a step of a write."""

    declared: ClassVar[Any] = replace(MEMORY_CAPABILITIES, shared="host", durable="process")

    def __init__(self) -> None:
        super().__init__()
        self._data = MemoryData()
        FOLDER.mkdir(exist_ok=True)
        self.path = FOLDER / f"{type(self).__name__}.pickle"

    async def _read(self, step: Any) -> Any:
        with self.locked():
            self.fetch()
            return await super()._read(step)

    async def _write(self, step: Any) -> Any:
        with self.locked():
            self.fetch()
            answer = await super()._write(step)
            self.store()
            return answer

    @contextmanager
    def locked(self) -> Iterator[None]:
        with self.path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def fetch(self) -> None:
        if self.path.exists():
            found = pickle.loads(self.path.read_bytes())
            self._data.scopes, self._data.rev = found.scopes, found.rev

    def store(self) -> None:
        new = self.path.with_suffix(f".{os.getpid()}")
        new.write_bytes(pickle.dumps(self._data))
        new.replace(self.path)
