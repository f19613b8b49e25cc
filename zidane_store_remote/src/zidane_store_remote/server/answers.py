"""Answers and errors as HTTP responses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from anyio.lowlevel import checkpoint
from msgspec import UNSET
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from zidane_core.errors import StoreUnavailableError, ZidaneError
from zidane_core.records import Record, SessionData
from zidane_core.store import SessionTexts
from zidane_store_remote._wire import headers as names
from zidane_store_remote._wire import lines, problems
from zidane_store_remote._wire.bodies import Mutated, Turns
from zidane_store_remote._wire.compression import WORTH_IT_BYTES, compress
from zidane_store_remote._wire.json_text import MEDIA_TYPE, text_of
from zidane_store_remote._wire.problems import BY_SLUG, Problem, problem_of
from zidane_store_remote._wire.route import Route

RETRY_AFTER_SECONDS = 1


def answer_response(request: Request, route: Route, answer: Record | SessionTexts) -> Response:
    """The response to a call that succeeded: JSON, or lines where the route has them and the client asks for them."""
    rev = _rev_of(answer)
    headers = {} if rev is None else {names.ETAG: names.to_etag(rev)}
    if rev is not None and not route.writes and request.headers.get(names.IF_NONE_MATCH) == names.to_etag(rev):
        return Response(status_code=304, headers=headers)
    gzip = "gzip" in request.headers.get("accept-encoding", "")
    if route.streams:
        headers["vary"] = "accept, accept-encoding"
        if isinstance(answer, SessionTexts):  # only for a client that takes lines
            return PiecesResponse(lines.texts_to_lines(answer), lines.MEDIA_TYPE, headers, gzip=gzip)
        if lines.MEDIA_TYPE in request.headers.get("accept", "") and isinstance(answer, (SessionData, Turns)):
            return PiecesResponse(lines.to_lines(answer), lines.MEDIA_TYPE, headers, gzip=gzip)
    assert isinstance(answer, Record)  # noqa: S101 -- texts are for routes that stream
    text = text_of(answer)
    if gzip and len(text) >= WORTH_IT_BYTES:
        return PiecesResponse((text,), MEDIA_TYPE, headers, gzip=True)
    return Response(text, media_type=MEDIA_TYPE, headers=headers)


def problem_response(
    error: ZidaneError, request_id: str, problem: Problem | None = None, *, writes: bool = False
) -> Response:
    """The response to a call that failed. An error that the table does not know tells nothing but that it happened."""
    problem = problem or problem_of(error)
    if problem is None:
        return internal_error(request_id, writes=writes)
    headers = {"retry-after": str(RETRY_AFTER_SECONDS)} if problem.status in {429, 503} else {}
    if problem.status == 401:
        headers["www-authenticate"] = "Bearer"
    return Response(
        problems.to_document(error, problem, request_id), problem.status, headers, media_type=problems.MEDIA_TYPE
    )


def internal_error(request_id: str, *, writes: bool) -> Response:
    """The response to a failure of the server itself: what failed is in its log, under this request id."""
    error = StoreUnavailableError("the server failed; its log says why", retryable=False, outcome_unknown=writes)
    return problem_response(error, request_id, BY_SLUG["internal-error"])


class PiecesResponse(Response):
    """A response whose body is made while it is sent."""

    def __init__(self, pieces: Iterable[bytes], media_type: str, headers: dict[str, str], *, gzip: bool) -> None:
        super().__init__(media_type=media_type, headers=headers | ({"content-encoding": "gzip"} if gzip else {}))
        del self.headers["content-length"]
        self._pieces: Iterator[bytes] = compress(pieces) if gzip else iter(pieces)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        for piece in self._pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            await checkpoint()  # a fast reader must not keep the others waiting
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _rev_of(answer: Record | SessionTexts) -> int | None:
    if isinstance(answer, SessionTexts):
        answer = answer.session
    if isinstance(answer, Mutated):
        answer = answer.written or answer
    rev = getattr(answer, "rev", UNSET)
    return rev if isinstance(rev, int) else None
