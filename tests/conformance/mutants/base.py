"""What broken stores are made of, and their register."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from msgspec.structs import replace

from tests.conformance.targets import damage_memory, memory_faults
from zidane_core.conformance import Target
from zidane_core.memory import MEMORY_CAPABILITIES, MemoryData, MemoryStore
from zidane_core.memory.data import MemoryTransaction
from zidane_core.records import SessionHeader
from zidane_core.store import Capabilities

SHARED = replace(MEMORY_CAPABILITIES, shared="process")
DURABLE = replace(MEMORY_CAPABILITIES, shared="process", durable="process")


class MutantStore(MemoryStore):
    """A memory store that subclasses break in one place. Those that declare to be shared have one world a class."""

    transaction: ClassVar[type[MemoryTransaction]] = MemoryTransaction
    declared: ClassVar[Capabilities] = MEMORY_CAPABILITIES
    world: ClassVar[MemoryData] = MemoryData()

    def __init_subclass__(cls) -> None:
        cls.world = MemoryData()

    def __init__(self) -> None:
        super().__init__(data=self.world if self.declared.shared != "instance" else None)

    @property
    def capabilities(self) -> Capabilities:
        return self.declared

    def _transaction(self) -> MemoryTransaction:
        return self.transaction(self._data, self._scope, self._clock)


@dataclass(frozen=True)
class Mutant:
    """A broken store, its defect in a sentence, and checks that have to fail on it."""

    name: str
    defect: str
    target: Target
    killed_by: tuple[str, ...]


MUTANTS: dict[str, Mutant] = {}


def add(name: str, defect: str, opener: Callable[[], Any], *killed_by: str, reference: str | None = None) -> None:
    target = Target(open=opener, reference=reference, shown=name, damage=damage_memory, faults=memory_faults)
    assert name not in MUTANTS
    MUTANTS[name] = Mutant(name, defect, target, killed_by)


def mutant(*killed_by: str) -> Callable[[type[Any]], type[Any]]:
    """Register the class below; its docstring is the defect."""

    def register(store: type[Any]) -> type[Any]:
        add(
            store.__name__,
            (store.__doc__ or "").strip(),
            store,
            *killed_by,
            reference=f"{store.__module__}:{store.__qualname__}",
        )
        return store

    return register


def broken_transaction(
    name: str, defect: str, *killed_by: str, declared: Capabilities | None = None, **methods: Any
) -> None:
    """Register a memory store whose transaction has these methods in place of its own."""
    transaction = type(f"{name}Transaction", (MemoryTransaction,), methods)
    fields: dict[str, Any] = {"transaction": transaction}
    if declared is not None:
        fields["declared"] = declared
    add(name, defect, type(name, (MutantStore,), fields), *killed_by)


def broken_method(name: str, defect: str, method: str, body: Any, *killed_by: str) -> None:
    """Register a memory store with this method in place of its own; `body(inner, self, *args, **kwargs)`."""
    inner = getattr(MutantStore, method)

    async def broken(self: Any, *args: Any, **kwargs: Any) -> Any:
        return await body(inner, self, *args, **kwargs)

    add(name, defect, type(name, (MutantStore,), {method: broken}), *killed_by)


def ghost(session_id: str) -> SessionHeader:
    """The creation that nobody asked for."""
    return SessionHeader(creation_id="ghost", created_at=0)
