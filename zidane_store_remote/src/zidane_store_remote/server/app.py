"""`create_app`: any session store as an ASGI app."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route as StarletteRoute

from zidane_core.errors import (
    AuthenticationError,
    PermissionDeniedError,
    StoreClosedError,
    StoreForkedError,
    StoreUnavailableError,
    ZidaneError,
)
from zidane_core.store import SessionStore
from zidane_store_remote._wire.problems import BY_SLUG, problem_of
from zidane_store_remote._wire.route import Route
from zidane_store_remote._wire.routes import ROUTES

from .answers import answer_response, internal_error, problem_response
from .calls import Call, RefusedError, Serving, read_call, request_id_of
from .gate import Gate
from .handlers import HANDLERS, Answer, Handler
from .openapi import openapi_document
from .tokens import Token, TokenCheck

logger = logging.getLogger("zidane_store_remote.server")

MAX_BODY_BYTES = 64 * 1024 * 1024
MAX_PAGE = 500
MAX_CONCURRENT = 256
READ_TIMEOUT_SECONDS = 30.0


def create_app(
    store: SessionStore,
    *,
    tokens: Iterable[Token | str] | None,
    opens_store: bool = False,
    max_body_bytes: int = MAX_BODY_BYTES,
    max_page: int = MAX_PAGE,
    max_concurrent: int = MAX_CONCURRENT,
    read_timeout: float = READ_TIMEOUT_SECONDS,
    clock: Callable[[], float] = time.time,
) -> Starlette:
    """An ASGI app that serves `store`, to be run by itself or mounted into a Starlette or FastAPI host.

    Args:
        store: an open store; with `opens_store` one that the app's lifespan opens and closes. Hosts do not run the
            lifespans of what they mount, so a mounted app's store is the host's to open.
        tokens: who may call; None lets everyone in.
        max_body_bytes: of a request, decompressed; more is answered with 413. It bounds the largest turn too.
        max_page: items in a page of a listing.
        max_concurrent: requests worked on at once; one more is answered with 429.
        read_timeout: seconds in which a request's body has to arrive, or 408.
        clock: epoch seconds, for the expiry of tokens.
    """
    serving = Serving(store=store, max_body_bytes=max_body_bytes, max_page=max_page, read_timeout=read_timeout)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        if not opens_store:
            yield
            return
        async with store:
            yield

    routes = [
        StarletteRoute(route.path, _endpoint(route, HANDLERS[route.name], serving), methods=[route.method])
        for route in ROUTES
    ]
    return Starlette(
        routes=[*routes, *_operator_routes(serving)],
        middleware=[Middleware(Gate, tokens=TokenCheck(tokens, clock), max_concurrent=max_concurrent)],
        exception_handlers={HTTPException: _no_such_route},
        lifespan=lifespan,
    )


def _endpoint(route: Route, handler: Handler, serving: Serving) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        request_id = request_id_of(request)
        try:
            call = await read_call(request, route, serving)
            return answer_response(request, route, await _run(handler, call))
        except RefusedError as refused:
            return problem_response(refused.error, request_id, refused.problem)
        except ZidaneError as error:
            if problem_of(error) is None:
                logger.exception("%s failed (request %s)", route.name, request_id)
            return problem_response(error, request_id, writes=route.writes)
        except ClientDisconnect:
            return Response(status_code=499)  # nobody is there to read it
        except Exception:
            logger.exception("%s failed (request %s)", route.name, request_id)
            return internal_error(request_id, writes=route.writes)

    return endpoint


async def _run(handler: Handler, call: Call) -> Answer:
    """Call the store. What it says about its own backend's doors must not pass for what we say about ours."""
    try:
        return await handler(call)
    except (AuthenticationError, PermissionDeniedError) as error:
        logger.exception("the served store was refused by its backend")
        raise StoreUnavailableError("the server is not let in by its own backend", retryable=False) from error
    except (StoreClosedError, StoreForkedError) as error:
        raise StoreUnavailableError("the served store is not open") from error


def _operator_routes(serving: Serving) -> list[StarletteRoute]:
    document = openapi_document()

    async def alive(_: Request) -> Response:
        return JSONResponse({"status": "alive"})

    async def ready(_: Request) -> Response:
        try:
            healthy = (await serving.store.health()).ok
        except ZidaneError:
            healthy = False
        return JSONResponse({"status": "ready" if healthy else "not ready"}, 200 if healthy else 503)

    async def openapi(_: Request) -> Response:
        return JSONResponse(document)

    return [
        StarletteRoute("/healthz", alive),
        StarletteRoute("/readyz", ready),
        StarletteRoute("/v1/openapi.json", openapi),
    ]


async def _no_such_route(request: Request, error: Exception) -> Response:
    wrong_method = isinstance(error, HTTPException) and error.status_code == 405
    problem = BY_SLUG["method-not-allowed" if wrong_method else "no-such-route"]
    reason = f"{request.method} is not served at this path"
    return problem_response(StoreUnavailableError(reason, retryable=False), request_id_of(request), problem)
