"""Stores around a store, in which something happens at a chosen call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from zidane_core import StoreUnavailableError
from zidane_core.store import Operation, Proceed, SessionStore, StoreMiddleware


class Recording(StoreMiddleware):
    """Counts the calls by name."""

    def __init__(self, store: SessionStore) -> None:
        super().__init__(store)
        self.calls: Counter[str] = Counter()
        self.writes: list[str] = []

    async def around(self, operation: Operation, proceed: Proceed[Any]) -> Any:
        self.calls[operation.name] += 1
        if operation.write:
            self.writes.append(operation.name)
        return await proceed()


class Troubled(StoreMiddleware):
    """`before(operation)` and `after(operation)` are awaited around each call; each may raise."""

    def __init__(
        self,
        store: SessionStore,
        *,
        before: Callable[[Operation], Awaitable[None]] | None = None,
        after: Callable[[Operation], Awaitable[None]] | None = None,
    ) -> None:
        super().__init__(store)
        self.before, self.after = before, after

    async def around(self, operation: Operation, proceed: Proceed[Any]) -> Any:
        if self.before is not None:
            await self.before(operation)
        answer = await proceed()
        if self.after is not None:
            await self.after(operation)
        return answer


def failing_once(
    *names: str, error: Callable[[], BaseException] = lambda: StoreUnavailableError("no answer", outcome_unknown=True)
) -> Callable[[Operation], Awaitable[None]]:
    """Raises at the first call of one of these methods, and never again."""
    failed = False

    async def hook(operation: Operation) -> None:
        nonlocal failed
        if operation.name in names and not failed:
            failed = True
            raise error()

    return hook


def failing(*names: str) -> Callable[[Operation], Awaitable[None]]:
    """Raises at every call of these methods."""

    async def hook(operation: Operation) -> None:
        if operation.name in names:
            raise StoreUnavailableError("no answer")

    return hook
