"""What surrounds the calls of a store, whatever they are: opening, closing, scopes, and the one way through."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

import msgspec

from zidane_core.records import SessionArtifact, SessionData

from .protocol import SessionStore
from .values import Capabilities, Health

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """A call of a store's method."""

    name: str
    """The method's name, as in `append_turns`."""
    arguments: Mapping[str, Any]
    """All of the method's arguments by name."""
    write: bool
    """Whether it may change what is stored."""

    @property
    def session_id(self) -> str | None:
        """The session that the call is about; None where it is about no one in particular."""
        session: SessionData | None = self.arguments.get("session")
        if session is not None:
            return session.id
        artifact: SessionArtifact | None = self.arguments.get("artifact")
        return artifact.session_id if artifact is not None else self.arguments.get("session_id")


class Proceed(Protocol[T_co]):
    """Calls the wrapped store's method; arguments given by name take the place of the caller's."""

    def __call__(self, **changed: Any) -> Awaitable[T_co]: ...


class AroundCalls:
    """A part of `StoreMiddleware`: all but the forwarding methods."""

    def __init__(self, store: SessionStore) -> None:
        self._wrapped = store

    async def around(self, operation: Operation, proceed: Proceed[T]) -> T:
        """The operation's answer; here, what the wrapped store answers."""
        return await proceed()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} around {self._wrapped!r}>"

    @property
    def wrapped(self) -> SessionStore:
        """The store within."""
        return self._wrapped

    @property
    def capabilities(self) -> Capabilities:
        return self._wrapped.capabilities

    @property
    def scope(self) -> str:
        return self._wrapped.scope

    async def __aenter__(self) -> Self:
        await self._wrapped.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None, /
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._wrapped.aclose()

    async def health(self) -> Health:
        return await self._read("health", self._wrapped.health)

    # -- how it is done -----------------------------------------------------------------------

    async def _read(self, name: str, method: Callable[..., Awaitable[T]], **arguments: Any) -> T:
        return await self._call(Operation(name=name, arguments=arguments, write=False), method)

    async def _write(self, name: str, method: Callable[..., Awaitable[T]], **arguments: Any) -> T:
        return await self._call(Operation(name=name, arguments=arguments, write=True), method)

    async def _call(self, operation: Operation, method: Callable[..., Awaitable[T]]) -> T:
        def proceed(**changed: Any) -> Awaitable[T]:
            return method(**{**operation.arguments, **changed})

        return await self.around(operation, proceed)
