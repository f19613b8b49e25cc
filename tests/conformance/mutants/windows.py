"""Broken in windows, content and copies."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

from msgspec.structs import replace

from tests.conformance.mutants.base import MutantStore, broken_method, mutant
from zidane_core.errors import SessionNotFoundError

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
