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
    fault: Callable[[str], Fault]


def _refused(error: StoreError) -> Fault:
    return Fault(error)


def _later(error: StoreError) -> Fault:
    return Fault(error, again=True)


_TABLE = (
    _Row((foreign.AuthenticationError, foreign.AuthorizationError, foreign.ExternalAuthProviderError), (),
         lambda text: _refused(AuthenticationError(text))),
    _Row((foreign.AuthenticationWrongNumberOfArgsError,), (), lambda text: _refused(AuthenticationError(text))),
    _Row((foreign.ResponseError,), ("WRONGPASS", "NOAUTH"), lambda text: _refused(AuthenticationError(text))),
    _Row((foreign.NoPermissionError,), (), lambda text: _refused(PermissionDeniedError(text))),
    _Row((foreign.ResponseError,), ("NOPERM",), lambda text: _refused(PermissionDeniedError(text))),
    _Row((foreign.OutOfMemoryError,), (), lambda text: _refused(StoreFullError(text))),
    _Row((foreign.ResponseError,), ("OOM ",), lambda text: _refused(StoreFullError(text))),
    _Row((foreign.ReadOnlyError,), (), lambda text: Fault(StoreReadOnlyError(text), again=True, moved=True)),
    _Row((foreign.ResponseError,), ("READONLY",), lambda text: Fault(StoreReadOnlyError(text), again=True, moved=True)),
    _Row((foreign.ResponseError,), ("WRONGTYPE",), lambda text: _refused(CorruptRecordError(None, "a key", text))),
    _Row((foreign.BusyLoadingError, foreign.TryAgainError), (), lambda text: _later(StoreBusyError(text))),
    _Row((foreign.ResponseError,), ("BUSY ", "TRYAGAIN", "LOADING"), lambda text: _later(StoreBusyError(text))),
    _Row((foreign.ClusterError, foreign.RedisClusterException, foreign.AskError), (),
         lambda text: _later(StoreUnavailableError(text))),
    _Row((foreign.ResponseError,), ("NOREPLICAS", "CLUSTERDOWN", "MASTERDOWN", "MISCONF"),
         lambda text: _later(StoreUnavailableError(text))),
    _Row((foreign.MaxConnectionsError,), (), lambda text: _later(StoreBusyError(text))),
    _Row((foreign.ConnectionError, foreign.TimeoutError, foreign.InvalidResponse, OSError), (),
         lambda text: Fault(StoreUnavailableError(text), again=True, executed=True, moved=True)),
)  # fmt: skip


def fault_of(error: Exception, session_id: str | None) -> Fault | None:
    """What a failed try means; None for an error that is no word of the server or the network."""
    text = str(error) or type(error).__name__
    for row in _TABLE:
        if isinstance(error, row.kinds) and (not row.marks or any(mark in text for mark in row.marks)):
            fault = row.fault(text)
            if isinstance(fault.error, CorruptRecordError):
                return fault._replace(error=CorruptRecordError(session_id, "a key", text))
            return fault
    if isinstance(error, foreign.RedisError):
        return Fault(StoreUnavailableError(text, retryable=False))
    return None
