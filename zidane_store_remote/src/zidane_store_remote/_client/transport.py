"""Calls over HTTP: bounded in number, in time and in size, and tried again where that is safe."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from itertools import count
from typing import Any, TypeVar

import anyio
import anyio.to_thread
import msgspec

from zidane_core.errors import ContentTooLargeError
from zidane_store_remote._wire.compression import WORTH_IT_BYTES
from zidane_store_remote._wire.headers import PROTOCOL, PROTOCOLS

from .answers import Reader, read_answer
from .failures import Failure, delay_before, failure_of, final_error, unusable
from .in_flight import InFlight
from .library import Library

T = TypeVar("T")

CONNECT_SECONDS = 5.0
POOL_SECONDS = 2.0
SILENCE = 1 / 3
"""The part of the timeout for which a server may be silent before we ask again."""

LATE_SECONDS = 1.0
"""How much later than its deadline an exchange is cancelled that does not end by itself."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A request. `repeatable`: sending it twice is as good as sending it once."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes | None = None
    repeatable: bool


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How calls are made. `base_url` has no slash at its end; `headers` hold the token."""

    base_url: str
    headers: Mapping[str, str]
    timeout: float
    retry_for: float
    compress: bool
    trust_env: bool
    max_connections: int
    max_answer_bytes: int


class Transport:
    """One pool of connections to one server. `client` is one that was handed in, and stays its owner's."""

    def __init__(self, settings: Settings, library: Library, client: Any = None) -> None:
        self._settings, self._library = settings, library
        self._handed_in = client
        self._client: Any = client
        self._retired: list[Any] = []
        self._in_flight = InFlight(settings.base_url)
        self._url_of: Callable[[str], Any] = lru_cache(maxsize=1024)(partial(_parsed, library, settings.base_url))
        self.max_body_bytes: int | None = None
        """Of a request, once the server has said it."""

    async def open(self) -> None:
        self._slots = anyio.Semaphore(self._settings.max_connections, fast_acquire=True)
        if self._handed_in is not None:
            return
        if self._settings.base_url.startswith("https:"):  # it reads certificates, which would hold up the loop
            self._client = await anyio.to_thread.run_sync(self._new_client)
        else:
            self._client = self._new_client()

    async def aclose(self) -> None:
        await self._in_flight.aclose()
        for client in (
            *self._retired,
            *([] if self._handed_in is not None or self._client is None else [self._client]),
        ):
            await client.aclose()

    async def call(self, request: Request, read: Reader[T]) -> T:
        """The answer of a call, after as many tries as are safe and fit into the time.

        Raises:
            ZidaneError: the server's own error.
            StoreUnavailableError: there was no answer.
        """
        self._check_size(request)
        began = anyio.current_time()
        deadline, last_try = began + self._settings.timeout, began + self._settings.retry_for
        perhaps_done = False
        for attempt in count():
            try:
                return await self._try(request, read, deadline)
            except Failure as failure:
                perhaps_done = perhaps_done or (failure.perhaps_done and request.method != "GET")
                wait = delay_before(attempt, failure)
                safe = request.repeatable or not failure.perhaps_done
                if not (failure.again and safe and anyio.current_time() + wait < min(deadline, last_try)):
                    raise final_error(failure, perhaps_done=perhaps_done) from failure.__cause__
            await anyio.sleep(wait)
        raise AssertionError("unreachable")

    async def _try(self, request: Request, read: Reader[T], deadline: float) -> T:
        async def exchange() -> T:
            async with self._slots:
                return await self._exchange(request, read, deadline)

        run = self._in_flight.run_here if self._library.survives_cancellation else self._in_flight.run_apart
        try:
            return await run(exchange, deadline + LATE_SECONDS)
        except TimeoutError:
            raise unusable(f"no answer within {self._settings.timeout:g} s") from None

    async def _exchange(self, request: Request, read: Reader[T], deadline: float) -> T:
        client = self._client
        try:
            outgoing = self._outgoing(client, request, deadline)
            response = await client.send(outgoing, stream=True, follow_redirects=False)
            try:
                return await read_answer(response, read, limit=self._settings.max_answer_bytes, deadline=deadline)
            finally:
                await response.aclose()
        except self._library.names.PoolTimeout as error:
            self._replace(client)
            raise failure_of(error, self._library) from error
        except (self._library.names.HTTPError, self._library.names.StreamError) as error:
            raise failure_of(error, self._library) from error

    def _outgoing(self, client: Any, request: Request, deadline: float) -> Any:
        settings, body = self._settings, request.body
        headers = {PROTOCOL: str(PROTOCOLS[-1]), **settings.headers, **request.headers}
        headers["accept-encoding"] = "gzip" if settings.compress else "identity"
        if body is not None:
            headers["content-type"] = "application/json"
            if settings.compress and len(body) >= WORTH_IT_BYTES:
                headers["content-encoding"], body = "gzip", gzip.compress(body, 1)
        left = max(0.001, deadline - anyio.current_time())
        silence = min(left, settings.timeout * SILENCE)
        timeout = self._library.names.Timeout(silence, connect=min(silence, CONNECT_SECONDS), pool=POOL_SECONDS)
        return client.build_request(
            request.method,
            self._url_of(request.path),
            params=dict(request.query) or None,
            headers=headers,
            content=body,
            timeout=timeout,
        )

    def _replace(self, client: Any) -> None:
        """Use another pool from now on: no more calls are made at once than this one has slots, so it lost some."""
        if self._handed_in is None and client is self._client:
            self._retired.append(client)
            self._client = self._new_client()

    def _new_client(self) -> Any:
        settings = self._settings
        return self._library.new_client(
            connections=settings.max_connections,
            secure=settings.base_url.startswith("https:"),
            trust_env=settings.trust_env,
        )

    def _check_size(self, request: Request) -> None:
        size = len(request.body or b"")
        if self.max_body_bytes is not None and size > self.max_body_bytes:
            raise ContentTooLargeError("the request", size=size, limit=self.max_body_bytes)


def _parsed(library: Library, base_url: str, path: str) -> Any:
    """A URL of the library's, which takes it a while: paths come again."""
    return library.names.URL(base_url + path)
