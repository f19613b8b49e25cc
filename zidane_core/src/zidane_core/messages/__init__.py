"""Messages between providers and the store: conversion, pairing, the wire projection, healing.

    provider dicts ⇄ from_… / to_… ⇄ neutral messages ⇄ turns
    stored turns → to_wire_messages → to_…_messages → a request

Everything here is pure. Reading keeps what it does not understand; writing sends nothing that the target refuses.
"""

from __future__ import annotations

from .anthropic.reading import from_anthropic, from_anthropic_messages
from .anthropic.writing import to_anthropic, to_anthropic_messages
from .detect import auto_detect_and_convert
from .drop import LaneForRun, drop_invalid_tool_pairings
from .events import (
    ConversionDrop,
    ConversionDropKind,
    OnConversionDrop,
    OnPairingDrop,
    OnRepair,
    PairingDrop,
    PairingDropKind,
    PairingRepair,
    PairingRepairKind,
)
from .heal import close_interrupted_tool_calls, interrupted_tool_result_output
from .lanes import MAIN_LANE, lane_for_runs, resume_chain_run_ids, turns_of_lane
from .openai_chat.reading import from_openai, from_openai_messages
from .openai_chat.writing import to_openai, to_openai_messages
from .openai_responses.reading import from_openai_responses
from .openai_responses.writing import to_openai_responses
from .pairing import ReusedCallIds, ensure_tool_result_pairing
from .system import split_system
from .traits import ProviderTraits, known_providers, provider_traits, register_provider
from .turns import message_turn, turn_from_anthropic, turn_from_openai, turn_from_openai_responses, user_turn
from .wire import (
    DEFAULT_USER_TAIL_DIRECTIVE,
    ResolveContentRef,
    ensure_ends_with_user_message,
    to_wire_messages,
    to_wire_messages_sync,
)

__all__ = [
    "DEFAULT_USER_TAIL_DIRECTIVE",
    "MAIN_LANE",
    "ConversionDrop",
    "ConversionDropKind",
    "LaneForRun",
    "OnConversionDrop",
    "OnPairingDrop",
    "OnRepair",
    "PairingDrop",
    "PairingDropKind",
    "PairingRepair",
    "PairingRepairKind",
    "ProviderTraits",
    "ResolveContentRef",
    "ReusedCallIds",
    "auto_detect_and_convert",
    "close_interrupted_tool_calls",
    "drop_invalid_tool_pairings",
    "ensure_ends_with_user_message",
    "ensure_tool_result_pairing",
    "from_anthropic",
    "from_anthropic_messages",
    "from_openai",
    "from_openai_messages",
    "from_openai_responses",
    "interrupted_tool_result_output",
    "known_providers",
    "lane_for_runs",
    "message_turn",
    "provider_traits",
    "register_provider",
    "resume_chain_run_ids",
    "split_system",
    "to_anthropic",
    "to_anthropic_messages",
    "to_openai",
    "to_openai_messages",
    "to_openai_responses",
    "to_wire_messages",
    "to_wire_messages_sync",
    "turn_from_anthropic",
    "turn_from_openai",
    "turn_from_openai_responses",
    "turns_of_lane",
    "user_turn",
]
