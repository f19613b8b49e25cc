"""What a backend with transactions offers: the small interface that the whole contract is written on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from zidane_core.codec import EncodedTurn

from .head import Head
from .values import SessionFilter


class Transaction(Protocol):
    """One atomic step on the data of one scope: all of its writes happen, or none.

    Sync, because nothing may be awaited between the first read and the commit. Turns have the positions 0, 1, 2, …
    without gaps. *Items* are small keyed values of a session, or of the scope itself where `session_id` is None, in
    groups called kinds; a kind keeps the order in which its keys were first put. All values are stored bytes.
    """

    def now_ms(self) -> int:
        """The store's clock, epoch milliseconds."""
        ...

    def next_rev(self) -> int:
        """The next value of the store's counter: greater than all before, never repeated, also after deletions."""
        ...

    # -- heads --------------------------------------------------------------------------------

    def get_head(self, session_id: str) -> Head | None: ...

    def put_head(self, head: Head) -> None: ...

    def list_by_id(self, where: SessionFilter, *, after: str | None, limit: int | None) -> list[str]:
        """Ids in UTF-8 order, those greater than `after`."""
        ...

    def list_by_recency(self, where: SessionFilter, *, after: tuple[int, str] | None, limit: int | None) -> list[Head]:
        """Heads by (`updated_at` descending, `id`), those behind the pair `after`."""
        ...

    def drop_session(self, session_id: str) -> None:
        """Remove head, turns and items, but for the answers of deletions (`operations.DELETION`) where any are here."""
        ...

    # -- turns --------------------------------------------------------------------------------

    def get_turns(self, session_id: str, start: int, stop: int) -> list[bytes]:
        """The turns at the positions from `start` up to, not including, `stop`; fewer where they end before."""
        ...

    def get_digests(self, session_id: str, turn_ids: Sequence[str]) -> dict[str, str]:
        """The digests of those of the turns that are stored."""
        ...

    def find_turn(self, session_id: str, turn_id: str) -> int | None:
        """The position of a turn."""
        ...

    def add_turns(self, session_id: str, position: int, turns: Iterable[EncodedTurn]) -> None:
        """Store turns from `position` on, which is where the stored ones end."""
        ...

    def cut_turns(self, session_id: str, position: int) -> None:
        """Remove all turns from `position` on."""
        ...

    # -- items --------------------------------------------------------------------------------

    def get_item(self, session_id: str | None, kind: str, key: str) -> bytes | None: ...

    def get_items(self, session_id: str | None, kind: str) -> list[tuple[str, bytes]]:
        """All items of a kind as (key, stored), in the order in which their keys were first put."""
        ...

    def get_all_items(self, kind: str) -> list[tuple[str, bytes]]:
        """The items of a kind of every session, as (session id, stored)."""
        ...

    def put_item(self, session_id: str | None, kind: str, key: str, stored: bytes) -> None:
        """Insert, or replace in place."""
        ...

    def drop_item(self, session_id: str | None, kind: str, key: str) -> None: ...

    def drop_items(self, session_id: str | None, kind: str) -> None: ...
