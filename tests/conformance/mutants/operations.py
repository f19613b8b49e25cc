"""Broken in repeated operations."""

from __future__ import annotations

import asyncio
from typing import Any

from msgspec.structs import replace

from tests.conformance.mutants.base import MutantStore, mutant
from zidane_core.errors import (
    InvalidContentError,
    SessionNotFoundError,
)
from zidane_core.store import NO_GUARD, Written

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


@mutant("operation.deletion-is-kept")
class DeletionForgetsDeletions(MutantStore):
    """A deletion takes the answers of earlier ones with it."""

    async def delete(self, session_id: str, *, guard: Any = NO_GUARD) -> bool:
        answer = await super().delete(session_id, guard=guard)
        if guard.op_id is None:
            self._data.scopes[self._scope].items["op"].clear()
        return answer


@mutant("operation.mutation-runs-once", "operation.repeated")
class MutationRunsAgain(MutantStore):
    """A repeated mutation edits what the first one made."""

    async def mutate_history(self, session_id: str, mutate: Any, *, guard: Any = NO_GUARD) -> Any:
        return await super().mutate_history(session_id, mutate, guard=replace(guard, op_id=None))


@mutant("operation.other-payload")
class MutationTakesAnyAnswer(MutantStore):
    """A mutation takes what another call with its operation id answered for its own first answer."""

    async def mutate_history(self, session_id: str, mutate: Any, *, guard: Any = NO_GUARD) -> Any:
        entry = self._data.scopes[self._scope].sessions.get(session_id)
        if guard.op_id is not None and entry is not None and guard.op_id in entry.items["op"]:
            return Written(rev=entry.head.rev, previous=entry.head.rev)
        return await super().mutate_history(session_id, mutate, guard=guard)


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
