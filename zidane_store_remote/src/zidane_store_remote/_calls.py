"""How a store's calls become requests: the route, the guard's headers, the operation's id, the pages of a listing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar
from uuid import uuid4

from msgspec import UNSET
from msgspec.structs import replace

from zidane_core.store import NO_GUARD, BaseStore, Guard, SessionFilter

from ._client.answers import Reader, record_reader
from ._client.transport import Request, Transport
from ._wire import headers as names
from ._wire import lines
from ._wire.bodies import Service
from ._wire.headers import guard_headers
from ._wire.route import Route
from ._wire.routes import BY_NAME
from ._wire.texts import NULL, to_text

T = TypeVar("T")

_SAME_TWICE = frozenset({"renew_run", "new_id"})
"""Writes that need no operation id to be sent again."""


class RemoteCalls(BaseStore):
    """A part of `RemoteStore`."""

    _transport: Transport
    _service: Service

    async def _ask(
        self,
        name: str,
        *,
        guard: Guard = NO_GUARD,
        query: Mapping[str, object] | None = None,
        body: bytes | None = None,
        **ids: str,
    ) -> Any:
        """The answer's record."""
        return await self._send(name, record_reader(BY_NAME[name].answer), guard, query or {}, body, ids)

    async def _ask_lines(
        self,
        name: str,
        read: Reader[T],
        *,
        guard: Guard = NO_GUARD,
        query: Mapping[str, object] | None = None,
        body: bytes | None = None,
        **ids: str,
    ) -> T:
        """The answer, read as lines while it arrives."""
        return await self._send(name, read, guard, query or {}, body, ids, accept=lines.MEDIA_TYPE)

    async def _send(
        self,
        name: str,
        read: Reader[T],
        guard: Guard,
        query: Mapping[str, object],
        body: bytes | None,
        ids: Mapping[str, str],
        accept: str = "application/json",
    ) -> T:
        route = BY_NAME[name]
        guard = self._with_operation(route, guard)
        request = Request(
            method=route.method,
            path=route.at(**ids),
            query={key: _query_text(value) for key, value in query.items() if value is not UNSET},
            headers={"accept": accept, **self._scope_header(), **guard_headers(guard)},
            body=body,
            repeatable=not route.writes or name in _SAME_TWICE or guard.op_id is not None,
        )
        return await self._transport.call(request, read)

    def _with_operation(self, route: Route, guard: Guard) -> Guard:
        """The guard of one call, with an operation id where the served store keeps them: tries share it."""
        wanted = route.writes and route.name not in _SAME_TWICE and guard.op_id is None
        return replace(guard, op_id=uuid4().hex) if wanted and self._service.capabilities.operations else guard

    def _scope_header(self) -> dict[str, str]:
        return {names.SCOPE: to_text(self._scope)} if self._scope else {}

    async def _pages(
        self, name: str, where: SessionFilter, *, limit: int | None, after: str | None
    ) -> tuple[list[Any], str | None]:
        """The items of as many pages as it takes, and the cursor behind them."""
        items: list[Any] = []
        while True:
            left = UNSET if limit is None else limit - len(items)
            query = {**filter_query(where), "limit": left, "after": UNSET if after is None else after}
            page = await self._ask(name, query=query)
            items += page.items
            after = page.next
            if after is None or (limit is not None and len(items) >= limit):
                return items, after


def filter_query(where: SessionFilter) -> dict[str, object]:
    return {"agentId": where.agent_id, "status": where.status, "projectRoot": where.project_root}


def given(value: object) -> object:
    """A query's value where None means that the caller gave none."""
    return UNSET if value is None else value


def _query_text(value: object) -> str:
    match value:
        case None:
            return NULL
        case str():
            return to_text(value)
        case _:
            return str(value)
