"""Broken in the identity of turns."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from tests.conformance.mutants.base import MutantStore, broken_transaction, ghost, mutant
from zidane_core.errors import (
    ContentTooLargeError,
    TurnConflictError,
)
from zidane_core.memory.data import MemoryTransaction
from zidane_core.store import Written

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
            create = ghost(session_id)
        return await super().append_turns(session_id, turns, create=create, **kwargs)


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
