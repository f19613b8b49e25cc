"""Broken in listings."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

import msgspec

from tests.conformance.mutants.base import MutantStore, broken_transaction, mutant
from zidane_core.memory.data import MemoryTransaction
from zidane_core.store import Page, SessionFilter

# -- listings ---------------------------------------------------------------------------------


def _listing(name: str, defect: str, *killed_by: str, **methods: Any) -> None:
    broken_transaction(name, defect, *killed_by, **methods)


def _ids_as_made(self: MemoryTransaction, where: Any, *, after: Any, limit: Any) -> list[str]:
    ids = [each for each in self._scope.sessions if self._matches(each, where) and (after is None or each > after)]
    return ids[:limit]


def _ids_in_utf16(self: MemoryTransaction, where: Any, *, after: Any, limit: Any) -> list[str]:
    def key(each: str) -> bytes:
        return each.encode("utf-16-be", "surrogatepass")

    ids = [e for e in self._scope.sessions if self._matches(e, where) and (after is None or key(e) > key(after))]
    return sorted(ids, key=key)[:limit]


_listing(
    "IdsAsMade",
    "list_ids follows the order of creation",
    "list.ids-in-order",
    "list.ids-limit",
    "list.ids-amid-writes",
    list_by_id=_ids_as_made,
)
_listing("IdsInUtf16", "list_ids sorts by UTF-16 units", "list.ids-in-order", list_by_id=_ids_in_utf16)


def _matching(like: Any) -> Any:
    def matches(self: MemoryTransaction, session_id: str, where: SessionFilter) -> bool:
        head = self._scope.sessions[session_id].head
        return head.rev > 0 and all(
            wanted is msgspec.UNSET or (wanted is None and found is None) or like(found, wanted)
            for wanted, found in (
                (where.agent_id, head.agent_id),
                (where.project_root, head.project_root),
                (where.status, head.status),
            )
        )

    return matches


def _like(found: Any, wanted: Any) -> bool:
    return found is not None and wanted is not None and fnmatchcase(found, wanted.replace("%", "*").replace("_", "?"))


_listing(
    "FilterIsPrefix",
    "a filter matches what begins with it",
    "list.filters",
    _matches=_matching(lambda f, w: bool(f) and bool(w) and f.startswith(w)),
)
_listing(
    "FilterHasWildcards", "percent and underscore in a filter are wildcards", "list.filters", _matches=_matching(_like)
)
_listing(
    "FilterFoldsCase",
    "a filter does not tell case",
    "list.filters",
    _matches=_matching(lambda f, w: f is not None and w is not None and f.lower() == w.lower()),
)
_listing(
    "NoneIsAll", "a filter of None matches all", "list.filters", _matches=_matching(lambda f, w: w is None or f == w)
)


@mutant("list.filter-by-status", "list.filter-follows-edits")
class ExpiredIndex(MutantStore):
    """Filters use an index that only creation writes."""

    async def list_ids(self, where: Any = None, **kwargs: Any) -> Any:
        index = self.__dict__.setdefault("index", {})
        for session_id, entry in self._data.scopes[self._scope].sessions.items():
            index.setdefault(session_id, entry.head)
        found = await super().list_ids(None, **kwargs)
        if where is None:
            return found
        return [
            each
            for each in found
            if all(
                wanted is msgspec.UNSET or wanted == getattr(index[each], name)
                for name, wanted in (
                    ("agent_id", where.agent_id),
                    ("status", where.status),
                    ("project_root", where.project_root),
                )
            )
        ]

    async def append_turns(self, session_id: str, *args: Any, **kwargs: Any) -> Any:
        written = await super().append_turns(session_id, *args, **kwargs)
        self.__dict__.setdefault("index", {}).setdefault(
            session_id, self._data.scopes[self._scope].sessions[session_id].head
        )
        return written


@mutant("delete.removes-all", "id.apart")
class ListsDeleted(MutantStore):
    """The index of ids outlives the sessions."""

    async def delete(self, session_id: str, **kwargs: Any) -> bool:
        self.__dict__.setdefault("gone", set()).add(session_id)
        return await super().delete(session_id, **kwargs)

    async def list_ids(self, where: Any = None, *, limit: int | None = None, after: str | None = None) -> Any:
        found = set(await super().list_ids(where, after=after)) | {
            e for e in self.__dict__.get("gone", ()) if not after or e > after
        }
        return sorted(found)[:limit]


def _recency(key: Any, behind: Any = None) -> Any:
    def list_by_recency(self: MemoryTransaction, where: Any, *, after: Any, limit: Any) -> Any:
        heads = [e.head for each, e in self._scope.sessions.items() if self._matches(each, where)]
        heads.sort(key=key)
        if after is not None:
            heads = [head for head in heads if (behind or _behind)(head, after)]
        return heads[:limit]

    return list_by_recency


def _behind(head: Any, after: Any) -> bool:
    return (-head.updated_at, head.id) > (-after[0], after[1])


_listing(
    "TiesAsMade",
    "ties in a listing keep the order of creation",
    "list.meta-in-order",
    "list.meta-pages",
    list_by_recency=_recency(lambda head: -head.updated_at),
)
_listing(
    "CursorSkipsTies",
    "a page begins behind the time of the last row, so ties are lost",
    "list.meta-pages",
    "list.meta-amid-writes",
    list_by_recency=_recency(lambda head: (-head.updated_at, head.id), lambda head, after: head.updated_at < after[0]),
)
_listing(
    "OldestFirst",
    "the least recent comes first",
    "list.meta-in-order",
    "list.recency-follows-writes",
    list_by_recency=_recency(
        lambda head: (head.updated_at, head.id), lambda head, after: (head.updated_at, head.id) > after
    ),
)
_listing(
    "ByCreation",
    "listings sort by created_at",
    "list.meta-in-order",
    "list.recency-follows-writes",
    list_by_recency=_recency(lambda head: (-head.created_at, head.id)),
)


@mutant("list.meta-amid-writes")
class OffsetPages(MutantStore):
    """Pages are offsets, so rows that move shift others across the edge."""

    async def list_meta(self, where: Any = None, *, limit: int | None = None, after: str | None = None) -> Any:
        rows = (await super().list_meta(where)).items
        start = int(after) if after and after.isdigit() else 0
        if limit is None:
            return Page(rows[start:])
        if limit < 0 or (after is not None and not after.isdigit()):
            raise ValueError("no cursor")
        stop = start + limit
        return Page(rows[start:stop], str(stop) if stop < len(rows) else None)


@mutant("list.meta-limit")
class AnyCursor(MutantStore):
    """A cursor that cannot be read begins anew."""

    async def list_meta(self, where: Any = None, *, limit: int | None = None, after: str | None = None) -> Any:
        try:
            return await super().list_meta(where, limit=limit, after=after)
        except ValueError:
            if limit is not None and limit < 0:
                raise
            return await super().list_meta(where, limit=limit)
