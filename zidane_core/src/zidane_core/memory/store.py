"""The memory store."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from msgspec.structs import replace

from zidane_core.clock import wall_clock_ms
from zidane_core.store import Capabilities, Health, Transaction, TransactionalStore, full_capabilities

from .data import MemoryData, MemoryTransaction

T = TypeVar("T")

MEMORY_CAPABILITIES = full_capabilities(
    durable="no",
    shared="instance",
)


class MemoryStore(TransactionalStore):
    """Sessions in this process's memory, as the bytes that any other store would keep. Nothing is persisted.

    Stores made with the same `data` see the same sessions. Works under asyncio and trio.
    """

    def __init__(
        self, *, data: MemoryData | None = None, name: str = "memory", clock: Callable[[], int] = wall_clock_ms
    ) -> None:
        super().__init__(name)
        self._data = MemoryData() if data is None else data
        self._capabilities = MEMORY_CAPABILITIES if data is None else replace(MEMORY_CAPABILITIES, shared="process")
        self._clock = clock

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    async def _health(self) -> Health:
        return Health(ok=True, backend="memory", details={"scopes": len(self._data.scopes), "rev": self._data.rev})

    async def _read(self, step: Callable[[Transaction], T]) -> T:
        return step(self._transaction())

    async def _write(self, step: Callable[[Transaction], T]) -> T:
        transaction = self._transaction()
        try:  # nothing awaits in here, so no other task sees a part of it
            return step(transaction)
        except BaseException:
            transaction.roll_back()
            raise

    def _transaction(self) -> MemoryTransaction:
        return MemoryTransaction(self._data, self._scope, self._clock)
