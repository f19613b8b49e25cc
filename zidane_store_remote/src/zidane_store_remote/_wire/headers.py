"""The headers that carry a call's guard, and what says that a zidane server answered."""

from __future__ import annotations

import re
from collections.abc import Mapping

from zidane_core.store import Guard

from .texts import from_text, to_text

PROTOCOLS = (1,)
"""The versions of the protocol that this package speaks, client and server alike."""

PROTOCOL = "zidane-protocol"
SCOPE = "zidane-scope"
FENCE = "zidane-fence"
OPERATION = "idempotency-key"
IF_MATCH = "if-match"
IF_NONE_MATCH = "if-none-match"
ETAG = "etag"
REQUEST_ID = "x-request-id"

_ETAG = re.compile(r'"(-?[0-9]{1,40})"')
_NUMBER = re.compile(r"-?[0-9]{1,40}")


def to_etag(rev: int) -> str:
    return f'"{rev}"'


def from_etag(etag: str) -> int:
    """The revision in an entity tag. Raises ValueError."""
    found = _ETAG.fullmatch(etag.strip())
    if found is None:
        raise ValueError(f'If-Match is {etag!r}; it takes one revision in quotes, as in "7"')
    return int(found[1])


def guard_headers(guard: Guard) -> dict[str, str]:
    """The headers of a write with this guard."""
    headers: dict[str, str] = {}
    if guard.fence is not None:
        headers[FENCE] = str(guard.fence)
    if guard.expected_rev is not None:
        headers[IF_MATCH] = to_etag(guard.expected_rev)
    if guard.op_id is not None:
        headers[OPERATION] = to_text(guard.op_id)
    return headers


def read_guard(headers: Mapping[str, str]) -> Guard:
    """The guard that a request carries. Raises ValueError."""
    fence, etag, operation = (headers.get(name) for name in (FENCE, IF_MATCH, OPERATION))
    return Guard(
        fence=None if fence is None else _number(FENCE, fence),
        expected_rev=None if etag is None else from_etag(etag),
        op_id=None if operation is None else from_text(operation),
    )


def protocols_in(header: str | None) -> list[int]:
    """The versions that a header lists; empty where it is missing or says something else."""
    listed = [part.strip() for part in (header or "").split(",")]
    return [int(part) for part in listed if _NUMBER.fullmatch(part)]


def _number(name: str, text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{name} is {text!r}; it takes a number")
    return int(text)
