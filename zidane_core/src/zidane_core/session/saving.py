"""The part of a session that keeps metadata, and saves what was changed in memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from inspect import isawaitable
from typing import TypeAlias, TypeVar

from msgspec import UNSET
from msgspec.structs import replace

from zidane_core import codec
from zidane_core.blocks import JsonValue
from zidane_core.records import SessionHeader, SessionRun, SessionTurn
from zidane_core.store import Guard, SessionStore, Written

from .facts import SessionFacts
from .link import SessionLink

SessionMetaListener: TypeAlias = Callable[[str, JsonValue], None]
"""Called with the key and the value that `set_meta` just wrote; None for a deletion."""

SessionSavedListener: TypeAlias = Callable[[], Awaitable[None] | None]
"""Called after each `save`, and awaited by it."""

L = TypeVar("L")


class Saving(SessionFacts):
    """Changes in memory, and `save`, which stores them."""

    def __init__(self, link: SessionLink, *, interrupted: SessionRun | None = None) -> None:
        super().__init__(link, interrupted=interrupted)
        self._meta_listeners: dict[object, SessionMetaListener] = {}
        self._saved_listeners: dict[object, SessionSavedListener] = {}

    # -- changes ------------------------------------------------------------------------------

    def set_meta(self, key: str, value: JsonValue, *, touch: bool = True) -> None:
        """Set a metadata key in memory; `save` or `save_meta_keys` stores it. The value is copied.

        `touch=False` leaves `updated_at` alone: a rename is no activity.

        Raises:
            InvalidContentError: JSON cannot hold the value.
        """
        value = codec.check_value({key: value}, "$.metadata")[key]
        self._link.state.set_meta(key, value)
        self._changed_meta(key, value, touch=touch)

    def delete_meta(self, key: str, *, touch: bool = True) -> None:
        """Remove a metadata key in memory, as `set_meta` sets one."""
        self._link.state.delete_meta(key)
        self._changed_meta(key, None, touch=touch)

    def set_agent_id(self, agent_id: str | None) -> None:
        """Give the session another agent profile, in memory."""
        self._link.state.set_agent_id(agent_id)

    def set_turns(self, turns: Sequence[SessionTurn]) -> None:
        """Replace all turns in memory. The next `save` overwrites the stored ones, unless others added to them."""
        self._link.state.replace_turns([codec.copy_of(turn) for turn in turns])

    def set_runs(self, runs: Sequence[SessionRun]) -> None:
        """Replace all runs in memory, as `set_turns` does the turns."""
        self._link.state.replace_runs([codec.copy_of(run) for run in runs])

    def _changed_meta(self, key: str, value: JsonValue, *, touch: bool) -> None:
        if touch:
            self._link.touch()
            self._link.state.unsaved.touched = True
        for listener in list(self._meta_listeners.values()):
            listener(key, value)

    # -- listeners ----------------------------------------------------------------------------

    def on_meta(self, listener: SessionMetaListener) -> Callable[[], None]:
        """Call `listener` at each change of metadata here, in the order of subscription; returns the unsubscribe."""
        return _subscribe(self._meta_listeners, listener)

    def on_saved(self, listener: SessionSavedListener) -> Callable[[], None]:
        """Call `listener` after each `save`, one after another; an error of one reaches the caller of `save`."""
        return _subscribe(self._saved_listeners, listener)

    # -- saving -------------------------------------------------------------------------------

    async def save(self) -> None:
        """Store what was changed in memory.

        That is the agent id and the changed metadata keys, neither turns nor runs nor the status: what others wrote
        meanwhile survives. Only after `set_turns` or `set_runs`, and on a store without `meta`, the whole session is
        overwritten, on the condition that nobody changed the replaced turns or runs since they were read. Raising
        changes nothing: what was to be saved still is.

        Raises:
            StoreError: the session has no store.
            RevisionConflictError: others changed the history that is to be replaced: `refresh`, and edit again.
            SessionExistsError: a new session, whose id another one holds.
            SessionNotFoundError: the session was deleted.
        """
        await self._save()
        for listener in list(self._saved_listeners.values()):
            waited = listener()
            if isawaitable(waited):
                await waited

    async def save_meta_keys(self, keys: Collection[str]) -> None:
        """Store just these metadata keys, never turns, even after `set_turns`. Raises as `save`."""
        state, wanted = self._link.state, set(keys)
        if not state.is_stored or not self._link.required_store().capabilities.meta:
            state.unsaved.keys |= wanted
            await self._save()
            return

        async def patch(store: SessionStore, create: SessionHeader | None, guard: Guard) -> Written:
            state.unsaved.keys -= wanted
            try:
                values = {key: state.metadata.get(key, UNSET) for key in wanted}
                return await store.patch_meta(self.id, values, guard=guard)
            except BaseException:
                state.unsaved.keys |= wanted
                raise

        await self._link.send(patch, touches=False)

    async def refresh(self) -> None:
        """Take in what others stored, keeping unsaved metadata and agent id.

        Turns and runs replaced here and not saved yet are given up for the stored ones, which may have to be edited in
        another way by now.

        Raises:
            SessionNotFoundError: the session was deleted.
        """
        await self._link.refresh(keeps_history=False)

    async def _save(self) -> None:
        self._link.required_store()
        await self._link.send(self._store_unsaved, touches=False)

    async def _store_unsaved(self, store: SessionStore, create: SessionHeader | None, guard: Guard) -> Written:
        state = self._link.state
        if create is not None or state.unsaved.replaces_history or not store.capabilities.meta:
            return await self._link.save_whole(store, create, guard)
        unsaved = state.take_unsaved()
        try:
            changed = replace(state.changes(unsaved), runs=[])  # runs are stored as they change
            return await store.save_meta(changed, keys=unsaved.keys, guard=guard)
        except BaseException:
            state.put_back(unsaved)
            raise


def _subscribe(listeners: dict[object, L], listener: L) -> Callable[[], None]:
    subscription = object()
    listeners[subscription] = listener

    def unsubscribe() -> None:
        listeners.pop(subscription, None)

    return unsubscribe
