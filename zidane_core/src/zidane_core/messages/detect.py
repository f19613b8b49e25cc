"""Telling the formats apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zidane_core.records import SessionMessage

from ._plain import plain, plain_list
from .anthropic.reading import from_anthropic
from .openai_chat.reading import from_openai
from .openai_responses.reading import from_openai_responses

_OPENAI_ROLES = frozenset({"tool", "function", "developer"})
_OPENAI_KEYS = frozenset(["tool_calls", "function_call", "tool_call_id", "refusal", "audio", "reasoning_content"])
_CHAT_PARTS = frozenset({"image_url", "input_audio", "file", "refusal"})
_RESPONSES_PARTS = frozenset({"input_text", "output_text", "input_image", "input_file"})


def auto_detect_and_convert(message: object) -> SessionMessage:
    """The neutral form of one message of an unknown provider; Anthropic where nothing speaks for OpenAI.

    A Responses item is its own message.
    """
    raw = plain(message)
    parts = {plain(part).get("type") for part in plain_list(raw.get("content"))}
    if parts & _RESPONSES_PARTS or _is_item(raw):
        return from_openai_responses([raw])[0]
    if raw.get("role") in _OPENAI_ROLES or raw.keys() & _OPENAI_KEYS or parts & _CHAT_PARTS:
        return from_openai(raw)
    return from_anthropic(raw)


def _is_item(raw: Mapping[str, Any]) -> bool:
    """Responses items have a type; of the other formats only an Anthropic reply has one, and calls itself a message."""
    kind = raw.get("type")
    return isinstance(kind, str) and (kind != "message" or ("status" in raw and "model" not in raw))
