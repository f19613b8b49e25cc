"""Repeated operations: a call that carries an operation id takes effect once, whoever sends it again."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import blake2b
from typing import Any, TypeVar, cast
from zlib import crc32

import msgspec

from zidane_core import codec
from zidane_core.blocks import JsonValue
from zidane_core.errors import OperationConflictError
from zidane_core.records import Record

from .transaction import Transaction

T = TypeVar("T")

OPERATION_HISTORY = 256
"""Answers kept for a session, at least."""

OPERATION_HOLD_MS = 600_000
"""An answer is kept at least this long."""

OPERATION = "op"

DELETION = "deletion"
"""Answers that a store keeps with a session and that yet must outlive it. `Transaction.drop_session` spares them."""

_SWEEP_EVERY = 32


class _Kept(Record, frozen=True, kw_only=True):
    fingerprint: str
    at: int
    answer: JsonValue = None


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """A call that may come again."""

    id: str
    fingerprint: str
    """Of the method and all that it was given: the same id with another one is a conflict."""
    keeper: str | None
    """The session that the answer is kept with; None where it must outlive the session."""
    answer_type: Any
    kind: str = OPERATION
    """OPERATION or DELETION; a deletion's answer is kept also where the session is unknown."""


def fingerprint_of(method: str, *given: object) -> str:
    """A digest of a call, equal for equal calls."""
    try:
        canonical = msgspec.json.encode([method, *given], order="sorted")
    except UnicodeEncodeError:  # a lone surrogate
        canonical = json.dumps(msgspec.to_builtins([method, *given], order="sorted")).encode("ascii")
    return blake2b(canonical, digest_size=16).hexdigest()


def once(tx: Transaction, operation: Operation | None, act: Callable[[Transaction], T]) -> T:
    """The operation's first answer, or what `act` answers now.

    Raises:
        OperationConflictError: the id was used for another call.
    """
    if operation is None:
        return act(tx)
    keeper, kind = operation.keeper, operation.kind
    kept = _kept(tx, keeper, kind, operation.id)
    if kept is not None:
        if kept.fingerprint != operation.fingerprint:
            raise OperationConflictError(operation.id)
        return cast("T", msgspec.convert(kept.answer, operation.answer_type))
    answer = act(tx)
    if _found_nobody(tx, operation, answer):
        return answer
    keep = _Kept(fingerprint=operation.fingerprint, at=tx.now_ms(), answer=msgspec.to_builtins(answer))
    tx.put_item(keeper, kind, operation.id, codec.encode_own(keep))
    if crc32(operation.id.encode()) % _SWEEP_EVERY == 0:  # sweeping at every call would read all the others
        _sweep(tx, keeper, kind)
    return answer


def _found_nobody(tx: Transaction, operation: Operation, answer: object) -> bool:
    """Whether the session is unknown: it has nothing to keep an answer with, and nothing happened."""
    return (
        answer is False
        and operation.keeper is not None
        and operation.kind != DELETION
        and tx.get_head(operation.keeper) is None
    )


def mutation_fingerprint(session_id: str) -> str:
    """Of `mutate_history`: what a mutation makes, and under which revision, depends on what it reads."""
    return fingerprint_of("mutate_history", session_id, None, (None, None))


def recall_mutation(tx: Transaction, session_id: str, operation_id: str) -> JsonValue:
    """The first answer of a mutation as plain JSON, or None.

    Raises:
        OperationConflictError: the id was used for another call.
    """
    kept = _kept(tx, session_id, OPERATION, operation_id)
    if kept is None:
        return None
    if kept.fingerprint != mutation_fingerprint(session_id):
        raise OperationConflictError(operation_id)
    return kept.answer


def _kept(tx: Transaction, keeper: str | None, kind: str, operation_id: str) -> _Kept | None:
    stored = tx.get_item(keeper, kind, operation_id)
    if stored is None:
        return None
    return codec.decode(_Kept, stored, session_id=keeper, where=f"operation {operation_id!r}")


def _sweep(tx: Transaction, keeper: str | None, kind: str) -> None:
    oldest = tx.now_ms() - OPERATION_HOLD_MS
    for key, stored in tx.get_items(keeper, kind)[:-OPERATION_HISTORY]:
        if codec.decode(_Kept, stored, session_id=keeper, where=f"operation {key!r}").at >= oldest:
            break
        tx.drop_item(keeper, kind, key)
