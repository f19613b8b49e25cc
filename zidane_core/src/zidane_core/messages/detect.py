"""Telling the formats apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias

from zidane_core.records import SessionMessage

from ._plain import plain, plain_list
from .anthropic.reading import from_anthropic
from .openai_chat.reading import from_openai
from .openai_responses.reading import from_openai_responses

MessageFormat: TypeAlias = Literal["anthropic", "openai", "openai-responses"]

_OPENAI_ROLES = frozenset({"tool", "function", "developer"})
_OPENAI_KEYS = frozenset(["tool_calls", "function_call", "tool_call_id", "refusal", "audio", "reasoning_content"])
_CHAT_PARTS = frozenset({"image_url", "input_audio", "file", "refusal"})
_RESPONSES_PARTS = frozenset({"input_text", "output_text", "input_image", "input_file"})


def auto_detect_and_convert(message: object) -> SessionMessage:
    """The neutral form of one message of an unknown provider; Anthropic where nothing speaks for OpenAI.

    A Responses item is its own message.
    """
    match detect_format([message]):
        case "openai-responses":
            return from_openai_responses([message])[0]
        case "openai":
            return from_openai(message)
        case "anthropic":
            return from_anthropic(message)


def detect_format(messages: Iterable[object]) -> MessageFormat:
    """The format of a list of messages: the first one that only OpenAI's formats have decides, else Anthropic's."""
    found: set[MessageFormat] = {_format_of(plain(message)) for message in messages}
    return "openai-responses" if "openai-responses" in found else "openai" if "openai" in found else "anthropic"


def _format_of(raw: Mapping[str, Any]) -> MessageFormat:
    parts = {plain(part).get("type") for part in plain_list(raw.get("content"))}
    if parts & _RESPONSES_PARTS or _is_item(raw):
        return "openai-responses"
    if raw.get("role") in _OPENAI_ROLES or raw.keys() & _OPENAI_KEYS or parts & _CHAT_PARTS:
        return "openai"
    return "anthropic"


def _is_item(raw: Mapping[str, Any]) -> bool:
    """Responses items have a type; of the other formats only an Anthropic reply has one, and calls itself a message."""
    kind = raw.get("type")
    return isinstance(kind, str) and (kind != "message" or ("status" in raw and "model" not in raw))
