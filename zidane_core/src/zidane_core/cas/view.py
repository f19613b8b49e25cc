"""What one attempt has read of a group, and what it has yet to read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from .names import HEAD, Span


class Want(NamedTuple):
    """Entries to fetch: those of some keys, or all of a span."""

    keys: tuple[str, ...] = ()
    span: Span | None = None


class NotFetchedError(Exception):
    """A step needs entries that are not fetched yet. It runs again once they are."""

    def __init__(self, want: Want) -> None:
        super().__init__(want)
        self.want = want


class View:
    """The entries of one group that are fetched so far. The first one is its head, which tells the version.

    `also` is fetched right behind the head, for a step that is known to need it.
    """

    def __init__(self, *, now: int, also: Sequence[Want] = ()) -> None:
        self.now = now
        self.also = also
        self.fetches = 0
        self.session_id: str | None = None
        self._bound = False
        self._entries: dict[str, bytes | None] = {}
        self._spans: list[Span] = []
        self._asked: set[Span] = set()

    def bind(self, session_id: str | None) -> None:
        """Choose the group. A step stays with the first one, since no commit reaches two."""
        assert not self._bound or self.session_id == session_id, "a step is about one session"  # noqa: S101 -- of core
        self.session_id, self._bound = session_id, True

    # -- reading ------------------------------------------------------------------------------

    def head(self) -> bytes | None:
        return self.entry(HEAD)

    def entry(self, key: str, *, region: Span | None = None) -> bytes | None:
        """One entry, or None. A step that comes back for another entry of the region gets all of it fetched."""
        if not self._knows(key):
            raise NotFetchedError(self._widened(Want(keys=(key,)), region))
        return self._entries.get(key)

    def entries(self, keys: Iterable[str]) -> dict[str, bytes]:
        """Those of the keys that have an entry."""
        keys = tuple(keys)
        unknown = tuple(key for key in keys if not self._knows(key))
        if unknown:
            raise NotFetchedError(Want(keys=unknown))
        found = ((key, self._entries.get(key)) for key in keys)
        return {key: stored for key, stored in found if stored is not None}

    def span(self, span: Span, *, region: Span | None = None) -> dict[str, bytes]:
        """All entries of a span."""
        if not any(known.covers(span) for known in self._spans):
            raise NotFetchedError(self._widened(Want(span=span), region))
        return {key: stored for key, stored in self._entries.items() if key in span and stored is not None}

    def _knows(self, key: str) -> bool:
        return key in self._entries or any(key in span for span in self._spans)

    def _widened(self, want: Want, region: Span | None) -> Want:
        if region is None:
            return want
        if region in self._asked:
            return Want(span=region)
        self._asked.add(region)
        return want

    # -- fetching -----------------------------------------------------------------------------

    def take_keys(self, keys: Iterable[str], found: Mapping[str, bytes]) -> None:
        self.fetches += 1
        for key in keys:
            stored = found.get(key)
            self._entries[key] = None if stored is None else bytes(stored)

    def take_span(self, span: Span, found: Iterable[tuple[str, bytes]]) -> None:
        self.fetches += 1
        self._spans.append(span)
        self._entries.update((key, bytes(stored)) for key, stored in found if key in span)
