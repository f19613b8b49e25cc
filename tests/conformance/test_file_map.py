"""The file map store keeps what it declares."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from zidane_core import FileMapStore
from zidane_core.conformance import Check, StoreConformance, all_checks


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


MAKE_SEVERAL_SESSIONS = {
    "cancel.queued",
    "cancel.then-repeat",
    "cancel.writes",
    "claim.ended",
    "claim.one-winner",
    "claim.protects-the-run",
    "claim.zombie",
    "create.concurrent-others",
    "create.refused-creates-nothing",
    "guard.expected-rev-everywhere",
    "guard.fence-everywhere",
    "guard.fence-without-claim",
    "operation.other-payload",
    "operation.repeated",
    "operation.repeated-later",
    "rev.moves",
    "rev.touches",
}
"""Checks that make a second session, which a single-session store has to refuse, without saying so."""


class TestFileMap(StoreConformance):
    target = on_a_shelf

    @pytest.mark.parametrize(
        "check", [check for check in all_checks() if check.id not in MAKE_SEVERAL_SESSIONS], ids=lambda check: check.id
    )
    def test_check(self, check: Check) -> None:
        super().test_check(check)
