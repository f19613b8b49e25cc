"""Stores that do not do what they declare, or declare what they do not, and stores that are none."""

from __future__ import annotations

from typing import Any, Self

from msgspec.structs import replace

from tests.conformance.mutants.base import MutantStore, add, mutant
from zidane_core.errors import (
    UnsupportedError,
)
from zidane_core.memory import MEMORY_CAPABILITIES, MemoryStore
from zidane_core.store import Capabilities

# -- declared and not done, done and not declared ---------------------------------------------

CAPABILITIES = [name for name in Capabilities.__struct_fields__ if getattr(MEMORY_CAPABILITIES, name) is True]


class UncheckedStore(MutantStore):
    """Does what it is asked, declared or not."""

    def _require(self, capability: str, what: str) -> None:
        return


for _name in CAPABILITIES:
    _declared = replace(MEMORY_CAPABILITIES, **{_name: False})
    _id = f"capability.{_name.replace('_', '-')}"
    add(
        f"{_name} undeclared",
        f"{_name} is not declared, and works all the same",
        type(f"Undeclared{_name}", (UncheckedStore,), {"declared": _declared}),
        _id,
    )
    _lying = type(f"Lacking{_name}", (MutantStore,), {"declared": _declared})

    def _opener(lying: Any = _lying) -> Any:
        class Claiming(lying):  # type: ignore[misc]
            @property
            def capabilities(self) -> Capabilities:
                return MEMORY_CAPABILITIES

            def _require(self, capability: str, what: str) -> None:
                if not getattr(lying.declared, capability):
                    raise UnsupportedError("mutant", capability, what)

        return Claiming()

    add(f"{_name} declared only", f"{_name} is declared, and refused", _opener, _id)


@mutant("capability.declared-data")
class CapabilitiesAsDict(MutantStore):
    """The capabilities change with what the store holds."""

    @property
    def capabilities(self) -> Capabilities:
        return replace(MEMORY_CAPABILITIES, max_batch_turns=1000 + len(self._data.scopes[""].sessions))


@mutant("capability.max-sessions")
class FullOverwrites(MutantStore):
    """A store for one session makes room by removing the one that it has."""

    declared = replace(MEMORY_CAPABILITIES, max_sessions=1)

    async def append_turns(self, session_id: str, turns: Any, *, create: Any = None, **kwargs: Any) -> Any:
        for other in list(self._data.scopes[self._scope].sessions):
            if create is not None and other != session_id:
                await self.delete(other)
        return await super().append_turns(session_id, turns, create=create, **kwargs)


# -- no stores at all -------------------------------------------------------------------------


class EmptyStore:
    """Opens and closes, and has nothing else but a claim to be conformant."""

    capabilities = Capabilities()
    scope = ""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return


class SkipAll(EmptyStore):
    """Has every method, and each raises NotImplementedError or UnsupportedError: nothing can be checked."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)

        async def unsupported(*_: object, **__: object) -> None:
            raise UnsupportedError("mutant", "everything", name)

        return unsupported


class Forwarding:
    """Forwards every name to another store, and so declares what that one only pretends to have."""

    def __init__(self) -> None:
        class Limited(MemoryStore):
            @property
            def capabilities(self) -> Capabilities:
                return Capabilities()

        self.inner = Limited()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    @property
    def capabilities(self) -> Capabilities:
        return MEMORY_CAPABILITIES

    async def __aenter__(self) -> Self:
        await self.inner.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.inner.aclose()


add("EmptyStore", EmptyStore.__doc__ or "", EmptyStore, "capability.protocol", "append.order", "load.whole")
add("SkipAll", SkipAll.__doc__ or "", SkipAll, "append.order", "load.whole", "turns.window")
add(
    "Forwarding",
    Forwarding.__doc__ or "",
    Forwarding,
    *(f"capability.{name.replace('_', '-')}" for name in CAPABILITIES),
)
