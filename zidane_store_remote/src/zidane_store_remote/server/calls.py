"""From a request to a call on the served store."""

from __future__ import annotations

import re
from typing import Any

import anyio
import msgspec
from msgspec import UNSET
from starlette.requests import Request

from zidane_core import codec
from zidane_core.errors import (
    ContentTooLargeError,
    InvalidContentError,
    PermissionDeniedError,
    StoreBusyError,
    StoreUnavailableError,
    ZidaneError,
)
from zidane_core.records import Record
from zidane_core.store import NO_GUARD, Guard, SessionFilter, SessionStore
from zidane_store_remote._wire import headers as names
from zidane_store_remote._wire import lines
from zidane_store_remote._wire.bodies import Append, MetadataPatch
from zidane_store_remote._wire.compression import BoundedBody, TooLargeError
from zidane_store_remote._wire.problems import BY_SLUG, InvalidArgumentError, Problem
from zidane_store_remote._wire.route import Query, Route
from zidane_store_remote._wire.texts import NULL, from_segment, from_text

from .gate import Pass
from .tokens import Token

_COUNT = re.compile(r"[0-9]{1,18}")
_INTEGER = re.compile(r"-?[0-9]{1,18}")


class RefusedError(Exception):
    """A request that is answered with this problem, whatever the error's own one is."""

    def __init__(self, slug: str, error: ZidaneError) -> None:
        super().__init__(slug)
        self.problem: Problem = BY_SLUG[slug]
        self.error = error


class Serving(msgspec.Struct, frozen=True, kw_only=True):
    """What is served, and within which limits."""

    store: SessionStore
    max_body_bytes: int
    max_page: int
    read_timeout: float


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A request, read and checked as far as the wire goes. The rest is the store's to judge."""

    serving: Serving
    token: Token
    store: SessionStore
    """In the request's scope."""
    ids: dict[str, str]
    query: dict[str, Any]
    guard: Guard
    body: Any
    """Of the route's body type."""
    takes_lines: bool = False
    """Whether the client takes a history as lines."""

    @property
    def session_id(self) -> str:
        return self.ids["session"]

    @property
    def filter(self) -> SessionFilter:
        return SessionFilter(
            agent_id=self.query.get("agentId", UNSET),
            status=self.query.get("status", UNSET),
            project_root=self.query.get("projectRoot", UNSET),
        )

    @property
    def page(self) -> int:
        """How many items the page may have."""
        most = self.serving.max_page
        wanted: int = self.query.get("limit", most)
        return min(wanted, most)


async def read_call(request: Request, route: Route, serving: Serving) -> Call:
    """The call that a request makes. Raises ZidaneError or RefusedError."""
    token = _pass_of(request).token
    guard = _guard_of(request, route) if route.writes else NO_GUARD
    ids = {name: from_segment(request.path_params[name]) for name in route.ids}
    query = _query_of(request, route)
    store = _scoped(serving.store, token, request.headers.get(names.SCOPE))
    body = None if route.body is None else _decoded(route.body, await _read_body(request, serving))
    takes_lines = lines.MEDIA_TYPE in request.headers.get("accept", "")
    return Call(
        serving=serving,
        token=token,
        store=store,
        ids=ids,
        query=query,
        guard=guard,
        body=body,
        takes_lines=takes_lines,
    )


def request_id_of(request: Request) -> str:
    return _pass_of(request).request_id


def _pass_of(request: Request) -> Pass:
    found: Pass = request.scope["zidane"]
    return found


def _guard_of(request: Request, route: Route) -> Guard:
    try:
        guard = names.read_guard(request.headers)
    except ZidaneError:
        raise
    except ValueError as error:
        raise InvalidArgumentError(str(error)) from error
    if not route.moves_session and (guard.fence is not None or guard.expected_rev is not None):
        raise InvalidArgumentError(f"{route.name} takes no {names.IF_MATCH} and no {names.FENCE}: it moves no session")
    return guard


def _scoped(store: SessionStore, token: Token, named: str | None) -> SessionStore:
    wanted = "" if named is None else from_text(named)
    if token.scope is not None:
        if named is not None and wanted != token.scope:
            raise PermissionDeniedError("this token is bound to another scope")
        wanted = token.scope
    return store.in_scope(wanted) if wanted else store


def _query_of(request: Request, route: Route) -> dict[str, Any]:
    known = {each.name: each for each in route.query}
    query: dict[str, Any] = {}
    for name, text in request.query_params.multi_items():
        if name not in known or name in query:
            raise InvalidArgumentError(f"the parameter {name!r} is {'given twice' if name in known else 'not known'}")
        query[name] = _value(known[name], text)
    return query


def _value(query: Query, text: str) -> object:
    match query.kind:
        case "text or null" if text == NULL:
            return None
        case "text" | "text or null":
            return from_text(text)
        case "word" if text in query.words:
            return text
        case "count" if _COUNT.fullmatch(text):
            return int(text)
        case "integer" if _INTEGER.fullmatch(text):
            return int(text)
        case _:
            takes = " or ".join(query.words) or f"a {query.kind}"
            raise InvalidArgumentError(f"the parameter {query.name!r} takes {takes}, not {text!r}")


async def _read_body(request: Request, serving: Serving) -> bytes:
    encoding = request.headers.get("content-encoding", "identity")
    if encoding not in {"gzip", "identity"}:
        reason = f"the encoding {encoding!r} is not understood"
        raise RefusedError("unsupported-encoding", StoreUnavailableError(reason, retryable=False))
    bounded = BoundedBody(serving.max_body_bytes, gzipped=encoding == "gzip")
    pieces: list[bytes] = []
    try:
        with anyio.CancelScope(deadline=anyio.current_time() + serving.read_timeout) as scope:
            async for piece in request.stream():
                pieces.extend(bounded.feed(piece))
        if scope.cancelled_caught:
            reason = f"the request did not arrive within {serving.read_timeout:g} s"
            raise RefusedError("request-timeout", StoreBusyError(reason))
        bounded.end()
    except TooLargeError:
        announced = request.headers.get("content-length", "")
        size = int(announced) if _COUNT.fullmatch(announced) else serving.max_body_bytes + 1
        raise ContentTooLargeError("the request", size=size, limit=serving.max_body_bytes) from None
    except ValueError as error:
        raise InvalidContentError("$", str(error)) from error
    return b"".join(pieces)


def _decoded(kind: type[Record], text: bytes) -> Record:
    body = codec.from_json(kind, text)
    unknown = [*body.extra]
    if isinstance(body, Append) and body.metadata is not None:
        unknown += body.metadata.extra
    if unknown:
        raise InvalidContentError("$", f"the unknown member {unknown[0]!r} would be ignored")
    return body


def patch_of(patch: MetadataPatch) -> dict[str, Any]:
    """The patch as the store takes it."""
    return {**patch.set, **dict.fromkeys(patch.remove, UNSET)}
