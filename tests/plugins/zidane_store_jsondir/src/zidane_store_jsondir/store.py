"""A file of JSON for each group: {"version": 3, "entries": {key: text}}. POSIX only, for `fcntl` and `fsync`."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import anyio.to_thread

from zidane_core.cas import HEAD, CasStore
from zidane_core.errors import CorruptRecordError, StoreFullError, StoreUnavailableError
from zidane_core.store import full_capabilities


class JsonDirStore(CasStore):
    """Sessions in a directory of the local disk, whose parent exists. A commit rewrites its session's file."""

    def __init__(self, directory: str | os.PathLike[str], *, fsync: bool = True) -> None:
        capabilities = full_capabilities(durable="power" if fsync else "process", shared="host")
        super().__init__(f"jsondir:///{directory}", capabilities)
        self._directory, self._fsync = Path(directory), fsync

    async def _open(self) -> None:
        with _errors():
            self._directory.mkdir(exist_ok=True)
            self._sync(self._directory.parent)

    async def get(self, group: str, keys: Sequence[str]) -> Mapping[str, bytes]:
        _, entries = _read(self._file(group))
        return {key: entries[key].encode() for key in keys if key in entries}

    async def range(self, group: str, start: str, stop: str) -> Iterable[tuple[str, bytes]]:
        _, entries = _read(self._file(group))
        return [(key, text.encode()) for key, text in entries.items() if start <= key < stop]

    async def commit(self, group: str, version: int, puts: Mapping[str, bytes | None]) -> bool:
        return await anyio.to_thread.run_sync(self._compare_and_swap, self._file(group), version, puts)

    async def scan(self, prefix: str) -> Iterable[tuple[str, bytes]]:
        with _errors():
            files = [file for file in self._directory.iterdir() if file.match(f"{prefix}*.json")]
        return [(file.stem, _read(file)[1].get(HEAD, "").encode()) for file in files]

    async def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def _file(self, group: str) -> Path:
        return self._directory / f"{group}.json"

    def _compare_and_swap(self, file: Path, version: int, puts: Mapping[str, bytes | None]) -> bool:
        with _errors(), file.with_suffix(".lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # until the file is closed, or the process dies
            found, entries = _read(file)
            if found != version:
                return False
            changed = {key: None if value is None else value.decode() for key, value in puts.items()}
            kept = {key: text for key, text in {**entries, **changed}.items() if text is not None}
            self._replace(file, json.dumps({"version": version + 1, "entries": kept}))
        return True

    def _replace(self, file: Path, text: str) -> None:
        new = file.with_suffix(".new")
        new.write_text(text, encoding="ascii")
        self._sync(new)
        new.replace(file)
        self._sync(file.parent)

    def _sync(self, path: Path) -> None:
        """Make a file's content, or the names in a directory, survive a power cut."""
        if self._fsync:
            opened = os.open(path, os.O_RDONLY)
            try:
                os.fsync(opened)
            finally:
                os.close(opened)


def _read(file: Path) -> tuple[int, dict[str, str]]:
    """A group's version and entries. A file is only ever replaced as a whole, so this is a snapshot."""
    with _errors():
        if not file.exists() and file.parent.is_dir():  # without the directory, nothing is known
            return 0, {}
        stored = file.read_bytes()
    try:
        found = json.loads(stored)
        return found["version"], found["entries"]
    except (ValueError, LookupError, TypeError) as error:
        raise CorruptRecordError(None, f"the file {file.name}", str(error)) from error


@contextmanager
def _errors() -> Iterator[None]:
    """The system's errors as the store's."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):  # found before the file is replaced
            raise StoreFullError(str(error)) from error
        raise StoreUnavailableError(str(error), outcome_unknown=True) from error
