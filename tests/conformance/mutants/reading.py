"""Broken in what a read gives: windows, content, copies, listings, ids, scopes, damage."""

from __future__ import annotations

import json
import unicodedata
from fnmatch import fnmatchcase
from typing import Any

import msgspec
from msgspec.structs import replace

from tests.conformance.mutants.base import MutantStore, broken_method, broken_transaction, mutant
from zidane_core.errors import CorruptRecordError, InvalidIdError, SessionNotFoundError
from zidane_core.memory.data import MemoryTransaction
from zidane_core.store import Page, SessionFilter

# -- windows ----------------------------------------------------------------------------------


@mutant("turns.window", "turns.tail", "list.ids-limit", "list.meta-limit", "artifact.filters", "schedule.fires")
class ZeroIsAll(MutantStore):
    """A limit of 0 is taken for no limit."""

    async def get_turns(
        self, session_id: str, start: int = 0, limit: int | None = None, *, last: int | None = None
    ) -> Any:
        return await super().get_turns(session_id, start, limit or None, last=last or None)

    async def list_ids(self, where: Any = None, *, limit: int | None = None, after: str | None = None) -> Any:
        return await super().list_ids(where, limit=limit or None, after=after)

    async def list_meta(self, where: Any = None, *, limit: int | None = None, after: str | None = None) -> Any:
        return await super().list_meta(where, limit=limit or None, after=after)

    async def list_artifacts(self, where: Any = None) -> Any:
        return await super().list_artifacts(where and replace(where, limit=where.limit or None))

    async def list_schedule_fires(self, schedule_id: str, limit: int) -> Any:
        return await super().list_schedule_fires(schedule_id, limit or 10**6)


@mutant("turns.numbers", "list.ids-limit", "list.meta-limit")
class NegativeCountsBack(MutantStore):
    """Negative numbers are clamped."""

    async def get_turns(
        self, session_id: str, start: int = 0, limit: int | None = None, *, last: int | None = None
    ) -> Any:
        if last is not None:
            return await super().get_turns(session_id, last=max(0, last))
        return await super().get_turns(session_id, max(0, start), None if limit is None else max(0, limit))

    async def list_ids(self, where: Any = None, *, limit: int | None = None, after: str | None = None) -> Any:
        return await super().list_ids(where, limit=None if limit is None else max(0, limit), after=after)

    async def list_meta(self, where: Any = None, *, limit: int | None = None, after: str | None = None) -> Any:
        return await super().list_meta(where, limit=None if limit is None else max(0, limit), after=after)


@mutant("turns.tail", "cancel.reads")
class TailIsReversed(MutantStore):
    """The tail comes newest first."""

    async def get_turns(self, session_id: str, *args: Any, last: int | None = None, **kwargs: Any) -> Any:
        found = await super().get_turns(session_id, *args, last=last, **kwargs)
        return found if last is None else found[::-1]


@mutant("turns.unknown-load", "create.no-ghosts", "delete.removes-all")
class UnknownIsEmpty(MutantStore):
    """Loading an unknown id gives an empty session."""

    async def load(self, session_id: str, **kwargs: Any) -> Any:
        from zidane_core.conformance.samples import snapshot

        return await super().load(session_id, **kwargs) or snapshot(session_id)


@mutant("load.whole")
class SortedMetadata(MutantStore):
    """Metadata comes back with its keys sorted."""

    async def load(self, session_id: str, **kwargs: Any) -> Any:
        data = await super().load(session_id, **kwargs)
        return None if data is None else replace(data, metadata=dict(sorted(data.metadata.items())))


# -- content ----------------------------------------------------------------------------------


def _storing(name: str, defect: str, change: Any, *killed_by: str) -> None:
    """Register a store that changes a turn's content and usage on its way in."""

    async def body(inner: Any, self: Any, session_id: str, turns: Any, **kwargs: Any) -> Any:
        turns = [replace(turn, content=change(turn.content), usage=change(turn.usage)) for turn in turns]
        return await inner(self, session_id, turns, **kwargs)

    broken_method(name, defect, "append_turns", body, *killed_by)


def _deeply(leaf: Any) -> Any:
    def change(value: Any) -> Any:
        if type(value) is dict:
            return {leaf(key): change(item) for key, item in value.items()}
        return [change(item) for item in value] if type(value) is list else leaf(value)

    return change


_storing(
    "SurrogatesReplaced",
    "lone surrogates become question marks",
    _deeply(lambda v: v.encode("utf-8", "replace").decode() if type(v) is str else v),
    "content.strange-values",
    "content.text",
    "content.surrogate-pairs",
)
_storing(
    "NulDropped",
    "NUL characters are dropped",
    _deeply(lambda v: v.replace("\0", "") if type(v) is str else v),
    "content.text",
)
_storing(
    "IntegersAreFloats",
    "large integers go through floating point",
    _deeply(lambda v: int(float(v)) if type(v) is int and abs(v) < 10**300 else v),
    "content.strange-values",
)
_storing(
    "Normalised",
    "text is brought to normal form C",
    _deeply(lambda v: unicodedata.normalize("NFC", v) if type(v) is str else v),
    "content.strange-values",
)
_storing(
    "KeysBecomeStrings",
    "keys and values that JSON cannot hold are turned into something that it can",
    lambda value: json.loads(json.dumps(value, default=str, skipkeys=True)) if value is not None else None,
    "content.refused",
)


@mutant("content.surrogate-pairs")
class PairsStayApart(MutantStore):
    """A character that was written as two surrogates comes back as two."""

    async def get_turns(self, *args: Any, **kwargs: Any) -> Any:
        found = await super().get_turns(*args, **kwargs)
        return [replace(turn, content=_split(turn.content)) for turn in found]


def _split(content: Any) -> Any:
    return [
        {**block, "text": block["text"].replace("\U0001f600", "\ud83d\ude00")} if "text" in block else block
        for block in content
    ]


async def _dropping_extra(inner: Any, self: Any, session_id: str, turns: Any, **kwargs: Any) -> Any:
    return await inner(self, session_id, [replace(turn, extra={}) for turn in turns], **kwargs)


broken_method(
    "UnknownKeysDropped",
    "keys that this version does not know are dropped",
    "append_turns",
    _dropping_extra,
    "content.unknown-keys",
)


async def _dropping_fields(
    inner: Any, self: Any, session_id: str, turns: Any, *, run: Any = None, **kwargs: Any
) -> Any:
    run = None if run is None else replace(run, user_wait=None)
    return await inner(self, session_id, turns, run=run, **kwargs)


broken_method("FieldDropped", "a run's field has no column", "append_turns", _dropping_fields, "content.every-field")


@mutant("append.order", "content.text")
class Truncates(MutantStore):
    """A history is given without its oldest turns, once there are more than five."""

    async def get_turns(self, session_id: str, *args: Any, **kwargs: Any) -> Any:
        found = await super().get_turns(session_id, *args, **kwargs)
        return found[-5:] if not args and not kwargs else found

    async def load(self, session_id: str, **kwargs: Any) -> Any:
        data = await super().load(session_id, **kwargs)
        return None if data is None else replace(data, turns=data.turns[-5:])


# -- copies -----------------------------------------------------------------------------------


@mutant("alias.what-was-handed-in", "alias.mutation")
class KeepsTheCallersObjects(MutantStore):
    """The objects that a caller handed in are what is stored."""

    async def append_turns(self, session_id: str, turns: Any, **kwargs: Any) -> Any:
        written = await super().append_turns(session_id, turns, **kwargs)
        kept = self.__dict__.setdefault("kept", {})
        kept.update({(session_id, turn.id): turn for turn in turns if (session_id, turn.id) not in kept})
        return written

    async def mutate_history(self, session_id: str, mutate: Any, **kwargs: Any) -> Any:
        def noting(now: Any) -> Any:
            after = mutate(now)
            if after is not None:
                self.__dict__.setdefault("kept", {}).update({(session_id, turn.id): turn for turn in after.turns})
            return after

        return await super().mutate_history(session_id, noting, **kwargs)

    async def get_turns(self, session_id: str, *args: Any, **kwargs: Any) -> Any:
        kept = self.__dict__.get("kept", {})
        return [kept.get((session_id, turn.id), turn) for turn in await super().get_turns(session_id, *args, **kwargs)]

    async def load(self, session_id: str, **kwargs: Any) -> Any:
        data = await super().load(session_id, **kwargs)
        return None if data is None else replace(data, turns=await self.get_turns(session_id))


@mutant("alias.what-was-read", "alias.mutation")
class HandsOutItsOwn(MutantStore):
    """What a read gives are the store's own objects."""

    async def _load(self, session_id: str, **kwargs: Any) -> Any:
        data = await super()._load(session_id, **kwargs)
        seen = self.__dict__.setdefault("seen", {})
        if data is None:
            return None
        return seen.setdefault((session_id, data.rev), data)

    async def _get_turns(self, session_id: str, **kwargs: Any) -> Any:
        start, limit, last = kwargs["start"], kwargs["limit"], kwargs["last"]
        data = await self._load(session_id, skip_damaged=False)
        if data is None:
            raise SessionNotFoundError(session_id)
        if last is not None:
            return list(data.turns)[max(0, len(data.turns) - last) :]
        return list(data.turns)[start : None if limit is None else start + limit]


@mutant("alias.artifacts")
class ArtifactsShared(MutantStore):
    """The artifact that was handed in is what is listed."""

    async def upsert_artifact(self, artifact: Any, **kwargs: Any) -> Any:
        await super().upsert_artifact(artifact, **kwargs)
        self.__dict__.setdefault("rows", {})[artifact.id] = artifact
        return artifact

    async def list_artifacts(self, where: Any = None) -> Any:
        return [self.__dict__.get("rows", {}).get(row.id, row) for row in await super().list_artifacts(where)]


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


# -- ids and scopes ---------------------------------------------------------------------------


def _mapped(name: str, defect: str, change: Any, *killed_by: str) -> None:
    """Register a store that keeps sessions under a changed id."""

    def entry(self: MemoryTransaction, session_id: str) -> Any:
        return MemoryTransaction._entry(self, change(session_id))

    def get_head(self: MemoryTransaction, session_id: str) -> Any:
        return MemoryTransaction.get_head(self, change(session_id))

    def drop(self: MemoryTransaction, session_id: str) -> None:
        MemoryTransaction.drop_session(self, change(session_id))

    def items(self: MemoryTransaction, session_id: Any, kind: str) -> Any:
        return MemoryTransaction._items(self, None if session_id is None else change(session_id), kind)

    broken_transaction(name, defect, *killed_by, _entry=entry, get_head=get_head, drop_session=drop, _items=items)


_mapped("IdsFoldCase", "ids do not tell case, as on some file systems", str.lower, "id.apart")
_mapped("IdsAreStripped", "ids lose spaces and dots at their end", lambda i: i.rstrip(" ."), "id.apart")
_mapped("IdsAreCut", "ids are cut at 255 characters", lambda i: i[:255], "id.apart")
_mapped(
    "IdsAreSanitised",
    "characters that a file name cannot have become underscores",
    lambda i: "".join(c if c not in '/\\:*?"<>|' else "_" for c in i),
    "id.apart",
)
_mapped("IdsAreNormalised", "ids are brought to normal form C", lambda i: unicodedata.normalize("NFC", i), "id.apart")


@mutant("id.refused")
class AnyIdIsFine(MutantStore):
    """Ids are not looked at in a read of the history."""

    async def get_turns(self, session_id: str, *args: Any, **kwargs: Any) -> Any:
        try:
            return await super().get_turns(session_id, *args, **kwargs)
        except InvalidIdError as error:
            raise SessionNotFoundError(str(session_id)) from error


@mutant("id.awkward-parts")
class KeysAreJoined(MutantStore):
    """The ids of runs are cut at a colon, the separator of keys."""

    async def update_run(self, session_id: str, run: Any, **kwargs: Any) -> Any:
        return await super().update_run(session_id, replace(run, id=run.id.split(":")[0] or ":"), **kwargs)


@mutant("id.awkward-schedules", "schedule.fires")
class FiresByPrefix(MutantStore):
    """The fires of a schedule are those of all whose ids begin like its own."""

    async def list_schedule_fires(self, schedule_id: str, limit: int) -> Any:
        found = await super().list_schedule_fires(schedule_id, limit)
        for kind in list(self._data.scopes[self._scope].items):
            if kind.startswith(f"fire/{schedule_id}") and kind != f"fire/{schedule_id}":
                found += await super().list_schedule_fires(kind.removeprefix("fire/"), limit)
        return sorted(found, key=lambda fire: fire.fired_at)


@mutant("id.labels", "list.filters")
class LabelsAreStripped(MutantStore):
    """Labels lose what does not belong to a path."""

    async def append_turns(self, session_id: str, turns: Any, *, create: Any = None, **kwargs: Any) -> Any:
        if create is not None and create.agent_id is not None:
            create = replace(create, agent_id="".join(c for c in create.agent_id if c.isalnum() or c in "/-"))
        return await super().append_turns(session_id, turns, create=create, **kwargs)


@mutant("scope.apart", "scope.collections-apart", "scope.handles")
class OneScope(MutantStore):
    """A scope is a name, and all share the data."""

    def in_scope(self, scope: str) -> Any:
        handle = super().in_scope(scope)
        handle._transaction = lambda: self.transaction(self._data, self._scope, self._clock)  # type: ignore[method-assign]
        return handle


@mutant("scope.handles")
class ScopesCloseAll(MutantStore):
    """Closing a scoped handle closes the store that it came from, and the reverse does not hold."""

    def in_scope(self, scope: str) -> Any:
        handle = super().in_scope(scope)
        handle._lifecycle = self._lifecycle
        return handle


@mutant("scope.collections-apart")
class SchedulesOfAll(MutantStore):
    """Schedules have no scope."""

    async def list_schedules(self) -> Any:
        inner = self._scope
        self._scope = ""
        try:
            return await super().list_schedules()
        finally:
            self._scope = inner


# -- damage and failure -----------------------------------------------------------------------


@mutant("damage.turn", "damage.stays-where-it-is", "damage.run-and-metadata")
class CorruptIsEmpty(MutantStore):
    """A history that cannot be read is given as an empty one."""

    async def load(self, session_id: str, **kwargs: Any) -> Any:
        try:
            return await super().load(session_id, **kwargs)
        except CorruptRecordError:
            return await super().load(session_id, damaged="skip")


def _cut_at_damage(self: MemoryTransaction, session_id: str, start: int, stop: int) -> list[bytes]:
    from zlib import crc32

    kept = []
    for raw in MemoryTransaction.get_turns(self, session_id, start, stop):
        kept.append(raw[:3] + b"%08x:" % crc32(raw[12:]) + raw[12:])
    return kept


broken_transaction("NoChecksum", "stored bytes are taken as they are", "damage.turn", get_turns=_cut_at_damage)


@mutant("damage.stays-where-it-is", "damage.run-and-metadata")
class DamageHidesTheSession(MutantStore):
    """A damaged session is not listed, and its listing fails for all."""

    async def list_ids(self, where: Any = None, **kwargs: Any) -> Any:
        found = await super().list_ids(where, **kwargs)
        readable = []
        for session_id in found:
            try:
                await super().load(session_id)
            except CorruptRecordError:
                continue
            readable.append(session_id)
        return readable

    async def load(self, session_id: str, *, damaged: Any = "raise") -> Any:
        return await super().load(session_id)


@mutant("fault.reads")
class FailureIsAbsence(MutantStore):
    """A read that fails is taken for a session that is not there."""

    async def load(self, session_id: str, **kwargs: Any) -> Any:
        from zidane_core.errors import StoreUnavailableError

        try:
            return await super().load(session_id, **kwargs)
        except StoreUnavailableError:
            return None


@mutant("fault.writes")
class SwallowsErrors(MutantStore):
    """An error of the backend is logged, and half of the write stays."""

    async def _write(self, step: Any) -> Any:
        from zidane_core.errors import StoreUnavailableError

        transaction = self._transaction()
        try:
            return step(transaction)
        except StoreUnavailableError:
            raise
        except BaseException:
            transaction.roll_back()
            raise
