"""Broken in creating, deleting, saving, runs and status."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from tests.conformance.mutants.base import MutantStore, broken_method, broken_transaction, ghost, mutant
from zidane_core.memory.data import MemoryTransaction, SessionEntry
from zidane_core.store import Written
from zidane_core.store.head import Head

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
            create = create or ghost(session_id)
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
