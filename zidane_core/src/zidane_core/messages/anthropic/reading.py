"""Anthropic messages into neutral ones. Total: what is not understood is kept verbatim as an opaque block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from zidane_core.messages._arguments import read_arguments
from zidane_core.messages._meta import keep_rest, message_extra
from zidane_core.messages._plain import Json, JsonDict, plain, plain_parts, plain_tree
from zidane_core.records import SessionMessage

PROVIDER = "anthropic"

_ROLES = frozenset({"user", "assistant", "system"})
_MESSAGE_KEYS = frozenset({"role", "content"})
_REPLY_KEYS = frozenset(
    {
        "id",
        "type",
        "model",
        "stop_reason",
        "stop_sequence",
        "stop_details",
        "usage",
        "container",
        "context_management",
        "diagnostics",
    }
)
"""What a reply carries around its message. It is not sent back."""


def from_anthropic(message: object, *, model: str | None = None) -> SessionMessage:
    """The neutral form of one Anthropic message or reply. `model` is who made its thinking, where the message is mute.

    Keys and blocks without a neutral meaning survive, and go back to Anthropic only.
    """
    raw = plain(message)
    made_by = raw.get("model") or model
    role = raw.get("role")
    return SessionMessage(
        role=role if role in _ROLES else "user",
        content=[_read(block, made_by) for block in plain_parts(raw.get("content"))],
        extra=message_extra(raw, _MESSAGE_KEYS | _REPLY_KEYS, PROVIDER) if len(raw) > 2 else {},
    )


def from_anthropic_messages(
    messages: Iterable[object], *, system: object = None, model: str | None = None
) -> list[SessionMessage]:
    """The neutral form of a `messages` list; `system` is the request's argument, and becomes a leading message."""
    read = [from_anthropic(message, model=model) for message in messages]
    if system:
        read.insert(0, from_anthropic({"role": "system", "content": system}))
    return read


def _read(raw: Mapping[str, Any], model: str | None) -> Json:
    reader = _READERS.get(raw.get("type", ""))
    if reader is not None:
        try:
            block = reader(raw, model)
        except (KeyError, TypeError, ValueError, AttributeError):
            block = None  # not as the API has it: kept as it came
        if block is not None:
            return block
    return {"type": "opaque", "provider": PROVIDER, "raw": plain_tree(raw)}


def _with_rest(block: JsonDict, raw: Mapping[str, Any], known: frozenset[str]) -> JsonDict:
    if "cache_control" in raw:
        block["cacheControl"] = raw["cache_control"]
    return keep_rest(block, raw, known, PROVIDER)


_TEXT = frozenset({"type", "text", "citations", "cache_control"})


def _text(raw: Mapping[str, Any], _model: str | None) -> JsonDict:
    block = {"type": "text", "text": raw["text"] + ""}
    if "citations" in raw:
        block["citations"] = plain_tree(raw["citations"])
    return _with_rest(block, raw, _TEXT)


_TOOL_USE = frozenset({"type", "id", "name", "input", "cache_control"})


def _tool_use(raw: Mapping[str, Any], _model: str | None) -> JsonDict:
    block: JsonDict = {"type": "tool_call", "id": raw["id"] + "", "name": raw["name"] + ""}
    return _with_rest(read_arguments(block, raw.get("input")), raw, _TOOL_USE)


_TOOL_RESULT = frozenset({"type", "tool_use_id", "content", "is_error", "cache_control"})


def _tool_result(raw: Mapping[str, Any], model: str | None) -> JsonDict:
    content = raw.get("content")
    output = content if isinstance(content, str) else [_read(part, model) for part in plain_parts(content)]
    block = {"type": "tool_result", "callId": raw["tool_use_id"] + "", "output": output}
    if "is_error" in raw:
        block["isError"] = bool(raw["is_error"])
    return _with_rest(block, raw, _TOOL_RESULT)


_THINKING = frozenset({"type", "thinking", "signature"})


def _thinking(raw: Mapping[str, Any], model: str | None) -> JsonDict:
    block = {"type": "thinking", "text": raw["thinking"] + "", "provider": PROVIDER}
    if "signature" in raw:
        block["signature"] = raw["signature"]
    if model:
        block["model"] = model
    return keep_rest(block, raw, _THINKING, PROVIDER)


_REDACTED = frozenset({"type", "data"})


def _redacted_thinking(raw: Mapping[str, Any], model: str | None) -> JsonDict:
    block = {"type": "thinking", "text": "", "redacted": True, "data": raw["data"] + "", "provider": PROVIDER}
    if model:
        block["model"] = model
    return keep_rest(block, raw, _REDACTED, PROVIDER)


_IMAGE = frozenset({"type", "source", "cache_control"})


def _image(raw: Mapping[str, Any], model: str | None) -> JsonDict | None:
    source = _source(plain(raw["source"]), model)
    return None if source is None else _with_rest({"type": "image", "source": source}, raw, _IMAGE)


_DOCUMENT = frozenset({"type", "source", "title", "context", "citations", "cache_control"})


def _document(raw: Mapping[str, Any], model: str | None) -> JsonDict | None:
    source = _source(plain(raw["source"]), model)
    if source is None:
        return None
    block: JsonDict = {"type": "document", "source": source}
    for key, neutral in (("title", "title"), ("context", "context"), ("citations", "citationsConfig")):
        if key in raw:
            block[neutral] = plain_tree(raw[key])
    return _with_rest(block, raw, _DOCUMENT)


def _source(raw: Mapping[str, Any], model: str | None) -> JsonDict | None:
    """The neutral source; `None` for a shape that it would not give back exactly."""
    keys = raw.keys() - {"type"}
    match raw.get("type"):
        case "base64" if keys == {"media_type", "data"}:
            return {"kind": "base64", "mediaType": raw["media_type"], "data": raw["data"]}
        case "url" if keys == {"url"}:
            return {"kind": "url", "url": raw["url"]}
        case "file" if keys == {"file_id"}:
            return {"kind": "file", "fileId": raw["file_id"], "provider": PROVIDER}
        case "text" if keys == {"media_type", "data"} and raw["media_type"] == "text/plain":
            return {"kind": "text", "data": raw["data"]}
        case "content" if keys == {"content"}:
            return {"kind": "blocks", "content": [_read(block, model) for block in plain_parts(raw["content"])]}
        case _:
            return None


_READERS: dict[str, Callable[[Mapping[str, Any], str | None], JsonDict | None]] = {
    "text": _text,
    "tool_use": _tool_use,
    "tool_result": _tool_result,
    "thinking": _thinking,
    "redacted_thinking": _redacted_thinking,
    "image": _image,
    "document": _document,
}
