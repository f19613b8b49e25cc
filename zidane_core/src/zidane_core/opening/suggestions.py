"""Did you mean: the known name that a mistyped one is closest to."""

from __future__ import annotations

from collections.abc import Iterable


def closest(name: str, known: Iterable[str]) -> str | None:
    from difflib import get_close_matches  # only errors need it

    return next(iter(get_close_matches(name, list(known), n=1, cutoff=0.6)), None)
