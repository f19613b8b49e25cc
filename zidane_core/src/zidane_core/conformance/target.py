"""What the kit checks: how its stores are opened, here and in other processes."""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, cast

from zidane_core.store import SessionStore

Opener: TypeAlias = "Callable[[], AbstractAsyncContextManager[SessionStore]]"


class Fault(Protocol):
    """One failure to come. `fired` tells afterwards whether there was an operation to fail."""

    fired: bool


DamageHook: TypeAlias = "Callable[[SessionStore, str, str, str], Awaitable[None]]"
"""`damage(store, session_id, what, key)`: change stored bytes of the turn at position `key` (`what="turn"`), of the run
with the id `key` ("run") or of the metadata ("metadata", ""), without telling the store."""

FaultHook: TypeAlias = "Callable[[SessionStore, int], AbstractContextManager[Fault]]"
"""`faults(store, n)`: while entered, the n-th operation (from 1) that the store asks of its backend fails."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """`open` makes a store that is not open yet; stores of one target see the same data where they say so."""

    open: Opener
    reference: str | None = None
    """What another process opens: a URL, or `module:attribute`. None: only this process can open it."""
    shown: str = ""
    """How reports name it, without secrets."""
    damage: DamageHook | None = None
    faults: FaultHook | None = None


def resolve(given: str | Opener | Target) -> Target:
    """The target that a URL, `"module:attribute"`, an opener or a target stands for.

    Raises:
        LookupError: the module or the attribute is not there.
        StoreURLError: the URL cannot be used.
    """
    if isinstance(given, Target):
        return given
    if not isinstance(given, str):
        return Target(open=given, shown=getattr(given, "__qualname__", repr(given)))
    if "://" in given:
        return _from_url(given)
    return _from_reference(given)


def _from_url(url: str) -> Target:
    from zidane_core.opening import StoreURL, open_store

    return Target(open=lambda: open_store(url), reference=url, shown=str(StoreURL(url)))


def _from_reference(reference: str) -> Target:
    module, _, attribute = reference.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for name in (attribute or "target").split("."):
            found = getattr(found, name)
    except (ImportError, AttributeError) as error:
        raise LookupError(f"{reference!r} is no target: {error}") from error
    if isinstance(found, str):
        return resolve(found)
    if isinstance(found, Target):
        return Target(open=found.open, reference=reference, shown=reference, damage=found.damage, faults=found.faults)
    if not callable(found):
        raise LookupError(f"{reference!r} is a {type(found).__name__}, not a target, a URL or a function that opens")  # noqa: TRY004 -- it is about what the name leads to
    return Target(open=cast("Opener", found), reference=reference, shown=reference)
