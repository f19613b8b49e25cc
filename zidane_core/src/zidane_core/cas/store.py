"""`CasStore`: a store on any database that can compare and swap one group of entries."""

from __future__ import annotations

import random
from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Generic, NamedTuple, TypeVar, cast
from weakref import WeakValueDictionary

import anyio
from msgspec.structs import replace

from zidane_core.errors import StoreBusyError
from zidane_core.records import SessionArtifact, SessionData, SessionMetaRow
from zidane_core.store import (
    ArtifactFilter,
    Capabilities,
    Guard,
    Head,
    Health,
    SessionFilter,
    Transaction,
    TransactionalStore,
    contract,
    sort_artifacts,
)
from zidane_core.store.base import EVERYTHING
from zidane_core.store.filters import matches_session_filter
from zidane_core.store.operations import DELETION

from .names import HEAD, TURNS, group_of, group_prefix, item_key, item_span
from .transaction import CasTransaction, read_state
from .uncancelled import uncancelled
from .view import NotFetchedError, View, Want

T = TypeVar("T")

TRIES = 100
"""Of one call, before it says that others kept writing."""

_ALL_OF_A_SESSION = (
    Want(span=TURNS),
    Want(span=item_span(contract.RUN)),
    Want(keys=(item_key(contract.METADATA, ""),)),
)


class CasStore(TransactionalStore):
    """The whole contract on five primitives: `get`, `range`, `commit`, `scan` and `now_ms`.

    The database holds *groups* of entries, one group for each session and one more for each scope. An entry is a key
    and some bytes, which are UTF-8 text without NUL. Names of groups and keys have at most 100 characters of
    `[a-z0-9_-]`, so nothing needs escaping. A group has a *version*, the number of its commits; one that was never
    written has version 0 and no entries, and none is ever removed as a whole.

    What the primitives must hold, across all instances that the store declares to share data (`shared`):

    - A commit happens wholly or not at all, also when the process dies in it, and only at the version it names.
    - Once `commit` has answered True, every read that starts afterwards sees it, and it survives what `durable` says.
    - Once one read has seen a part of a commit, every later read sees all of it. One read need not be a snapshot:
      what a step has read is used only where the group's version is the same behind it as in front of it.
    - Any of them may run many times at once. Reads may be cancelled; a commit is waited for to its end.
    - Errors of the database are raised as `StoreUnavailableError` and its kind. A commit whose outcome is unknown must
      not be repeated, but raise with `outcome_unknown=True`: the caller's retry is safe.

    Costs: an append reads the head and one index entry for each turn, and commits two entries for each turn besides the
    head, whatever the length of the history. `truncate`, `save` and `mutate_history` read the history's index or all of
    it; `delete` reads what it removes. A listing is one `scan`, and reads rows only of the sessions on the page. The
    revision counter is each session's own; a deleted session leaves its head, of about a hundred bytes, so that it
    continues when the id comes again.
    """

    def __init__(self, name: str, capabilities: Capabilities) -> None:
        super().__init__(name)
        self._capabilities = capabilities
        self._locks: WeakValueDictionary[str, anyio.Lock] = WeakValueDictionary()

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    # -- what a store author writes -----------------------------------------------------------

    @abstractmethod
    async def get(self, group: str, keys: Sequence[str]) -> Mapping[str, bytes]:
        """The entries of `keys`; those that the group lacks are left out."""

    @abstractmethod
    async def range(self, group: str, start: str, stop: str) -> Iterable[tuple[str, bytes]]:
        """All (key, entry) with `start <= key < stop`, compared byte by byte, in any order."""

    @abstractmethod
    async def commit(self, group: str, version: int, puts: Mapping[str, bytes | None]) -> bool:
        """If the group is at `version`: put all of `puts` (None removes the key), move it to `version + 1`, and True.

        Otherwise change nothing, and False. Version 0 is a group that was never written. `puts` always holds the key
        `HEAD`, and never removes it.
        """

    @abstractmethod
    async def scan(self, prefix: str) -> Iterable[tuple[str, bytes]]:
        """(group, its entry `HEAD`) for every group whose name begins with `prefix`, in any order.

        A group that is written meanwhile may appear with its old or its new head, but appears.
        """

    @abstractmethod
    async def now_ms(self) -> int:
        """Epoch milliseconds of one clock for all who share the data: the server's, where there is one."""

    async def _health(self) -> Health:
        await self.get(group_of(self._scope, None), [HEAD])
        return Health(ok=True, backend=self._name)

    # -- steps --------------------------------------------------------------------------------

    async def _read(self, step: Callable[[Transaction], T]) -> T:
        return await self._run(step)

    async def _write(self, step: Callable[[Transaction], T]) -> T:
        return await self._run(step)

    async def _load(self, session_id: str, *, skip_damaged: bool) -> SessionData | None:
        return await self._run(
            lambda tx: contract.load(tx, session_id, skip_damaged=skip_damaged), also=_ALL_OF_A_SESSION
        )

    async def _delete(self, session_id: str, guard: Guard) -> bool:
        # The answer is kept with the session and not with the scope, since no commit reaches two groups.
        return await self._once(
            "delete",
            session_id,
            guard,
            session_id,
            bool,
            lambda tx: contract.delete(tx, session_id, guard),
            kind=DELETION,
        )

    async def _run(self, step: Callable[[Transaction], T], *, also: Sequence[Want] = ()) -> T:
        """Run a step on one version of its group, and commit what it puts; again where another commit came between.

        Those of this instance that lost once queue for the next tries, rather than make each other lose again.
        """
        attempt = await self._attempt(step, also)
        if await self._stands(attempt):
            return attempt.outcome()
        lock = self._locks.setdefault(self._group(attempt.view), anyio.Lock())
        async with lock:
            for pause in _pauses():
                attempt = await self._attempt(step, also)
                if await self._stands(attempt):
                    return attempt.outcome()
                await anyio.sleep(pause)
        raise StoreBusyError(f"{self._name}: others kept writing what this call is about, through {TRIES} tries")

    async def _attempt(self, step: Callable[[Transaction], T], also: Sequence[Want]) -> _Attempt[T]:
        view = View(now=await self.now_ms(), also=also)
        while True:
            tx = CasTransaction(view)
            try:
                return _Attempt(view, tx, answer=step(tx))
            except NotFetchedError as missing:
                await self._fetch(view, missing.want)
            except Exception as error:  # noqa: BLE001 -- raised once it is known not to come of reading two versions
                return _Attempt(view, tx, error=error)

    async def _fetch(self, view: View, want: Want) -> None:
        group = self._group(view)
        if want.span is not None:
            view.take_span(want.span, await self.range(group, *want.span))
        else:
            view.take_keys(want.keys, await self.get(group, want.keys))
        if want.keys == (HEAD,) and view.head() is not None:
            for more in view.also:
                await self._fetch(view, more)

    async def _stands(self, attempt: _Attempt[T]) -> bool:
        """Commit what the attempt puts. Without puts, it stands if the version that it read still does."""
        view, puts = attempt.view, attempt.puts
        if puts:
            return await uncancelled(lambda: self.commit(self._group(view), attempt.tx.version, puts))
        if view.fetches <= 1:  # the head alone: of one version by itself
            return True
        found = await self.get(self._group(view), [HEAD])
        return found.get(HEAD) == view.head()

    def _group(self, view: View) -> str:
        return group_of(self._scope, view.session_id)

    # -- listings -----------------------------------------------------------------------------

    async def _list_ids(self, where: SessionFilter, *, limit: int | None, after: str | None) -> list[str]:
        ids = sorted(await self._heads(where))
        return ids[0 if after is None else bisect_right(ids, after) :][:limit]

    async def _list_meta(
        self, where: SessionFilter, *, after: tuple[int, str] | None, limit: int | None
    ) -> list[SessionMetaRow]:
        heads, rows = await self._heads(where), dict[str, SessionMetaRow]()
        while True:  # a session that is written meanwhile moves, which can bring others onto the page
            page = _page(heads.values(), after, limit)
            unread = [session_id for session_id in page if session_id not in rows]
            if not unread:
                return [rows[session_id] for session_id in page]
            for session_id in unread:
                head, row = await self._read(partial(_head_and_row, session_id=session_id))
                if head is None or row is None or not matches_session_filter(head, where):
                    del heads[session_id]
                else:
                    heads[session_id], rows[session_id] = head, row

    async def _list_artifacts(self, where: ArtifactFilter) -> list[SessionArtifact]:
        if where.session_id is not None:
            return await super()._list_artifacts(where)
        found: list[SessionArtifact] = []
        for head in (await self._heads(EVERYTHING)).values():
            if head.artifact_count:
                found += await super()._list_artifacts(replace(where, session_id=head.id, limit=None))
        return sort_artifacts(found)[: where.limit]

    async def _heads(self, where: SessionFilter) -> dict[str, Head]:
        prefix, shared = group_prefix(self._scope), group_of(self._scope, None)
        heads: dict[str, Head] = {}
        for group, stored in await self.scan(prefix):
            if group.startswith(prefix) and group != shared:
                head = read_state(bytes(stored), None, where=f"the head of group {group!r}").head
                if head is not None and matches_session_filter(head, where):
                    heads[head.id] = head
        return heads


class _Attempt(NamedTuple, Generic[T]):
    """One run of a step to its end."""

    view: View
    tx: CasTransaction
    answer: T | None = None
    error: Exception | None = None

    @property
    def puts(self) -> dict[str, bytes | None]:
        return {} if self.error is not None else self.tx.puts

    def outcome(self) -> T:
        if self.error is not None:
            raise self.error
        return cast("T", self.answer)


def _head_and_row(tx: Transaction, session_id: str) -> tuple[Head | None, SessionMetaRow | None]:
    return tx.get_head(session_id), contract.get_meta(tx, session_id)


def _page(heads: Iterable[Head], after: tuple[int, str] | None, limit: int | None) -> list[str]:
    """Ids by recency, behind the pair `after`."""
    order = sorted((-head.updated_at, head.id) for head in heads)
    start = 0 if after is None else bisect_right(order, (-after[0], after[1]))
    return [session_id for _, session_id in order[start:][:limit]]


def _pauses() -> Iterator[float]:
    """Seconds to wait after each try but the first."""
    for attempt in range(TRIES - 1):
        yield random.uniform(0, min(0.001 * 2**attempt, 0.05))  # noqa: S311 -- jitter
