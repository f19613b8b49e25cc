"""`BaseStore`: every check of the contract once; a backend fills in the primitives, which get encoded requests."""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Callable, Collection, Sequence
from typing import Literal

import anyio

from zidane_core.errors import RevisionConflictError, SessionNotFoundError
from zidane_core.records import (
    RunOwner,
    SessionData,
    SessionHeader,
    SessionHistory,
    SessionMetaRow,
    SessionRun,
    SessionTurn,
    Status,
)

from .checks import check_count, check_id, check_label, check_time
from .collection_calls import CollectionCalls
from .cursors import from_cursor, to_cursor
from .metadata import MetadataChange, change_of_keys, change_of_patch
from .requests import AppendRequest, HistoryRequest, SnapshotRequest, header_of
from .values import NO_GUARD, Guard, Page, Patch, RunClaim, SessionFilter, Written

MUTATE_TRIES = 50
EVERYTHING = SessionFilter()


class BaseStore(CollectionCalls):
    """A `SessionStore` but for its primitives, the `_methods` below: their arguments are checked and encoded.

    A primitive is atomic, and judges in the contract's order. One whose capability is undeclared is never called.
    """

    # -- the core -----------------------------------------------------------------------------

    async def load(self, session_id: str, *, damaged: Literal["raise", "skip"] = "raise") -> SessionData | None:
        self._begin("load")
        check_id("the session id", session_id)
        return await self._load(session_id, skip_damaged=damaged == "skip")

    async def save(self, session: SessionData, *, create: bool = False, guard: Guard = NO_GUARD) -> Written:
        self._begin("save", None, guard)
        request = self._snapshot(session, keys=None, create=header_of(session) if create else None, whole=True)
        return await self._save(request, guard)

    async def delete(self, session_id: str, *, guard: Guard = NO_GUARD) -> bool:
        self._begin("delete", None, guard)
        check_id("the session id", session_id)
        return await self._delete(session_id, guard)

    async def list_ids(
        self, where: SessionFilter | None = None, *, limit: int | None = None, after: str | None = None
    ) -> list[str]:
        self._begin("list_ids")
        check_count("limit", limit)
        return [] if limit == 0 else await self._list_ids(where or EVERYTHING, limit=limit, after=after)

    async def append_turns(
        self,
        session_id: str,
        turns: Sequence[SessionTurn],
        *,
        create: SessionHeader | None = None,
        run: SessionRun | None = None,
        metadata: Patch | None = None,
        guard: Guard = NO_GUARD,
    ) -> Written:
        self._begin("append_turns", None, guard)
        check_id("the session id", session_id)
        self._check_header(create)
        request = AppendRequest(
            session_id=session_id,
            turns=self._encode_turns(turns),
            create=create,
            run=None if run is None else self._encode_run(run),
            metadata=change_of_patch(metadata) if metadata else None,
        )
        return await self._append_turns(request, guard)

    async def get_turns(
        self, session_id: str, start: int = 0, limit: int | None = None, *, last: int | None = None
    ) -> list[SessionTurn]:
        self._begin("get_turns")
        check_id("the session id", session_id)
        for what, value in (("start", start), ("limit", limit), ("last", last)):
            check_count(what, value)
        if last is not None and (start or limit is not None):
            raise ValueError("last takes the tail of the history: it goes without start and limit")
        return await self._get_turns(session_id, start=start, limit=limit, last=last)

    async def update_run(
        self, session_id: str, run: SessionRun, *, create: SessionHeader | None = None, guard: Guard = NO_GUARD
    ) -> Written:
        self._begin("update_run", None, guard)
        check_id("the session id", session_id)
        self._check_header(create)
        request = AppendRequest(session_id=session_id, turns=(), create=create, run=self._encode_run(run))
        return await self._update_run(request, guard)

    async def update_status(
        self,
        session_id: str,
        status: Status,
        *,
        owner: RunOwner | None = None,
        touch: bool = True,
        create: SessionHeader | None = None,
        guard: Guard = NO_GUARD,
    ) -> Written:
        self._begin("update_status", None, guard)
        check_id("the session id", session_id)
        self._check_header(create)
        return await self._update_status(session_id, status, owner=owner, touch=touch, create=create, guard=guard)

    # -- meta ---------------------------------------------------------------------------------

    async def get_meta(self, session_id: str) -> SessionMetaRow | None:
        self._begin("get_meta", "meta")
        check_id("the session id", session_id)
        return await self._get_meta(session_id)

    async def list_meta(
        self, where: SessionFilter | None = None, *, limit: int | None = None, after: str | None = None
    ) -> Page[SessionMetaRow]:
        self._begin("list_meta", "meta")
        check_count("limit", limit)
        behind = None if after is None else from_cursor(after)
        if limit == 0:
            return Page([], after)
        rows = await self._list_meta(where or EVERYTHING, after=behind, limit=None if limit is None else limit + 1)
        if limit is None or len(rows) <= limit:
            return Page(rows)
        return Page(rows[:limit], to_cursor(rows[limit - 1].updated_at, rows[limit - 1].id))

    async def save_meta(
        self, session: SessionData, *, keys: Collection[str] | None = None, guard: Guard = NO_GUARD
    ) -> Written:
        self._begin("save_meta", "meta", guard)
        return await self._save(self._snapshot(session, keys=keys, create=None, whole=False), guard)

    async def patch_meta(self, session_id: str, patch: Patch, *, guard: Guard = NO_GUARD) -> Written:
        self._begin("patch_meta", "meta", guard)
        check_id("the session id", session_id)
        return await self._patch_meta(session_id, change_of_patch(patch), guard)

    # -- history ------------------------------------------------------------------------------

    async def mutate_history(
        self,
        session_id: str,
        mutate: Callable[[SessionHistory], SessionHistory | None],
        *,
        guard: Guard = NO_GUARD,
    ) -> Written | None:
        self._begin("mutate_history", "history", guard)
        check_id("the session id", session_id)
        if guard.op_id is not None:
            first = await self._recall_mutation(session_id, guard.op_id)
            if first is not None:
                return first
        for attempt in range(MUTATE_TRIES):
            request = self._mutated(session_id, await self._load(session_id, skip_damaged=False), mutate)
            if request is None:
                return None
            try:
                return await self._replace_history(request, guard)
            except RevisionConflictError:
                if guard.expected_rev is not None or attempt == MUTATE_TRIES - 1:
                    raise
                await anyio.sleep(random.uniform(0, 0.001 * min(2**attempt, 50)))  # noqa: S311 -- jitter
        raise AssertionError("unreachable")

    async def truncate(self, session_id: str, turn_id: str, *, guard: Guard = NO_GUARD) -> list[SessionTurn]:
        self._begin("truncate", "history", guard)
        check_id("the session id", session_id)
        check_id("the turn id", turn_id)
        return await self._truncate(session_id, turn_id, guard)

    # -- claims -------------------------------------------------------------------------------

    async def claim_run(
        self,
        session_id: str,
        *,
        owner: RunOwner | None = None,
        displaces: int | None = None,
        create: SessionHeader | None = None,
        guard: Guard = NO_GUARD,
    ) -> RunClaim:
        self._begin("claim_run", "claims", guard)
        check_id("the session id", session_id)
        self._check_header(create)
        return await self._claim_run(session_id, owner=owner, displaces=displaces, create=create, guard=guard)

    async def renew_run(self, session_id: str, *, fence: int) -> None:
        self._begin("renew_run", "claims")
        check_id("the session id", session_id)
        await self._renew_run(session_id, fence)

    # -- requests -----------------------------------------------------------------------------

    def _snapshot(
        self, session: SessionData, *, keys: Collection[str] | None, create: SessionHeader | None, whole: bool
    ) -> SnapshotRequest:
        check_id("the session id", session.id)
        check_label("$.agentId", session.agent_id)
        check_label("$.projectRoot", session.project_root)
        check_time("$.createdAt", session.created_at)
        check_time("$.updatedAt", session.updated_at)
        self._check_header(create)
        return SnapshotRequest(
            session=session,
            runs=self._encode_runs(session.runs),
            metadata=change_of_keys(session.metadata, keys),
            turns=self._encode_turns(session.turns) if whole else None,
            create=create,
        )

    def _mutated(
        self,
        session_id: str,
        session: SessionData | None,
        mutate: Callable[[SessionHistory], SessionHistory | None],
    ) -> HistoryRequest | None:
        if session is None:
            raise SessionNotFoundError(session_id)
        before = SessionHistory(turns=session.turns, runs=session.runs)
        after = mutate(before)
        if after is None:
            return None
        return HistoryRequest(
            session_id=session_id,
            turns=self._encode_turns(after.turns),
            runs=None if after.runs is session.runs else self._encode_runs(after.runs),
            read_at=session.rev or 0,
        )

    # -- primitives ---------------------------------------------------------------------------

    @abstractmethod
    async def _load(self, session_id: str, *, skip_damaged: bool) -> SessionData | None: ...

    @abstractmethod
    async def _save(self, request: SnapshotRequest, guard: Guard) -> Written:
        """`save`, and `save_meta` where `request.turns` is None."""

    @abstractmethod
    async def _delete(self, session_id: str, guard: Guard) -> bool: ...

    @abstractmethod
    async def _list_ids(self, where: SessionFilter, *, limit: int | None, after: str | None) -> list[str]: ...

    @abstractmethod
    async def _append_turns(self, request: AppendRequest, guard: Guard) -> Written: ...

    @abstractmethod
    async def _get_turns(
        self, session_id: str, *, start: int, limit: int | None, last: int | None
    ) -> list[SessionTurn]: ...

    @abstractmethod
    async def _update_run(self, request: AppendRequest, guard: Guard) -> Written:
        """The run of a request without turns."""

    @abstractmethod
    async def _update_status(
        self,
        session_id: str,
        status: Status,
        *,
        owner: RunOwner | None,
        touch: bool,
        create: SessionHeader | None,
        guard: Guard,
    ) -> Written: ...

    async def _get_meta(self, session_id: str) -> SessionMetaRow | None:
        raise NotImplementedError

    async def _list_meta(
        self, where: SessionFilter, *, after: tuple[int, str] | None, limit: int | None
    ) -> list[SessionMetaRow]:
        """The rows behind the pair (`updated_at`, `id`), most recent first."""
        raise NotImplementedError

    async def _patch_meta(self, session_id: str, change: MetadataChange, guard: Guard) -> Written:
        raise NotImplementedError

    async def _replace_history(self, request: HistoryRequest, guard: Guard) -> Written | None:
        """Compare-and-swap on `request.read_at`; None where the stored history is the same already."""
        raise NotImplementedError

    async def _recall_mutation(self, session_id: str, op_id: str) -> Written | None:
        """The first answer of a mutation with this operation id; OperationConflictError if another call had it."""
        raise NotImplementedError

    async def _truncate(self, session_id: str, turn_id: str, guard: Guard) -> list[SessionTurn]:
        raise NotImplementedError

    async def _claim_run(
        self,
        session_id: str,
        *,
        owner: RunOwner | None,
        displaces: int | None,
        create: SessionHeader | None,
        guard: Guard,
    ) -> RunClaim:
        raise NotImplementedError

    async def _renew_run(self, session_id: str, fence: int) -> None:
        raise NotImplementedError
