"""The part of a session that keeps metadata, and saves what was changed in memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from inspect import isawaitable
from typing import TypeAlias, TypeVar

from msgspec import UNSET

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
        self._meta_listeners: list[SessionMetaListener] = []
        self._saved_listeners: list[SessionSavedListener] = []

    # -- changes ------------------------------------------------------------------------------

    def set_meta(self, key: str, value: JsonValue, *, touch: bool = True) -> None:
        """Set a metadata key in memory; `save` or `save_meta_keys` stores it. The value is copied.

        `touch=False` leaves `updated_at` alone: a rename is no activity.

        Raises:
            InvalidContentError: JSON cannot hold the value.
        """
        value = codec.check_value(value, f"$.metadata.{key}")
        self._link.state.set_meta(key, value)
        self._changed_meta(key, value, touch=touch)

    def delete_meta(self, key: str, *, touch: bool = True) -> None:
        """Remove a metadata key in memory, as `set_meta` sets one."""
        self._link.state.delete_meta(key)
        self._changed_meta(key, None, touch=touch)

    def set_agent_id(self, agent_id: str | None) -> None:
        """Give the session another agent profile, in memory."""
        self._link.state.agent_id = agent_id

    def set_turns(self, turns: Sequence[SessionTurn]) -> None:
        """Replace all turns in memory. The next `save` overwrites the stored ones, unless others added to them."""
        self._link.state.put_turns([codec.copy_of(turn) for turn in turns])
        self._link.state.turns_replaced = True

    def set_runs(self, runs: Sequence[SessionRun]) -> None:
        """Replace all runs in memory, as `set_turns` does the turns."""
        self._link.state.runs[:] = [codec.copy_of(run) for run in runs]
        self._link.state.runs_replaced = True

    def _changed_meta(self, key: str, value: JsonValue, *, touch: bool) -> None:
        if touch:
            self._link.touch()
        for listener in list(self._meta_listeners):
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

        That is the header and the changed metadata keys, neither turns nor runs: what others wrote meanwhile survives.
        Only after `set_turns` or `set_runs`, and on a store without `meta`, the whole session is overwritten, on the
        condition that nobody wrote since it was read.

        Raises:
            StoreError: the session has no store.
            RevisionConflictError: a whole overwrite, and the stored session has moved on: `refresh`, and edit again.
            SessionExistsError: a new session, whose id another one holds.
        """
        await self._save()
        for listener in list(self._saved_listeners):
            waited = listener()
            if isawaitable(waited):
                await waited

    async def save_meta_keys(self, keys: Collection[str]) -> None:
        """Store just these metadata keys, never turns, even after `set_turns`. Raises as `save`."""
        state, store = self._link.state, self._link.required_store()
        if not state.is_stored or not store.capabilities.meta:
            state.dirty_keys.update(keys)
            await self._save()
            return
        patch = {key: state.metadata.get(key, UNSET) for key in keys}
        await self._link.send(lambda store, _, guard: store.patch_meta(self.id, patch, guard=guard))
        state.dirty_keys.difference_update(keys)

    async def refresh(self) -> None:
        """Take in what others stored, keeping what was changed here and is not saved yet.

        Raises:
            SessionNotFoundError: the session was deleted.
        """
        await self._link.refresh()

    async def _save(self) -> None:
        state, store = self._link.state, self._link.required_store()
        keys = set(state.dirty_keys)
        if state.turns_replaced or state.runs_replaced or not state.is_stored or not store.capabilities.meta:
            await self._link.send(self._overwrite)
            state.turns_replaced = state.runs_replaced = False
        else:
            changed = state.snapshot(runs=[])  # runs are stored as they change
            await self._link.send(lambda store, _, guard: store.save_meta(changed, keys=keys, guard=guard))
        state.dirty_keys -= keys

    async def _overwrite(self, store: SessionStore, create: SessionHeader | None, guard: Guard) -> Written:
        state = self._link.state
        if create is None and store.capabilities.guards:
            guard = self._link.guard(expected_rev=state.complete_at)
        written = await store.save(state.snapshot(), create=create is not None, guard=guard)
        state.complete_at = written.previous  # what is stored now is what is here
        return written


def _subscribe(listeners: list[L], listener: L) -> Callable[[], None]:
    listeners.append(listener)

    def unsubscribe() -> None:
        if listener in listeners:
            listeners.remove(listener)

    return unsubscribe
