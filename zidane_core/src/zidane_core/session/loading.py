"""Making, loading and opening sessions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal
from uuid import uuid4

from msgspec.structs import replace

from zidane_core import codec
from zidane_core.claims import demote_stale_running_status, has_stale_run
from zidane_core.clock import wall_clock_ms
from zidane_core.errors import (
    RevisionConflictError,
    RunFencedError,
    RunInProgressError,
    SessionNotFoundError,
    StoreError,
)
from zidane_core.messages import drop_invalid_tool_pairings
from zidane_core.messages.events import OnPairingDrop
from zidane_core.messages.lanes import lane_for_runs
from zidane_core.records import JsonObject, SessionData, SessionHistory, SessionRun
from zidane_core.store import Guard, SessionStore, Written
from zidane_core.store.checks import check_id

from .link import SessionLink
from .session import Session
from .state import SessionState

ReusedCallIds = Literal["drop", "keep"]

_HEAL_TRIES = 5


async def create_session(
    store: SessionStore | None = None,
    *,
    id: str | None = None,  # noqa: A002 -- the field's name
    agent_id: str | None = None,
    project_root: str | None = None,
    metadata: JsonObject | None = None,
    data: SessionData | None = None,
    on_pairing_drop: OnPairingDrop | None = None,
    clock: Callable[[], int] | None = None,
    new_id: Callable[[], str] | None = None,
) -> Session:
    """A new session, in memory; its first write creates it in the store.

    `data` is what it begins with (a fork, an import): copied but for its revision, with invalid tool blocks dropped
    and reported to `on_pairing_drop`, and with nothing running; `id` and the other options do not count then. The first
    write, whichever it is, stores all of it. `clock` gives epoch milliseconds, `new_id` ids.

    Raises:
        InvalidIdError: `id` is no legal id.
        InvalidContentError: JSON cannot hold the metadata.
    """
    if data is None:
        session_id = await _new_session_id(store, new_id) if id is None else id
        data = _new_data(session_id, clock, agent_id=agent_id, project_root=project_root, metadata=metadata)
    check_id("the session id", data.id)
    data = _healed(demote_stale_running_status(codec.copy_of(data)), "keep", on_pairing_drop)
    link = _link(replace(data, turns=[], runs=[], rev=None, creation_id=None), store, clock, new_id)
    if data.turns or data.runs:
        link.state.replace_turns(data.turns)
        link.state.replace_runs(data.runs)
    return Session(link)


async def load_session(
    store: SessionStore,
    session_id: str,
    *,
    persist_heal: bool = True,
    on_pairing_drop: OnPairingDrop | None = None,
    reused_call_ids: ReusedCallIds = "keep",
    clock: Callable[[], int] | None = None,
    new_id: Callable[[], str] | None = None,
) -> Session | None:
    """The stored session, or None.

    A run that died (its process is gone, or it has been silent for long) shows as aborted, and in
    `Session.interrupted`; tool blocks that can never be valid are dropped and reported. Both are stored too, as far as
    the store lets them, unless `persist_heal=False` (for readers) or a live run holds the session. Interrupted tool
    calls stay open: whoever owns the next run closes them.

    Raises:
        CorruptRecordError: a record of it cannot be read.
    """
    read = await _read_settled(store, session_id, persist=persist_heal)
    if read is None:
        return None
    data, demoted = read
    healed = _healed(demoted, reused_call_ids, on_pairing_drop)
    if healed is not demoted and persist_heal and demoted.status != "running":
        healed = await _store_heal(store, healed, reused_call_ids)
    return Session(_link(healed, store, clock, new_id), interrupted=_newest_died(data, demoted))


async def open_session(
    store: SessionStore,
    session_id: str,
    *,
    agent_id: str | None = None,
    project_root: str | None = None,
    metadata: JsonObject | None = None,
    on_pairing_drop: OnPairingDrop | None = None,
    clock: Callable[[], int] | None = None,
    new_id: Callable[[], str] | None = None,
) -> Session:
    """The stored session, or a new one with this id and these options.

    Two hosts that open one id at once get the same session: whoever writes second joins the first one's.
    """
    loaded = await load_session(store, session_id, on_pairing_drop=on_pairing_drop, clock=clock, new_id=new_id)
    if loaded is not None:
        return loaded
    check_id("the session id", session_id)
    data = _new_data(session_id, clock, agent_id=agent_id, project_root=project_root, metadata=metadata)
    return Session(_link(codec.copy_of(data), store, clock, new_id, adopts=True))


def _link(
    data: SessionData,
    store: SessionStore | None,
    clock: Callable[[], int] | None,
    new_id: Callable[[], str] | None,
    *,
    adopts: bool = False,
) -> SessionLink:
    return SessionLink(
        SessionState(data),
        store,
        clock=wall_clock_ms if clock is None else clock,
        new_id=new_id,
        adopts=adopts,
    )


def _new_data(
    session_id: str,
    clock: Callable[[], int] | None,
    *,
    agent_id: str | None,
    project_root: str | None,
    metadata: JsonObject | None,
) -> SessionData:
    now = (wall_clock_ms if clock is None else clock)()
    return SessionData(
        id=session_id,
        created_at=now,
        updated_at=now,
        status="idle",
        turns=[],
        runs=[],
        metadata={} if metadata is None else metadata,
        agent_id=agent_id,
        project_root=project_root,
    )


async def _new_session_id(store: SessionStore | None, new_id: Callable[[], str] | None) -> str:
    if new_id is not None:
        return new_id()
    if store is not None and store.capabilities.ids:
        return await store.generate_session_id()
    return uuid4().hex


def _healed(data: SessionData, reused_call_ids: ReusedCallIds, on_drop: OnPairingDrop | None) -> SessionData:
    turns = drop_invalid_tool_pairings(
        data.turns, lane_for_run=lane_for_runs(data.runs), reused_call_ids=reused_call_ids, on_drop=on_drop
    )
    return data if turns is data.turns else replace(data, turns=turns)


async def _read_settled(
    store: SessionStore, session_id: str, *, persist: bool
) -> tuple[SessionData, SessionData] | None:
    """The session as it is stored, and as it is once a run that died is demoted; that is stored too if asked for."""
    for _ in range(_HEAL_TRIES):
        data = await store.load(session_id)
        if data is None:
            return None
        demoted = demote_stale_running_status(data) if has_stale_run(data) else data
        if demoted is data or not persist:
            return data, demoted
        written = await _store_demotion(store, data, demoted)
        if written is not None:
            return data, replace(demoted, rev=written.rev)
    data = await store.load(session_id)  # others keep writing, so it is alive
    return None if data is None else (data, data)


async def _store_demotion(store: SessionStore, read: SessionData, demoted: SessionData) -> Written | None:
    """Store that the run died, if the session is still as it was read. None when it has moved on."""
    if not store.capabilities.guards:  # it could overwrite a live owner's status, so it stays in memory
        return Written(rev=read.rev or 0)
    guard = Guard(fence=read.epoch, expected_rev=read.rev)
    try:
        if store.capabilities.meta:
            return await store.save_meta(demoted, keys=(), guard=guard)
        return await store.update_status(read.id, "idle", touch=False, guard=guard)
    except (RevisionConflictError, RunFencedError, RunInProgressError, SessionNotFoundError):
        return None
    except StoreError:  # a store that cannot be written to can still be read
        return Written(rev=read.rev or 0)


async def _store_heal(store: SessionStore, healed: SessionData, reused_call_ids: ReusedCallIds) -> SessionData:
    """Store the drops, derived anew from what is stored, so that nothing added meanwhile is lost."""
    if not store.capabilities.history:
        return healed

    def mutate(history: SessionHistory) -> SessionHistory | None:
        turns = drop_invalid_tool_pairings(
            history.turns, lane_for_run=lane_for_runs(history.runs), reused_call_ids=reused_call_ids
        )
        return None if turns is history.turns else replace(history, turns=turns)

    try:
        written = await store.mutate_history(healed.id, mutate)
    except StoreError:  # as above
        return healed
    if written is None or written.previous == healed.rev:
        return healed if written is None else replace(healed, rev=written.rev)
    return await store.load(healed.id) or healed


def _newest_died(data: SessionData, demoted: SessionData) -> SessionRun | None:
    died = [run for run, was in zip(demoted.runs, data.runs, strict=True) if run is not was]
    return died[-1] if died else None
