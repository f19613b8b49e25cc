"""What the repairs and converters tell their caller: one small record for each thing they changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

PairingRepairKind: TypeAlias = Literal[
    "missing-result",
    "unanswered-call",
    "foreign-result",
    "duplicate-call",
    "reused-call-id",
    "duplicate-result",
    "leading-result",
    "omitted-message",
]


class PairingRepair(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that `ensure_tool_result_pairing` changed on the wire."""

    mode: int
    """1 to 6 as the module lists them; 0 for a message left out because nothing sendable is in it."""
    kind: PairingRepairKind
    index: int
    """Into the messages handed in: the message whose block is concerned."""
    call_id: str | None = None


PairingDropKind: TypeAlias = Literal["duplicate-tool-call", "duplicate-tool-result", "orphan-tool-result", "empty-turn"]


class PairingDrop(msgspec.Struct, frozen=True, kw_only=True):
    """One deletion of `drop_invalid_tool_pairings`."""

    kind: PairingDropKind
    index: int
    """Into the turns handed in."""
    call_id: str | None = None
    """Absent for an emptied turn."""


ConversionDropKind: TypeAlias = Literal[
    "unsupported-block", "foreign-block", "foreign-thinking", "unsigned-thinking", "misplaced-block", "unpaired-block"
]


class ConversionDrop(msgspec.Struct, frozen=True, kw_only=True):
    """A block that a target format cannot carry, left out of what is sent."""

    kind: ConversionDropKind
    index: int
    """Into the messages handed in."""
    block_type: str


OnRepair: TypeAlias = Callable[[PairingRepair], None]
OnPairingDrop: TypeAlias = Callable[[PairingDrop], None]
OnConversionDrop: TypeAlias = Callable[[ConversionDrop], None]
