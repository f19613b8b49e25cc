"""Broken in ids and scopes, and where something is damaged or fails."""

from __future__ import annotations

import unicodedata
from typing import Any

from msgspec.structs import replace

from tests.conformance.mutants.base import MutantStore, broken_transaction, mutant
from zidane_core.errors import CorruptRecordError, InvalidIdError, SessionNotFoundError
from zidane_core.memory.data import MemoryTransaction

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

    async def save(self, session: Any, **kwargs: Any) -> Any:
        runs = [replace(run, id=run.id.split(":")[0] or ":") for run in session.runs]
        return await super().save(replace(session, runs=runs), **kwargs)


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
