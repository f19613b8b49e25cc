"""A check: one rule of the contract as data."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from zidane_core.store import CAPABILITIES

if TYPE_CHECKING:
    from .kit import Kit

Level: TypeAlias = Literal["MUST", "SHOULD"]
CheckFunction: TypeAlias = "Callable[[Kit], Awaitable[None]]"

CORE = "core"
"""The capability of checks that every store has to pass."""

LAYERS = {
    "examples": "one handle, one task",
    "aliasing": "what callers and readers do to their objects afterwards",
    "tasks": "many tasks on one handle",
    "cancellation": "cancelled at every suspension point, twice",
    "model": "random walks beside the memory store",
    "instances": "several handles on the same data",
    "reopen": "closed and opened again",
    "processes": "several processes on the same data",
    "crash": "SIGKILL, and opened again",
    "faults": "the backend fails at every point in turn",
    "damage": "records changed behind the store's back",
}


@dataclass(frozen=True, kw_only=True)
class Check:
    """One rule. `id` is public: a check that comes to demand something else gets a new one."""

    id: str
    doc: str
    """The rule, in a sentence."""
    fn: CheckFunction
    capability: str = CORE
    also: tuple[str, ...] = ()
    """Further capabilities that it needs: where one is undeclared there is nothing to check."""
    layer: str = "examples"
    level: Level = "MUST"
    since: str = "1.0"
    sessions: int = 1
    """How many sessions it needs at a time."""

    def __post_init__(self) -> None:
        if self.layer not in LAYERS or not {self.capability, *self.also} <= {CORE, *CAPABILITIES}:
            raise ValueError(f"check {self.id!r} has an unknown layer or capability")


class Collector:
    """Gathers a module's checks: `check = Collector()`, then `@check("append.order")` above each."""

    def __init__(self, capability: str = CORE, *, layer: str = "examples") -> None:
        self.checks: list[Check] = []
        self._capability, self._layer = capability, layer

    def __call__(
        self,
        id: str,  # noqa: A002 -- it is the field's name
        *,
        capability: str | None = None,
        also: tuple[str, ...] = (),
        layer: str | None = None,
        level: Level = "MUST",
        since: str = "1.0",
        sessions: int = 1,
    ) -> Callable[[CheckFunction], CheckFunction]:
        def register(fn: CheckFunction) -> CheckFunction:
            self.checks.append(
                Check(
                    id=id,
                    doc=" ".join((fn.__doc__ or "").split()),
                    fn=fn,
                    capability=capability or self._capability,
                    also=also,
                    layer=layer or self._layer,
                    level=level,
                    since=since,
                    sessions=sessions,
                )
            )
            return fn

        return register
