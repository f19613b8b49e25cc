"""What every request passes before anything is looked up: its id, the protocol's version, its token, the crowd."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple
from uuid import uuid4

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from zidane_core.errors import PermissionDeniedError, StoreBusyError, ZidaneError
from zidane_store_remote._wire import headers as names
from zidane_store_remote._wire.headers import PROTOCOLS, protocols_in
from zidane_store_remote._wire.problems import BY_SLUG, Problem
from zidane_store_remote.errors import ProtocolMismatchError

from .answers import problem_response
from .tokens import EVERYONE, Token, TokenCheck

OPEN_PATHS = frozenset({"/healthz", "/readyz", "/v1/openapi.json"})
"""Served without a token: they say nothing of what is stored."""

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_SPOKEN = ", ".join(map(str, PROTOCOLS))


class Pass(NamedTuple):
    """What the gate found out about a request that it let in."""

    request_id: str
    token: Token


class Gate:
    """ASGI middleware, outermost."""

    def __init__(self, app: ASGIApp, *, tokens: TokenCheck, max_concurrent: int) -> None:
        self._app, self._tokens, self._max_concurrent = app, tokens, max_concurrent
        self._inside = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope)
        request_id = _request_id(given)
        marked = _marking(send, request_id)
        try:
            token = self._admit(scope, given)
        except ZidaneError as error:
            await problem_response(error, request_id, _refusal(error))(scope, receive, marked)
            return
        scope["zidane"] = Pass(request_id, token)
        self._inside += 1
        try:
            await self._app(scope, receive, marked)
        finally:
            self._inside -= 1

    def _admit(self, scope: Scope, given: Headers) -> Token:
        if scope["path"].removeprefix(scope.get("root_path", "")) in OPEN_PATHS:
            return EVERYONE
        spoken = given.get(names.PROTOCOL)
        if spoken is not None and not set(protocols_in(spoken)) & set(PROTOCOLS):
            raise ProtocolMismatchError(PROTOCOLS, protocols_in(spoken))
        token = self._tokens.check(given.get("authorization"))
        if token.read_only and scope["method"] not in {"GET", "HEAD"}:
            raise PermissionDeniedError("this token may only read")
        if self._inside >= self._max_concurrent:
            raise StoreBusyError(f"the server works on {self._inside} requests already")
        return token


def _refusal(error: ZidaneError) -> Problem | None:
    return BY_SLUG["too-many-requests"] if isinstance(error, StoreBusyError) else None


def _request_id(given: Mapping[str, str]) -> str:
    offered = given.get(names.REQUEST_ID, "")
    return offered if _REQUEST_ID.fullmatch(offered) else uuid4().hex


def _marking(send: Send, request_id: str) -> Send:
    async def marked(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers[names.PROTOCOL], headers[names.REQUEST_ID] = _SPOKEN, request_id
        await send(message)

    return marked
