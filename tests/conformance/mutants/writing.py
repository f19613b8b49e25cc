"""Broken in what a write does: guards, revisions, recency, identity of turns, creation, deletion."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from msgspec.structs import replace

from tests.conformance.mutants.base import MutantStore, broken_method, broken_transaction, mutant
from zidane_core.errors import (
    ContentTooLargeError,
    InvalidContentError,
    RunFencedError,
    SessionNotFoundError,
    TurnConflictError,
)
from zidane_core.memory.data import MemoryTransaction, SessionEntry
from zidane_core.store import NO_GUARD, Written
from zidane_core.store.head import Head

# -- guards, ignored by one method each -------------------------------------------------------

GUARDED = (
    "append_turns",
    "save",
    "delete",
    "update_run",
    "update_status",
    "save_meta",
    "patch_meta",
    "mutate_history",
    "truncate",
    "claim_run",
    "claim_send_request",
    "settle_send_request",
    "upsert_artifact",
    "delete_artifact",
)
FIELDS = {
    "fence": ("guard.fence-everywhere", "guard.fence-without-claim", "claim.zombie"),
    "expected_rev": ("guard.expected-rev-everywhere",),
    "op_id": ("operation.repeated",),
}


def _ignoring(field: str) -> Any:
    async def body(inner: Any, self: Any, *args: Any, guard: Any = NO_GUARD, **kwargs: Any) -> Any:
        return await inner(self, *args, guard=replace(guard, **{field: None}), **kwargs)

    return body


for _method in GUARDED:
    for _field, _killed_by in FIELDS.items():
        _name = f"{_method} ignores {_field}"
        if _field == "op_id" and _method in ("save", "update_status", "save_meta"):
            _killed_by = ("operation.repeated", "operation.other-payload")
        broken_method(_name, f"{_method} does not look at {_field}", _method, _ignoring(_field), *_killed_by)


@mutant("guard.fence-without-claim", "claim.zombie", "claim.fence-never-comes-back")
class FenceOnlyWhileClaimed(MutantStore):
    """A fence counts only while some claim holds, and any older one fits once it has ended."""

    async def append_turns(self, session_id: str, turns: Any, *, guard: Any = NO_GUARD, **kwargs: Any) -> Written:
        data = await self.load(session_id)
        if data is None or data.epoch is None or (guard.fence or 0) < data.epoch:
            guard = replace(guard, fence=None)
        return await super().append_turns(session_id, turns, guard=guard, **kwargs)


@mutant("guard.order", "guard.repeated-append-first")
class ConflictsFirst(MutantStore):
    """Conflicting turns are judged before the guard, and the guard before the repeated append."""

    async def append_turns(self, session_id: str, turns: Any, *, guard: Any = NO_GUARD, **kwargs: Any) -> Written:
        data = await self.load(session_id)
        if data is not None:
            stored = {each.id: each for each in data.turns}
            if any(stored.get(turn.id, turn) != turn for turn in turns):
                raise TurnConflictError(session_id, turns[0].id)
            if guard.fence not in (None, data.epoch):
                raise RunFencedError(session_id, fence=guard.fence, epoch=data.epoch)
        return await super().append_turns(session_id, turns, guard=guard, **kwargs)


@mutant("guard.first-write")
class ZeroMeansNoExpectation(MutantStore):
    """An expected revision of 0 is taken for none."""

    async def append_turns(self, session_id: str, turns: Any, *, guard: Any = NO_GUARD, **kwargs: Any) -> Written:
        guard = replace(guard, expected_rev=guard.expected_rev or None)
        return await super().append_turns(session_id, turns, guard=guard, **kwargs)


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

# -- identity of turns ------------------------------------------------------------------------


def _no_digests(self: MemoryTransaction, session_id: str, turn_ids: Any) -> dict[str, str]:
    return {}


broken_transaction(
    "NoIdentity",
    "appending again stores again",
    "append.repeated",
    "append.repeated-front",
    "cancel.then-repeat",
    get_digests=_no_digests,
)


@mutant("append.conflict", "append.with-run-and-metadata", "operation.failure-is-not-kept", "append.repeated-in-batch")
class FirstContentWins(MutantStore):
    """A turn whose id is known is skipped, whatever its content."""

    async def append_turns(self, session_id: str, turns: Any, **kwargs: Any) -> Written:
        data = await self.load(session_id)
        known = {each.id: each for each in data.turns} if data is not None else {}
        for turn in turns:
            known.setdefault(turn.id, turn)
        return await super().append_turns(session_id, [known[turn.id] for turn in turns], **kwargs)


@mutant("append.key-order-is-no-conflict")
class KeyOrderMatters(MutantStore):
    """Turns are compared by their bytes, so the order of keys makes a conflict."""

    def _encode_turns(self, turns: Any) -> Any:
        return [turn._replace(digest=str(turn.stored)) for turn in super()._encode_turns(turns)]


@mutant("append.equal-content")
class DedupeByContent(MutantStore):
    """A turn with content that is stored already is dropped."""

    async def append_turns(self, session_id: str, turns: Any, **kwargs: Any) -> Written:
        data = await self.load(session_id)
        seen = [each.content for each in data.turns] if data is not None else []
        return await super().append_turns(session_id, [t for t in turns if t.content not in seen], **kwargs)


@mutant("append.same-ids-elsewhere", "id.apart", "delete.others-stay")
class TurnIdsAcrossSessions(MutantStore):
    """A turn id can be used in one session of the store only."""

    async def append_turns(self, session_id: str, turns: Any, **kwargs: Any) -> Written:
        for other, entry in self._data.scopes[self._scope].sessions.items():
            if other != session_id and any(turn.id in entry.positions for turn in turns):
                raise TurnConflictError(session_id, turns[0].id)
        return await super().append_turns(session_id, turns, **kwargs)


@mutant("append.empty", "create.no-ghosts")
class EmptyAppendCreates(MutantStore):
    """An append of nothing to an unknown session is taken for done, and leaves a session."""

    async def append_turns(self, session_id: str, turns: Any, *, create: Any = None, **kwargs: Any) -> Written:
        known = await self.load(session_id)
        if known is None and create is None:
            create = _ghost(session_id)
        return await super().append_turns(session_id, turns, create=create, **kwargs)


def _ghost(session_id: str) -> Any:
    from zidane_core.records import SessionHeader

    return SessionHeader(creation_id="ghost", created_at=0)


@mutant("append.with-run-and-metadata")
class RunForgotten(MutantStore):
    """The run and the metadata of an append are dropped."""

    async def append_turns(self, session_id: str, turns: Any, *, run: Any = None, **kwargs: Any) -> Written:
        if run is not None:
            kwargs["metadata"] = None
        return await super().append_turns(session_id, turns, **kwargs)


@mutant("append.refused-whole", "append.limits", "id.refused")
class TurnByTurn(MutantStore):
    """A batch is stored turn by turn, so a refused one stays half stored."""

    async def append_turns(self, session_id: str, turns: Any, **kwargs: Any) -> Written:
        written = await super().append_turns(session_id, turns[:1], **kwargs)
        for turn in turns[1:]:
            written = await super().append_turns(session_id, [turn])
        return replace(written, added=len(turns))


@mutant("append.limits")
class LimitIsForOthers(MutantStore):
    """The declared limit is not looked at."""

    def _check_sizes(self, turns: Any) -> None:
        return


@mutant("append.large")
class SmallerThanItSays(MutantStore):
    """Turns past 100 kB are refused, which is not declared."""

    def _check_sizes(self, turns: Any) -> None:
        for turn in turns:
            if len(turn.stored) > 100_000:
                raise ContentTooLargeError("the turn", size=len(turn.stored), limit=100_000)


@mutant("append.order", "turns.window", "content.created-at-is-kept")
class OrderByTimestamp(MutantStore):
    """The history is sorted by created_at."""

    async def load(self, session_id: str, **kwargs: Any) -> Any:
        data = await super().load(session_id, **kwargs)
        return None if data is None else replace(data, turns=sorted(data.turns, key=lambda turn: turn.created_at))

    async def get_turns(
        self, session_id: str, start: int = 0, limit: int | None = None, *, last: int | None = None
    ) -> Any:
        return (await super().get_turns(session_id, start, limit, last=last))[
            :: 1 if last is None and not start else -1
        ]


# -- creation and deletion --------------------------------------------------------------------

CREATING = ("append_turns", "update_run", "update_status", "claim_run", "claim_send_request")


def _header_lost(method: str) -> None:
    async def body(inner: Any, self: Any, *args: Any, create: Any = None, **kwargs: Any) -> Any:
        if create is not None:
            create = replace(create, agent_id=None, metadata={})
        return await inner(self, *args, create=create, **kwargs)

    broken_method(
        f"{method} loses the header", f"{method} creates without labels", method, body, "create.with-any-first-write"
    )


for _method in CREATING:
    _header_lost(_method)


def _ghosts_of(method: str) -> None:
    async def body(inner: Any, self: Any, *args: Any, create: Any = None, **kwargs: Any) -> Any:
        session_id = args[0]
        if session_id not in self._data.scopes[self._scope].sessions:
            create = create or _ghost(session_id)
        return await inner(self, *args, create=create, **kwargs)

    killers = ("create.no-ghosts", "delete.no-resurrection")
    broken_method(f"{method} makes ghosts", f"{method} creates what it does not find", method, body, *killers)


for _method in CREATING:
    _ghosts_of(_method)


async def _save_is_upsert(inner: Any, self: Any, session: Any, *, create: bool = False, **kwargs: Any) -> Any:
    return await inner(self, session, create=session.id not in self._data.scopes[self._scope].sessions, **kwargs)


broken_method(
    "SaveIsUpsert",
    "save creates and overwrites",
    "save",
    _save_is_upsert,
    "create.no-ghosts",
    "create.is-not-overwriting",
)


@mutant("create.is-not-overwriting", "create.concurrent-others")
class CreateOverwrites(MutantStore):
    """A creation under a known id wipes what is there."""

    async def append_turns(self, session_id: str, turns: Any, *, create: Any = None, **kwargs: Any) -> Written:
        entry = self._data.scopes[self._scope].sessions.get(session_id)
        if create is not None and entry is not None and entry.head.creation_id != create.creation_id:
            await self.delete(session_id)
        return await super().append_turns(session_id, turns, create=create, **kwargs)


@mutant(
    "create.repeated", "create.concurrent-repeats", "open.first-use-at-once", "cancel.then-repeat", "claim.one-winner"
)
class CreationOnlyOnce(MutantStore):
    """Repeating one's own creation is refused."""

    async def append_turns(self, session_id: str, turns: Any, *, create: Any = None, **kwargs: Any) -> Written:
        if create is not None and await self.load(session_id) is not None:
            create = replace(create, creation_id=create.creation_id + "!")
        return await super().append_turns(session_id, turns, create=create, **kwargs)

    async def claim_run(self, session_id: str, *, create: Any = None, **kwargs: Any) -> Any:
        if create is not None and await self.load(session_id) is not None:
            create = replace(create, creation_id=create.creation_id + "!")
        return await super().claim_run(session_id, create=create, **kwargs)


@mutant("create.refused-creates-nothing", "fault.writes")
class NoRollback(MutantStore):
    """What a failed write did before it failed stays."""

    async def _write(self, step: Any) -> Any:
        transaction = self._transaction()
        try:
            return step(transaction)
        except BaseException:
            for entry in transaction._scope.sessions.values():
                if not entry.head.rev:
                    entry.head = replace(entry.head, id="?", rev=transaction.next_rev())
            raise


@mutant("delete.removes-all")
class DeleteKeepsItems(MutantStore):
    """Deleting hides a session; made again it has its old runs, metadata and requests."""

    async def delete(self, session_id: str, **kwargs: Any) -> bool:
        entry = self._data.scopes[self._scope].sessions.get(session_id)
        done = await super().delete(session_id, **kwargs)
        if done and entry is not None:
            again = SessionEntry(Head(id="", creation_id="", created_at=0, updated_at=0))
            again.items = entry.items
            again.items.pop("metadata", None)
            self._data.scopes[self._scope].sessions[session_id] = again
        return done


@mutant("delete.no-resurrection")
class DeleteIsForgotten(MutantStore):
    """A write on a deleted session brings it back, with what it had."""

    async def delete(self, session_id: str, **kwargs: Any) -> bool:
        entry = self._data.scopes[self._scope].sessions.get(session_id)
        done = await super().delete(session_id, **kwargs)
        if done:
            self.__dict__.setdefault("grave", {})[session_id] = entry
        return done

    async def patch_meta(self, session_id: str, *args: Any, **kwargs: Any) -> Any:
        buried = self.__dict__.get("grave", {}).pop(session_id, None)
        if buried is not None:
            self._data.scopes[self._scope].sessions[session_id] = buried
        return await super().patch_meta(session_id, *args, **kwargs)


@mutant("delete.others-stay", "id.apart")
class DeleteByPrefix(MutantStore):
    """Deleting removes every session whose id begins with the given one."""

    async def delete(self, session_id: str, **kwargs: Any) -> bool:
        done = await super().delete(session_id, **kwargs)
        for other in [each for each in self._data.scopes[self._scope].sessions if each.startswith(session_id)]:
            await super().delete(other)
        return done


# -- saving, runs, status ---------------------------------------------------------------------


@mutant("save.refused-keeps-old", "content.refused")
class ClearThenInsert(MutantStore):
    """Saving clears the history first, and then looks at what to insert."""

    async def save(self, session: Any, **kwargs: Any) -> Written:
        entry = self._data.scopes[self._scope].sessions.get(session.id)
        if entry is not None and not kwargs.get("create"):
            await super().save(replace(await self.load(session.id), turns=[]))
        return await super().save(session, **kwargs)


@mutant("save.snapshot", "model.walk")
class SaveMerges(MutantStore):
    """Saving adds the turns that are new, and removes none."""

    async def save(self, session: Any, **kwargs: Any) -> Written:
        data = await self.load(session.id)
        if data is not None:
            known = {turn.id for turn in session.turns}
            session = replace(session, turns=[*(t for t in data.turns if t.id not in known), *session.turns])
        return await super().save(session, **kwargs)


@mutant("save.running-is-the-stores", "claim.lets-others-write")
class SnapshotStatusWins(MutantStore):
    """A snapshot's status and owner replace the stored ones."""

    async def save(self, session: Any, **kwargs: Any) -> Written:
        written = await super().save(session, **kwargs)
        entry = self._data.scopes[self._scope].sessions[session.id]
        entry.head = replace(entry.head, status=session.status, owner=session.run_owner)
        return written


def _runs_newest_first(self: MemoryTransaction, session_id: Any, kind: str) -> Any:
    found = MemoryTransaction.get_items(self, session_id, kind)
    return sorted(found) if kind == "run" else found


broken_transaction(
    "RunsById",
    "runs come back sorted by their ids",
    "runs.order",
    "history.runs",
    "id.awkward-parts",
    "save.snapshot",
    get_items=_runs_newest_first,
)


@mutant("runs.replaced-whole")
class RunsMerge(MutantStore):
    """A run that is written again is merged into the stored one."""

    async def update_run(self, session_id: str, run: Any, **kwargs: Any) -> Written:
        data = await self.load(session_id)
        for old in data.runs if data is not None else ():
            if old.id == run.id:
                run = replace(run, label=run.label or old.label, extra={**old.extra, **run.extra})
        return await super().update_run(session_id, run, **kwargs)


@mutant("status.owner")
class OwnerStays(MutantStore):
    """Ending a run leaves its owner recorded."""

    async def update_status(self, session_id: str, status: Any, **kwargs: Any) -> Written:
        before = self._data.scopes[self._scope].sessions.get(session_id)
        owner = None if before is None else before.head.owner
        written = await super().update_status(session_id, status, **kwargs)
        if before is not None and status != "running":
            before.head = replace(before.head, owner=owner)
        return written


# -- operations -------------------------------------------------------------------------------


@mutant("operation.kept-long-enough")
class OperationsForgottenEarly(MutantStore):
    """Only the last sixteen operations are remembered."""

    async def _once(self, method: str, keeper: Any, guard: Any, *rest: Any) -> Any:
        answer = await super()._once(method, keeper, guard, *rest)
        scope = self._data.scopes[self._scope]
        entry = scope.sessions.get(keeper)
        kept = scope.items["op"] if keeper is None or entry is None else entry.items["op"]
        for key in list(kept)[:-16]:
            del kept[key]
        return answer


@mutant("operation.failure-is-not-kept")
class FailureIsKept(MutantStore):
    """An operation id is used up by a call that fails."""

    async def append_turns(self, session_id: str, turns: Any, *, guard: Any = NO_GUARD, **kwargs: Any) -> Written:
        used = self.__dict__.setdefault("used", set())
        if guard.op_id in used:
            raise InvalidContentError("$", "the operation failed before")
        try:
            return await super().append_turns(session_id, turns, guard=guard, **kwargs)
        except Exception:
            used.add(guard.op_id)
            raise


@mutant("operation.apart")
class OneOperationForAll(MutantStore):
    """An operation id answers for every session with what it answered for the first."""

    async def append_turns(self, session_id: str, turns: Any, *, guard: Any = NO_GUARD, **kwargs: Any) -> Written:
        answers = self.__dict__.setdefault("answers", {})
        if guard.op_id is None:
            return await super().append_turns(session_id, turns, guard=guard, **kwargs)
        if guard.op_id not in answers:
            answers[guard.op_id] = await super().append_turns(session_id, turns, guard=guard, **kwargs)
        return answers[guard.op_id]


@mutant("operation.repeated-later")
class OperationAfterGuard(MutantStore):
    """The guard is judged before the repeated operation is recognised."""

    async def patch_meta(self, session_id: str, patch: Any, *, guard: Any = NO_GUARD) -> Written:
        if guard.expected_rev is not None:
            data = await self.load(session_id)
            if data is None or data.rev != guard.expected_rev:
                raise SessionNotFoundError(session_id)
        return await super().patch_meta(session_id, patch, guard=guard)


@mutant("operation.mutation-runs-once", "operation.repeated")
class MutationRunsAgain(MutantStore):
    """A repeated mutation edits what the first one made."""

    async def mutate_history(self, session_id: str, mutate: Any, *, guard: Any = NO_GUARD) -> Any:
        return await super().mutate_history(session_id, mutate, guard=replace(guard, op_id=None))


@mutant("operation.concurrent")
class OperationIsNotInTheTransaction(MutantStore):
    """The answer of an operation is kept after the write, by another step."""

    async def append_turns(self, session_id: str, turns: Any, *, guard: Any = NO_GUARD, **kwargs: Any) -> Written:
        kept = self.__dict__.setdefault("kept", {})
        if guard.op_id in kept:
            return kept[guard.op_id]
        await asyncio.sleep(0)
        written = await super().append_turns(session_id, turns, guard=replace(guard, op_id=None), **kwargs)
        await asyncio.sleep(0)
        if guard.op_id is not None:
            kept[guard.op_id] = written
        return written
