"""Sessions in Redis: the primitives of the core, history and claims, one script each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from zidane_core.errors import CorruptRecordError, SessionNotFoundError
from zidane_core.records import Damage, RunOwner, SessionData, SessionHeader, SessionTurn, Status
from zidane_core.store import (
    AppendRequest,
    BaseStore,
    Guard,
    HistoryRequest,
    MetadataChange,
    RunClaim,
    SnapshotRequest,
    Written,
    decode_runs,
    decode_turns,
    fingerprint_of,
    mutation_fingerprint,
    session_of,
)

from . import _requests as requests
from . import _scripts as scripts
from ._calls import Calls
from ._keys import Keys, SessionKeys, place_of
from ._replies import answer_of, head_of, in_order, metadata_of, optional_int, owner_of, written_of
from ._scripts import Script


class SessionCalls(BaseStore):
    """A part of `RedisStore`."""

    _keys: Keys
    _calls: Calls

    def _keys_of(self, session_id: str) -> SessionKeys:
        return self._keys.session(self._scope, session_id)

    async def _write(
        self,
        script: Script,
        method: str,
        session_id: str,
        guard: Guard,
        fields: dict[str, Any],
        *given: object,
        keys: tuple[bytes, ...] = (),
        turn_id: str = "",
        fingerprint: Callable[[], str] | None = None,
    ) -> list[Any]:
        """Run a script that writes on a session; `given` tells the call from others with its operation id."""
        reply = await self._calls.write(
            script,
            keys or self._keys_of(session_id),
            {"id": session_id, **fields},
            session_id=session_id,
            guard=guard,
            fingerprint=fingerprint
            or (lambda: fingerprint_of(method, session_id, given, (guard.fence, guard.expected_rev))),
        )
        return answer_of(reply, session_id, op_id=guard.op_id, turn_id=turn_id)

    # -- reading ------------------------------------------------------------------------------

    async def _load(self, session_id: str, *, skip_damaged: bool) -> SessionData | None:
        found = await self._read(session_id, 0, None, whole=True)
        if found is None:
            return None
        seconds, microseconds, head_fields, _, lengths, joined, stored_runs, stored_metadata = found
        damage: list[Damage] | None = [] if skip_damaged else None
        metadata, extra = _tolerant_metadata(session_id, stored_metadata, damage)
        head = head_of(session_id, head_fields, extra)
        runs = in_order(stored_runs, session_id=session_id, where="the runs")
        return session_of(
            head,
            turns=decode_turns(session_id, 0, head.turn_count, _apart(lengths, joined), damage),
            runs=decode_runs(session_id, [(field.decode(), stored) for field, stored in runs], damage),
            metadata=metadata,
            now=now_of(seconds, microseconds),
            damage=damage or (),
        )

    async def _get_turns(
        self, session_id: str, *, start: int, limit: int | None, last: int | None
    ) -> list[SessionTurn]:
        first = start if last is None else -last
        found = await self._read(session_id, first, limit if last is None else last, whole=False)
        if found is None:
            raise SessionNotFoundError(session_id)
        head = head_of(session_id, found[2], {})
        begin = min(start, head.turn_count) if last is None else max(0, head.turn_count - last)
        count = head.turn_count - begin
        count = count if limit is None else min(count, limit)
        return decode_turns(session_id, begin, begin + count, _apart(found[4], found[5]))

    async def _read(self, session_id: str, first: int, count: int | None, *, whole: bool) -> list[Any] | None:
        keys = self._keys_of(session_id)
        if first < 0 or count != 0:
            wanted: tuple[int, int | str] = (first, "" if count is None else count)
        else:
            wanted = (0, 0)
        read: list[Any] | None = await self._calls.read(
            scripts.READ_SESSION,
            (keys.head, keys.turns, keys.runs, keys.metadata),
            *wanted,
            "1" if whole else "0",
            session_id=session_id,
        )
        return read

    # -- writing ------------------------------------------------------------------------------

    async def _append_turns(self, request: AppendRequest, guard: Guard) -> Written:
        return await self._append("append_turns", request, guard)

    async def _update_run(self, request: AppendRequest, guard: Guard) -> Written:
        return await self._append("update_run", request, guard)

    async def _patch_meta(self, session_id: str, change: MetadataChange, guard: Guard) -> Written:
        request = AppendRequest(session_id=session_id, turns=(), metadata=change)
        return await self._append("patch_meta", request, guard, touch=False)

    async def _append(self, method: str, request: AppendRequest, guard: Guard, *, touch: bool = True) -> Written:
        fields: dict[str, Any] = {
            "turns": requests.turn_list(request.turns),
            "touch": touch,
            **requests.creation(request.create),
        }
        if request.run is not None:
            fields["run"] = requests.run_pair(request.run)
        if request.metadata is not None:
            fields["metadata"] = requests.change(request.metadata)
        answer = await self._write(
            scripts.APPEND_TURNS,
            method,
            request.session_id,
            guard,
            fields,
            [turn.digest for turn in request.turns] if guard.op_id else (),
            request.create,
            request.run,
            request.metadata,
        )
        return written_of(answer)

    async def _save(self, request: SnapshotRequest, guard: Guard) -> Written:
        session = request.session
        fields: dict[str, Any] = {
            "runs": requests.run_list(request.runs),
            "metadata": requests.change(request.metadata),
            "agent": session.agent_id,
            "root": session.project_root,
            "place": requests.blob(place_of(session.project_root)),
            "updated": str(session.updated_at),
            "status": session.status,
            "extra": requests.named_values(session.extra),
            **requests.creation(request.create),
        }
        if request.turns is not None:
            fields["turns"] = requests.turn_list(request.turns)
        answer = await self._write(
            scripts.SAVE,
            "save",
            session.id,
            guard,
            fields,
            (session.agent_id, session.project_root, session.status, session.updated_at),
            None if request.turns is None else [turn.digest for turn in request.turns],
            request.runs,
            request.metadata,
            request.create,
        )
        return written_of(answer)

    async def _replace_history(self, request: HistoryRequest, guard: Guard) -> Written | None:
        fields: dict[str, Any] = {"turns": requests.turn_list(request.turns), "read_at": str(request.read_at)}
        if request.runs is not None:
            fields["runs"] = requests.run_list(request.runs)
        answer = await self._write(
            scripts.REPLACE_HISTORY,
            "mutate_history",
            request.session_id,
            guard,
            fields,
            fingerprint=lambda: mutation_fingerprint(request.session_id),
        )
        return None if answer[0] is None else written_of(answer)

    async def _recall_mutation(self, session_id: str, op_id: str) -> Written | None:
        keys = self._keys_of(session_id)
        kept_in, fingerprint = (keys.operations, keys.operations_before), mutation_fingerprint(session_id)
        answer = await self._calls.recall(kept_in, op_id, fingerprint, session_id)
        return None if answer is None or answer[0] is False else written_of(answer)

    async def _truncate(self, session_id: str, turn_id: str, guard: Guard) -> list[SessionTurn]:
        await self._check_tail(session_id, turn_id)
        answer = await self._write(
            scripts.TRUNCATE, "truncate", session_id, guard, {"turn_id": turn_id}, turn_id, turn_id=turn_id
        )
        return decode_turns(session_id, int(answer[0]), int(answer[0]) + len(answer) - 1, answer[1:])

    async def _check_tail(self, session_id: str, turn_id: str) -> None:
        """Raise where what is to be removed cannot be answered; nothing is removed then."""
        keys = self._keys_of(session_id)
        digest: bytes | None = await self._calls.command("HGET", keys.digests, turn_id.encode(), session_id=session_id)
        if digest is None:  # the script judges that
            return
        start = int(digest[17:])
        found = await self._read(session_id, start, None, whole=False)
        if found is not None:
            turns = _apart(found[4], found[5])
            decode_turns(session_id, start, start + len(turns), turns)

    async def _update_status(
        self,
        session_id: str,
        status: Status,
        *,
        owner: RunOwner | None,
        touch: bool,
        create: SessionHeader | None,
        guard: Guard,
    ) -> Written:
        fields = {"status": status, "owner": requests.stored_owner(owner), "touch": touch, **requests.creation(create)}
        return written_of(
            await self._write(
                scripts.UPDATE_STATUS, "update_status", session_id, guard, fields, status, owner, touch, create
            )
        )

    async def _delete(self, session_id: str, guard: Guard) -> bool:
        keys = self._keys_of(session_id)
        shared = self._keys.scope_of(self._scope, session_id)
        lasting = (shared.operations, shared.operations_before, *keys[2:], keys.operations, keys.operations_before)
        answer = await self._write(scripts.DELETE, "delete", session_id, guard, {}, keys=lasting)
        return bool(answer[0] == 1)

    # -- claims -------------------------------------------------------------------------------

    async def _claim_run(
        self,
        session_id: str,
        *,
        owner: RunOwner | None,
        displaces: int | None,
        create: SessionHeader | None,
        guard: Guard,
    ) -> RunClaim:
        fields: dict[str, Any] = {"owner": requests.stored_owner(owner), **requests.creation(create)}
        if displaces is not None:
            fields["displaces"] = str(displaces)
        granted, epoch, rev, previous, previous_rev, holder, quiet = await self._write(
            scripts.CLAIM_RUN, "claim_run", session_id, guard, fields, owner, displaces, create
        )
        return RunClaim(
            claimed=granted == 1,
            epoch=int(epoch),
            rev=int(rev),
            previous=previous.decode(),
            previous_rev=int(previous_rev),
            holder=owner_of(session_id, holder),
            quiet_ms=optional_int(quiet) or 0,
        )

    async def _renew_run(self, session_id: str, fence: int) -> None:
        fields = {"id": session_id, "fence": str(fence)}
        reply = await self._calls.renew(scripts.RENEW_RUN, self._keys_of(session_id), fields, session_id)
        answer_of(reply, session_id)


def now_of(seconds: bytes, microseconds: bytes) -> int:
    return int(seconds) * 1000 + int(microseconds) // 1000


def _apart(lengths: bytes, joined: bytes) -> list[bytes]:
    """The turns that a script joined into one text."""
    turns: list[bytes] = []
    start = 0
    for length in map(int, lengths.split()):
        turns.append(joined[start : start + length])
        start += length
    return turns


def _tolerant_metadata(
    session_id: str, flat: list[bytes], damage: list[Damage] | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    try:
        return metadata_of(session_id, flat)
    except CorruptRecordError as error:
        if damage is None:
            raise
        damage.append(Damage(where=error.where, reason=error.reason))
        return {}, {}
