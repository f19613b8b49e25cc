"""From an HTTP response to the answer of a call, or to the failure that it is."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, NoReturn, TypeAlias, TypeVar, cast
from urllib.parse import urlsplit

import anyio

from zidane_core import codec
from zidane_core.errors import (
    AuthenticationError,
    InvalidContentError,
    PermissionDeniedError,
    StoreBusyError,
    StoreUnavailableError,
)
from zidane_core.records import Record
from zidane_store_remote._wire import headers as names
from zidane_store_remote._wire.compression import BoundedBody, TooLargeError
from zidane_store_remote._wire.headers import PROTOCOLS, protocols_in
from zidane_store_remote._wire.lines import HistoryReader
from zidane_store_remote._wire.problems import from_document
from zidane_store_remote.errors import ProtocolMismatchError, RedirectRefusedError

from .failures import Failure, retry_after, unusable

T = TypeVar("T")
R = TypeVar("R", bound=Record)

Pieces: TypeAlias = AsyncIterator[bytes]
Reader: TypeAlias = Callable[[Pieces], Awaitable[T]]

PROBLEM_MAX_BYTES = 1 << 20


def record_reader(kind: type[R]) -> Reader[R]:
    """Reads an answer that is one record."""

    async def read(pieces: Pieces) -> R:
        return codec.from_json(kind, b"".join([piece async for piece in pieces]))

    return read


async def history_reader(pieces: Pieces) -> HistoryReader:
    """Reads a history while it arrives."""
    reader = HistoryReader()
    async for piece in pieces:
        reader.feed(piece)
    return reader


async def read_answer(response: Any, read: Reader[T], *, limit: int, deadline: float) -> T:
    """The answer in a streamed response of a zidane server.

    Raises:
        Failure: it is not one, or says that the call may be tried again.
        ZidaneError: the server's own error.
    """
    status: int = response.status_code
    if 300 <= status < 400:
        raise RedirectRefusedError(status, _shown(response.headers.get("location", "nowhere")))
    offered = protocols_in(response.headers.get(names.PROTOCOL))
    if not offered:
        _refuse_stranger(status, retry_after(response.headers.get("retry-after")))
    if not set(offered) & set(PROTOCOLS):
        raise ProtocolMismatchError(offered, PROTOCOLS)
    if status != 200:
        await _raise_problem(response, deadline)
    try:
        return await read(_pieces(response, limit, deadline))
    except TooLargeError:
        raise unusable(f"the answer has more than {limit} bytes", again=False) from None
    except (InvalidContentError, ValueError) as error:
        raise unusable(f"the answer is damaged: {error}") from error


async def _pieces(response: Any, limit: int, deadline: float) -> Pieces:
    bounded = BoundedBody(limit, gzipped=response.headers.get("content-encoding") == "gzip")
    async for raw in response.aiter_raw():
        for piece in bounded.feed(raw):
            yield piece
        if anyio.current_time() > deadline:  # phase timeouts never fire on a server that drips
            raise unusable("the answer took too long to arrive")
    bounded.end()


async def _raise_problem(response: Any, deadline: float) -> NoReturn:
    try:
        text = b"".join([piece async for piece in _pieces(response, PROBLEM_MAX_BYTES, deadline)])
        document: object = json.loads(text)  # it also takes the lone surrogates that a session's texts may hold
    except (TooLargeError, ValueError) as error:
        raise unusable(f"it answered {response.status_code} and no reason") from error
    found = from_document(cast("dict[str, Any]", document)) if isinstance(document, dict) else None
    if found is None:
        raise unusable(f"it answered {response.status_code} and a reason that this version does not know", again=False)
    _, told = found
    if isinstance(told, StoreUnavailableError) and told.retryable:
        after = retry_after(response.headers.get("retry-after"))
        raise Failure(told, perhaps_done=told.outcome_unknown, after=after)
    raise told


def _refuse_stranger(status: int, after: float | None) -> NoReturn:
    """Something on the way answered in the server's stead. Whatever it says, it says nothing of what is stored."""
    reason = f"something that is no zidane server answered {status}"
    match status:
        case 401 | 407:
            raise AuthenticationError(reason)
        case 403:
            raise PermissionDeniedError(reason)
        case 429:
            raise Failure(StoreBusyError(reason), perhaps_done=False, after=after)
        case 502 | 503 | 504:
            raise Failure(StoreUnavailableError(reason), perhaps_done=True, after=after)
        case _:
            raise unusable(reason, again=status == 200)


def _shown(location: str) -> str:
    """Where a redirect leads, without what may be secret in it."""
    parts = urlsplit(location)
    return f"{parts.scheme}://{parts.hostname}" if parts.hostname else "another path"
