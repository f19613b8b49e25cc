"""A scoped handle that also closes the backend that was opened for it."""

from __future__ import annotations

from zidane_core.store import SessionStore, StoreMiddleware


class OwnedScope(StoreMiddleware):
    """What `open_store(url, scope=...)` gives: the tenant's handle, whose `aclose` releases the backend too."""

    def __init__(self, scoped: SessionStore, backend: SessionStore) -> None:
        super().__init__(scoped)
        self._backend = backend

    def in_scope(self, scope: str) -> SessionStore:
        return self.wrapped.in_scope(scope)

    async def aclose(self) -> None:
        try:
            await self.wrapped.aclose()
        finally:
            await self._backend.aclose()
