"""A file of JSON for each group: {"version": 3, "entries": {key: text}}. POSIX only, for `fcntl` and `fsync`."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import anyio.to_thread

from zidane_core.cas import HEAD, CasStore, cas_capabilities
from zidane_core.errors import CorruptRecordError, StoreFullError, StoreUnavailableError

T = TypeVar("T")

CAPABILITIES = cas_capabilities(durable="power", shared="host")


class JsonDirStore(CasStore):
    """Sessions in a directory of the local disk, whose parent exists. A commit rewrites its session's file."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        super().__init__(f"jsondir:///{directory}", CAPABILITIES)
        self._directory = Path(directory)

    async def _open(self) -> None:
        await _in_thread(_make_directory, self._directory)

    async def get(self, group: str, keys: Sequence[str]) -> Mapping[str, bytes]:
        _, entries = await _in_thread(_read, self._file(group))
        return {key: entries[key].encode() for key in keys if key in entries}

    async def range(self, group: str, start: str, stop: str) -> Iterable[tuple[str, bytes]]:
        _, entries = await _in_thread(_read, self._file(group))
        return [(key, text.encode()) for key, text in entries.items() if start <= key < stop]

    async def commit(self, group: str, version: int, puts: Mapping[str, bytes | None]) -> bool:
        return await _in_thread(_compare_and_swap, self._file(group), version, puts)

    async def scan(self, prefix: str) -> Iterable[tuple[str, bytes]]:
        files = await _in_thread(lambda: list(self._directory.glob(f"{prefix}*.json")))
        return [(file.stem, (await _in_thread(_read, file))[1][HEAD].encode()) for file in files]

    async def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def _file(self, group: str) -> Path:
        return self._directory / f"{group}.json"


async def _in_thread(work: Callable[..., T], *args: Any) -> T:
    try:
        return await anyio.to_thread.run_sync(work, *args)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):  # found before the file is replaced
            raise StoreFullError(str(error)) from error
        raise StoreUnavailableError(str(error), outcome_unknown=True) from error


def _read(file: Path) -> tuple[int, dict[str, str]]:
    """A group's version and entries. A file is only ever replaced as a whole, so this is a snapshot."""
    try:
        found = json.loads(file.read_bytes())
        return found["version"], found["entries"]
    except FileNotFoundError:
        return 0, {}
    except (ValueError, LookupError, TypeError) as error:
        raise CorruptRecordError(None, f"the file {file.name}", str(error)) from error


def _compare_and_swap(file: Path, version: int, puts: Mapping[str, bytes | None]) -> bool:
    with file.with_suffix(".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # until the file is closed, or the process dies
        found, entries = _read(file)
        if found != version:
            return False
        changed = {key: None if value is None else value.decode() for key, value in puts.items()}
        kept = {key: text for key, text in {**entries, **changed}.items() if text is not None}
        _replace(file, json.dumps({"version": version + 1, "entries": kept}))
    return True


def _replace(file: Path, text: str) -> None:
    with file.with_suffix(".new").open("w", encoding="ascii") as new:
        new.write(text)
        new.flush()
        os.fsync(new.fileno())
    Path(new.name).replace(file)
    _sync(file.parent)


def _make_directory(directory: Path) -> None:
    directory.mkdir(exist_ok=True)
    _sync(directory.parent)


def _sync(directory: Path) -> None:
    """Make the names in a directory survive a power cut."""
    opened = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
