"""The file map store keeps what it declares."""

from __future__ import annotations

from collections.abc import Mapping

from zidane_core import FileMapStore
from zidane_core.conformance import StoreConformance


class Shelf:
    """The host's own place for the map."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {"notes.md": "the host's own"}

    async def get(self) -> Mapping[str, str]:
        return dict(self.files)

    async def save(self, files: Mapping[str, str], /) -> None:
        self.files = dict(files)

    async def delete(self) -> None:
        self.files = {}


def on_a_shelf() -> FileMapStore:
    return FileMapStore(Shelf())


class TestFileMap(StoreConformance):
    target = on_a_shelf
