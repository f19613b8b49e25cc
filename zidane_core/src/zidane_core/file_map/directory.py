"""A file map in a directory, saved as a whole: a new generation is written and synced, then one pointer is switched.

    path/current                                  the name of the generation that counts
    path/generation-<32 hex digits>/meta.json …   the files of the map

Whenever the machine stops, `current` names a complete generation: the old one or the new one.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, TypeVar
from uuid import uuid4

import anyio.to_thread

from zidane_core.errors import (
    CorruptRecordError,
    InvalidContentError,
    PermissionDeniedError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
    StoreUnavailableError,
)

from .names import check_names

T = TypeVar("T")

ABANDONED_AFTER_S = 3_600
"""An unfinished generation this old belongs to no writer any more."""

_POINTER = "current"
_GENERATION = re.compile(r"generation-[0-9a-f]{32}")
_READ_TRIES = 20


class DirectoryAdapter:
    """A `FileMapAdapter` that keeps the map in a directory, and makes the directory when it saves.

    A save that was acknowledged survives a power cut. One that is cancelled happens wholly or not at all, and never
    after a later one. File names have to be plain and safe on every system: anything else is InvalidIdError.
    """

    durable: Literal["power"] = "power"

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._root = Path(path)
        self._lock = threading.Lock()
        self._asked = 0
        self._done = 0

    async def get(self) -> dict[str, str]:
        return await anyio.to_thread.run_sync(self._locked, self._read)

    async def save(self, files: Mapping[str, str], /) -> None:
        check_names(files)
        contents = {name: _encoded(name, text) for name, text in files.items()}
        self._asked += 1
        ticket = self._asked
        await anyio.to_thread.run_sync(self._locked, lambda: self._replace(contents, ticket))

    async def delete(self) -> None:
        await anyio.to_thread.run_sync(self._locked, self._remove)

    # -- in a worker thread, one call at a time -----------------------------------------------

    def _locked(self, work: Callable[[], T]) -> T:
        """A cancelled caller leaves its thread working: the next call waits for that."""
        with self._lock, _typed_errors(self._root):
            return work()

    def _read(self) -> dict[str, str]:
        for _ in range(_READ_TRIES):
            generation = self._current()
            if generation is None:
                return {}
            try:
                return {file.name: _decoded(file) for file in sorted(generation.iterdir())}
            except FileNotFoundError:  # another process has switched meanwhile: look again
                continue
        raise CorruptRecordError(None, f"the directory {self._root}", "the generation that counts is not there")

    def _replace(self, contents: Mapping[str, bytes], ticket: int) -> None:
        if ticket < self._done:
            return  # its caller was cancelled before this began, and a later save has been acknowledged
        self._root.mkdir(parents=True, exist_ok=True)
        before = self._current()
        generation = self._root / f"generation-{uuid4().hex}"
        try:
            _write_generation(generation, contents)
            self._point_to(generation)
        except BaseException:
            if self._points_elsewhere(generation):
                shutil.rmtree(generation, ignore_errors=True)
            raise
        self._done = ticket
        self._clean_up(before)

    def _point_to(self, generation: Path) -> None:
        fresh = self._root / f"{_POINTER}.{generation.name}"
        try:
            _write_file(fresh, generation.name.encode())
            _sync_directory(self._root)  # the generation's own entry, before anything names it
            fresh.replace(self._root / _POINTER)
        except BaseException:
            with suppress(OSError):
                fresh.unlink()
            raise
        _sync_directory(self._root)

    def _current(self) -> Path | None:
        try:
            name = (self._root / _POINTER).read_bytes().decode("ascii", "replace")
        except FileNotFoundError:
            return None
        if not _GENERATION.fullmatch(name):
            raise CorruptRecordError(None, f"the file {self._root / _POINTER}", "it names no generation")
        return self._root / name

    def _points_elsewhere(self, generation: Path) -> bool:
        """Whether a generation that failed may go. Where that cannot be told, it stays."""
        try:
            return self._current() != generation
        except (OSError, StoreError):
            return False

    def _clean_up(self, before: Path | None) -> None:
        """Remove what the switch has replaced, and what writers that died have left; others may be at work."""
        with suppress(OSError):
            if before is not None:
                shutil.rmtree(before, ignore_errors=True)
            oldest, current = time.time() - ABANDONED_AFTER_S, self._current()
            for entry in self._root.glob("*generation-*"):
                if entry != current and entry.stat().st_mtime < oldest:
                    entry.unlink() if entry.is_file() else shutil.rmtree(entry, ignore_errors=True)

    def _remove(self) -> None:
        """The pointer goes first: from then on there is no map."""
        before = self._current()
        if before is not None:
            (self._root / _POINTER).unlink()
            _sync_directory(self._root)
            self._clean_up(before)


def _write_generation(folder: Path, contents: Mapping[str, bytes]) -> None:
    folder.mkdir()
    for name, content in contents.items():
        _write_file(folder / name, content)
    _sync_directory(folder)


def _write_file(path: Path, content: bytes) -> None:
    with path.open("xb") as file:  # never into a file of another writer
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_directory(path: Path) -> None:
    if os.name == "nt":  # Windows has no such thing, and needs none for a rename
        return
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _encoded(name: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InvalidContentError(f"$[{name!r}]", "a lone surrogate, which a text file cannot hold") from error


def _decoded(file: Path) -> str:
    try:
        return file.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise CorruptRecordError(None, f"the file {file.name!r}", str(error)) from error


@contextmanager
def _typed_errors(root: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        reason = f"{root}: {error.strerror or error}"
        match error.errno:
            case errno.ENOSPC | errno.EDQUOT:
                raise StoreFullError(reason) from error
            case errno.EROFS:
                raise StoreReadOnlyError(reason) from error
            case errno.EACCES | errno.EPERM:
                raise PermissionDeniedError(reason) from error
            case _:
                raise StoreUnavailableError(reason, outcome_unknown=True) from error
