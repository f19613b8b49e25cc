"""What redis-py raises, as zidane's errors: one table, asked once for each failed try."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from redis import exceptions as foreign

from zidane_core.errors import (
    AuthenticationError,
    CorruptRecordError,
    PermissionDeniedError,
    StoreBusyError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
    StoreUnavailableError,
)


class Fault(NamedTuple):
    """A failed try. `again`: another may succeed. `executed`: this one may have. `moved`: the server may be another."""

    error: StoreError
    again: bool = False
    executed: bool = False
    moved: bool = False


class _Row(NamedTuple):
    kinds: tuple[type[Exception], ...]
    marks: tuple[str, ...]
    """Texts of which the message has one; scripts on older servers wrap the first word of an error."""
    error: Callable[[str], StoreError]
    again: bool = False
    executed: bool = False
    moved: bool = False


def _damaged(text: str) -> StoreError:
    return CorruptRecordError(None, "a key", text)


_TABLE = (
    _Row((foreign.AuthenticationError, foreign.AuthorizationError), (), AuthenticationError),
    _Row((foreign.ExternalAuthProviderError, foreign.AuthenticationWrongNumberOfArgsError), (), AuthenticationError),
    _Row((foreign.ResponseError,), ("WRONGPASS", "NOAUTH"), AuthenticationError),
    _Row((foreign.NoPermissionError,), (), PermissionDeniedError),
    _Row((foreign.ResponseError,), ("NOPERM",), PermissionDeniedError),
    _Row((foreign.OutOfMemoryError,), (), StoreFullError),
    _Row((foreign.ResponseError,), ("OOM ",), StoreFullError),
    _Row((foreign.ReadOnlyError,), (), StoreReadOnlyError, again=True, moved=True),
    _Row((foreign.ResponseError,), ("READONLY",), StoreReadOnlyError, again=True, moved=True),
    _Row((foreign.ResponseError,), ("WRONGTYPE",), _damaged),
    _Row((foreign.BusyLoadingError, foreign.TryAgainError), (), StoreBusyError, again=True),
    _Row((foreign.ResponseError,), ("BUSY ", "TRYAGAIN", "LOADING"), StoreBusyError, again=True),
    _Row((foreign.ClusterError, foreign.AskError), (), StoreUnavailableError, again=True),
    _Row((foreign.RedisClusterException,), (), StoreUnavailableError, again=True, executed=True),
    _Row(
        (foreign.ResponseError,),
        ("NOREPLICAS", "CLUSTERDOWN", "MASTERDOWN", "MISCONF"),
        StoreUnavailableError,
        again=True,
    ),
    _Row((foreign.MaxConnectionsError,), (), StoreBusyError, again=True),
    _Row(
        (foreign.ConnectionError, foreign.TimeoutError),
        (),
        StoreUnavailableError,
        again=True,
        executed=True,
        moved=True,
    ),
    _Row((foreign.InvalidResponse, OSError), (), StoreUnavailableError, again=True, executed=True, moved=True),
)
"""The first row that fits."""


def fault_of(error: Exception, session_id: str | None) -> Fault | None:
    """What a failed try means; None for an error that is no word of the server or the network."""
    text = str(error) or type(error).__name__
    for row in _TABLE:
        if isinstance(error, row.kinds) and (not row.marks or any(mark in text for mark in row.marks)):
            found = CorruptRecordError(session_id, "a key", text) if row.error is _damaged else row.error(text)
            return Fault(found, again=row.again, executed=row.executed, moved=row.moved)
    if isinstance(error, foreign.RedisError):
        return Fault(StoreUnavailableError(text, retryable=False))
    return None
