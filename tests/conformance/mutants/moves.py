"""Broken in what a write moves: revisions, recency, counts."""

from __future__ import annotations

import time
from typing import Any

from msgspec.structs import replace

from tests.conformance.mutants.base import broken_method, broken_transaction
from zidane_core.memory.data import MemoryTransaction
from zidane_core.store.head import Head

# -- revisions and recency --------------------------------------------------------------------


def _keep_rev_of(method: str) -> None:
    """The method writes, and leaves the revision as it was."""

    async def body(inner: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
        session_id = getattr(args[0], "session_id", None) or getattr(args[0], "id", None) or args[0]
        entry = self._data.scopes[self._scope].sessions.get(session_id)
        rev = entry.head.rev if entry is not None else None
        answer = await inner(self, *args, **kwargs)
        if rev is not None and entry is not None:
            entry.head = replace(entry.head, rev=rev)
        return answer

    broken_method(f"{method} keeps rev", f"{method} does not bump the revision", method, body, "rev.moves")


for _method in ("patch_meta", "update_status", "truncate", "upsert_artifact", "settle_send_request"):
    _keep_rev_of(_method)


def _next_of_what_is_there(self: MemoryTransaction) -> int:
    return max([each.head.rev for each in self._scope.sessions.values()], default=0) + 1


broken_transaction(
    "RevFromWhatIsThere",
    "the counter is the highest stored revision plus one, so deleting gives revisions back",
    "rev.survives-deletion",
    "claim.fence-never-comes-back",
    "delete.removes-all",
    next_rev=_next_of_what_is_there,
)
broken_transaction(
    "RevFromClock",
    "the revision is the time in milliseconds, so two writes can share one",
    "rev.unique",
    next_rev=lambda self: int(time.time() * 1000),
)


def _put_head_without_touch(self: MemoryTransaction, head: Head) -> None:
    before = self.get_head(head.id)
    MemoryTransaction.put_head(self, head if before is None else replace(head, updated_at=before.updated_at))


def _put_head_always_now(self: MemoryTransaction, head: Head) -> None:
    MemoryTransaction.put_head(self, replace(head, updated_at=max(head.updated_at, self.now_ms())))


def _put_head_set_back(self: MemoryTransaction, head: Head) -> None:
    MemoryTransaction.put_head(self, replace(head, updated_at=min(head.updated_at, self.now_ms())))


broken_transaction(
    "NothingTouches",
    "no write but the first moves updated_at",
    "rev.touches",
    "rev.recency-never-falls",
    "list.recency-follows-writes",
    put_head=_put_head_without_touch,
)
broken_transaction(
    "EverythingTouches",
    "every write, a metadata patch too, moves updated_at",
    "rev.touches",
    "rev.touch-false",
    put_head=_put_head_always_now,
)
broken_transaction(
    "RecencyFalls", "updated_at is set back to the clock", "rev.recency-never-falls", put_head=_put_head_set_back
)


async def _created_now(inner: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
    answer = await inner(self, *args, **kwargs)
    entry = self._data.scopes[self._scope].sessions[args[0]]
    entry.head = replace(entry.head, created_at=self._clock())
    return answer


broken_method(
    "CreatedAtRewritten", "every append rewrites created_at", "append_turns", _created_now, "content.created-at-is-kept"
)


async def _rows_from_cache(inner: Any, self: Any, session_id: str) -> Any:
    kept = self.__dict__.setdefault("rows", {})
    if session_id not in kept:
        kept[session_id] = await inner(self, session_id)
    return kept[session_id]


broken_method(
    "MetaRowFromCache",
    "get_meta answers from what it first read",
    "get_meta",
    _rows_from_cache,
    "meta.counts",
    "meta.first-user-turn",
    "artifact.counted",
    "alias.what-was-read",
)


async def _without_owner(inner: Any, self: Any, session_id: str) -> Any:
    row = await inner(self, session_id)
    return None if row is None else replace(row, run_owner=None, epoch=None)


broken_method(
    "MetaWithoutOwner",
    "meta rows leave the owner and the epoch out",
    "get_meta",
    _without_owner,
    "rev.same-everywhere",
)


async def _wrong_answer(inner: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
    written = await inner(self, *args, **kwargs)
    return replace(written, added=len(args[1]))


broken_method(
    "AddedCountsAll",
    "the answer counts the turns that were given, not those that were new",
    "append_turns",
    _wrong_answer,
    "append.answer",
    "append.repeated",
    "append.repeated-front",
    "append.same-turn-at-once",
    "append.key-order-is-no-conflict",
    "append.repeated-in-batch",
)
