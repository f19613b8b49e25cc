"""Read-only views of what a session holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar, overload

T_co = TypeVar("T_co", covariant=True)


class SequenceView(Sequence[T_co]):
    """A list seen from outside: it shows what is added later, and cannot be written to."""

    __slots__ = ("_items",)

    def __init__(self, items: Sequence[T_co]) -> None:
        self._items = items

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, index: int) -> T_co: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T_co]: ...
    def __getitem__(self, index: int | slice) -> T_co | Sequence[T_co]:
        return self._items[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)  # pyright: ignore[reportUnknownArgumentType] -- any sequence will do

    __hash__ = None  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType] -- like the list it shows

    def __repr__(self) -> str:
        return repr(list(self._items))
