"""The file map store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar, cast

import anyio
from msgspec.structs import replace

from zidane_core.clock import wall_clock_ms
from zidane_core.errors import CorruptRecordError, StoreUnavailableError, ZidaneError
from zidane_core.memory import MEMORY_CAPABILITIES, MemoryTransaction
from zidane_core.store import Capabilities, Health, Transaction, TransactionalStore

from .adapter import FileMapAdapter, FileMapStoreOptions
from .layout import from_files, to_files

T = TypeVar("T")

FILE_MAP_CAPABILITIES = replace(MEMORY_CAPABILITIES, scopes=False, durable="no", shared="instance", max_sessions=1)


class FileMapStore(TransactionalStore):
    """A single session in the host's file map.

    Every call reads the whole map, and every write replaces it, so this is for one conversation of moderate length
    beside the host's own files. A second session is CapacityError, never an overwrite. One store at a time may use an
    adapter. Works under asyncio and trio.
    """

    def __init__(
        self,
        adapter: FileMapAdapter,
        options: FileMapStoreOptions | None = None,
        *,
        clock: Callable[[], int] = wall_clock_ms,
    ) -> None:
        super().__init__("file map")
        self._adapter, self._names, self._clock = adapter, options or FileMapStoreOptions(), clock
        self._capabilities = replace(FILE_MAP_CAPABILITIES, durable=getattr(adapter, "durable", "no"))
        self._lock = anyio.Lock()

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    async def _health(self) -> Health:
        async with self._lock:
            files = await self._get()
        return Health(ok=True, backend=type(self._adapter).__name__, details={"files": len(files)})

    async def _read(self, step: Callable[[Transaction], T]) -> T:
        async with self._lock:
            files = await self._get()
        return step(self._transaction(files)[0])

    async def _write(self, step: Callable[[Transaction], T]) -> T:
        async with self._lock:
            files = await self._get()
            transaction, texts = self._transaction(files)
            answer = step(transaction)  # when it raises, its data is simply not saved
            if transaction.changed:
                await self._put({**self._foreign(files), **texts()})
        return answer

    def _transaction(self, files: Mapping[str, str]) -> tuple[MemoryTransaction, Callable[[], dict[str, str]]]:
        """A transaction on the data in the files, and what makes files of it again."""
        data = from_files(files, self._names, max_sessions=1)
        return MemoryTransaction(data, "", self._clock), lambda: to_files(data, self._names)

    def _foreign(self, files: Mapping[str, str]) -> dict[str, str]:
        own = (self._names.meta_file, self._names.turns_file, self._names.send_requests_file)
        return {name: text for name, text in files.items() if name not in own}

    async def _get(self) -> dict[str, str]:
        try:
            files = dict(await self._adapter.get())
        except ZidaneError:
            raise
        except Exception as error:
            raise StoreUnavailableError(f"the file map was not read: {type(error).__name__}: {error}") from error
        for name, text in files.items():
            if not isinstance(cast("object", text), str):
                raise CorruptRecordError(None, f"the file {name!r}", f"the map has a {type(text).__name__} for it")
        return files

    async def _put(self, files: Mapping[str, str]) -> None:
        try:
            await self._adapter.save(files)
        except ZidaneError:
            raise
        except Exception as error:
            reason = f"the file map was not saved: {type(error).__name__}: {error}"
            raise StoreUnavailableError(reason, outcome_unknown=True) from error
