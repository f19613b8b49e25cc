"""Listings: the shards' indexes merged, and the rows of a page read shard by shard."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import islice
from typing import Any, NamedTuple

from msgspec import UNSET

from zidane_core.records import SessionMetaRow
from zidane_core.store import Head, SessionFilter, decode_turns, matches_session_filter, meta_row_of

from . import _scripts as scripts
from ._keys import place_of, shard_of
from ._replies import head_of, metadata_of
from ._sessions import SessionCalls, now_of

_PAGE = 200
"""Sessions looked at in one step, where a filter or an unlimited listing needs many."""


class Row(NamedTuple):
    head: Head
    metadata: dict[str, Any]
    first_user_turn: bytes | None
    now: int

    def meta(self) -> SessionMetaRow:
        at, stored = self.head.first_user_at or 0, self.first_user_turn
        first = None if stored is None else decode_turns(self.head.id, at, at + 1, [stored])[0]
        return meta_row_of(self.head, metadata=self.metadata, first_user_turn=first, now=self.now)


class ListingCalls(SessionCalls):
    """A part of `RedisStore`."""

    async def _get_meta(self, session_id: str) -> SessionMetaRow | None:
        rows = await self._read_rows([session_id])
        return rows[session_id].meta() if rows else None

    async def _list_ids(self, where: SessionFilter, *, limit: int | None, after: str | None) -> list[str]:
        """By id. The index answers all and one project; an agent or a status costs a look at every head passed."""
        kind, place = ("i", b"") if where.project_root is UNSET else ("p", place_of(where.project_root))
        behind = (after or "").encode()
        if where.agent_id is UNSET and where.status is UNSET:
            return [member.decode() for member in await self._range(kind, place, limit, behind)]
        found: list[str] = []
        while limit is None or len(found) < limit:
            page = [member.decode() for member in await self._range(kind, place, _PAGE, behind)]
            rows = await self._read_rows(page, heads_only=True)
            found += (each for each in page if each in rows and matches_session_filter(rows[each].head, where))
            if len(page) < _PAGE:
                break
            behind = page[-1].encode()
        return found[:limit]

    async def _list_meta(
        self, where: SessionFilter, *, after: tuple[int, str] | None, limit: int | None
    ) -> list[SessionMetaRow]:
        """Most recent first. What each filter costs is as in `_list_ids`."""
        kind, place = ("r", b"") if where.project_root is UNSET else ("q", place_of(where.project_root))
        found: list[SessionMetaRow] = []
        step = _PAGE if limit is None or where.agent_id is not UNSET or where.status is not UNSET else limit
        behind, updated = (b"", "") if after is None else (after[1].encode(), str(after[0]))
        while limit is None or len(found) < limit:
            members = await self._range(kind, place, step, behind, updated)
            page = [member.partition(b":")[2].decode() for member in members]
            rows = await self._read_rows(page)
            found += (
                rows[each].meta() for each in page if each in rows and matches_session_filter(rows[each].head, where)
            )
            if len(page) < step:
                break
            behind, updated = members[-1], ""
        return found[:limit]

    async def _ids_with_artifacts(self) -> list[str]:
        return [member.decode() for member in await self._range("a", b"", None, b"")]

    # -- how it is done -----------------------------------------------------------------------

    async def _range(self, kind: str, place: bytes, limit: int | None, behind: bytes, updated: str = "") -> list[bytes]:
        """The members of one kind from all shards, in order, behind a member, or behind an id of `updated`."""
        arguments = (kind, place, -1 if limit is None else limit, behind, updated)

        async def of_shard(shard: int) -> list[bytes]:
            keys = self._keys.scope(self._scope, shard)
            found: list[bytes] = await self._calls.read(
                scripts.LIST_INDEX, (keys.listing, keys.expiry, keys.places), *arguments
            )
            return found

        shards = await asyncio.gather(*map(of_shard, range(self._keys.shards)))
        return shards[0] if len(shards) == 1 else list(islice(merge(*shards), limit))

    async def _read_rows(self, ids: Iterable[str], *, heads_only: bool = False) -> dict[str, Row]:
        """The rows of those sessions that there are."""
        batches = list(self._by_shard(ids))
        replies = await asyncio.gather(*(self._read_batch(batch, heads_only=heads_only) for batch in batches))
        return {session_id: row for rows in replies for session_id, row in rows}

    async def _read_batch(self, batch: list[str], *, heads_only: bool) -> list[tuple[str, Row]]:
        names = [self._keys_of(each) for each in batch]
        keys = [key for name in names for key in (name.head, name.metadata, name.turns)]
        seconds, microseconds, *found = await self._calls.read(
            scripts.READ_ROWS, keys, "1" if heads_only else "0", session_id=batch[0] if len(batch) == 1 else None
        )
        now = now_of(seconds, microseconds)
        rows: list[tuple[str, Row]] = []
        for session_id, (head, metadata, first) in zip(batch, found, strict=True):
            if head:
                values, extra = metadata_of(session_id, metadata)
                rows.append((session_id, Row(head_of(session_id, head, extra), values, first, now)))
        return rows

    def _by_shard(self, ids: Iterable[str]) -> Iterator[list[str]]:
        """The ids in batches of one shard: a script's keys lie in one slot."""
        shards: dict[int, list[str]] = defaultdict(list)
        for session_id in ids:
            shards[shard_of(session_id, self._keys.shards)].append(session_id)
        for batch in shards.values():
            for start in range(0, len(batch), _PAGE):
                yield batch[start : start + _PAGE]
