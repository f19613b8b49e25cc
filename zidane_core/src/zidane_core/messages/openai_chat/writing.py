"""Neutral messages into OpenAI Chat ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from zidane_core.messages._arguments import arguments_text
from zidane_core.messages._meta import message_meta, meta_of
from zidane_core.messages._outgoing import (
    EMPTY_MESSAGE,
    NO_OUTPUT,
    Outgoing,
    flattened,
    readable_text,
    without_lone_surrogates,
)
from zidane_core.messages._plain import Json, JsonDict
from zidane_core.messages.events import OnConversionDrop
from zidane_core.messages.traits import ProviderTraits
from zidane_core.records import SessionMessage, SessionTurn

from .parts import user_part
from .reading import PROVIDER, TOOL_ERROR_MARK

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionMessageParam

Block: TypeAlias = Mapping[str, Any]


def to_openai(
    message: SessionMessage | SessionTurn,
    *,
    model: str | None = None,
    provider: str | ProviderTraits = PROVIDER,
    on_drop: OnConversionDrop | None = None,
) -> ChatCompletionMessageParam:
    """One neutral message as a Chat message: the first, where it takes several. See `to_openai_messages`."""
    out = Outgoing(provider, model, on_drop)
    written = without_lone_surrogates([message], lambda: _message(message, out) or [_empty(message.role)])
    return cast("ChatCompletionMessageParam", written[0])


def to_openai_messages(
    messages: Sequence[SessionMessage | SessionTurn],
    *,
    model: str | None = None,
    provider: str | ProviderTraits = PROVIDER,
    on_drop: OnConversionDrop | None = None,
) -> list[ChatCompletionMessageParam]:
    """Paired messages (`to_wire_messages`) as the `messages` of a Chat request to `model` of `provider`.

    A tool result is one tool message of text. Its images and documents follow, with those of the whole batch, in one
    user message behind the batch; an error is marked in the text, and reading it gives the flag back. Reasoning goes to
    providers that want it echoed only. Never mutates.
    """
    out = Outgoing(provider, model, on_drop)
    return cast("list[ChatCompletionMessageParam]", without_lone_surrogates(messages, lambda: _written(messages, out)))


def _written(messages: Sequence[SessionMessage | SessionTurn], out: Outgoing) -> list[Json]:
    written: list[Json] = []
    for index, message in enumerate(messages):
        out.index = index
        if message.role == "command":
            continue
        raws = _message(message, out)
        if not raws and index == len(messages) - 1 and message.role == "user":
            raws = [_empty("user")]
        if raws and written and raws[0]["role"] == "assistant" and _waits(written[-1]):
            _merge_into(written[-1], raws[0])
        else:
            written += raws
    return written


def _waits(raw: JsonDict) -> bool:
    """Whether nothing but tool messages may follow: the calls of a run of assistant messages are one batch here."""
    return raw["role"] == "assistant" and "tool_calls" in raw


def _merge_into(earlier: JsonDict, later: JsonDict) -> None:
    if later.get("content"):
        earlier["content"] = _text_parts(earlier.get("content")) + _text_parts(later["content"])
    if "tool_calls" in later:
        earlier["tool_calls"] = [*earlier["tool_calls"], *later["tool_calls"]]


def _text_parts(content: Any) -> list[JsonDict]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return list(content or ())


def _empty(role: str) -> JsonDict:
    return {"role": role, "content": EMPTY_MESSAGE}


def _message(message: SessionMessage | SessionTurn, out: Outgoing) -> list[JsonDict]:
    if message.role == "assistant":
        raws = _assistant(message, out)
    elif message.role == "user":
        raws = _user(message, out)
    else:
        raws = _system(message, out)
    if message.extra and raws:
        meta = message_meta(message, PROVIDER)
        raws[-1] = {**{key: value for key, value in meta.items() if key not in _REPLY_ONLY}, **raws[-1]}
        if "role" in meta and message.role == "system":
            raws[-1]["role"] = meta["role"]
    return raws


_REPLY_ONLY = frozenset({"annotations", "role"})
"""What a reply says about its message, and the API does not take back."""


def _system(message: SessionMessage | SessionTurn, out: Outgoing) -> list[JsonDict]:
    parts = [part for block in message.content if (part := _text_part(block, out)) is not None]
    return [{"role": "system", "content": _content(parts)}] if parts else []


def _user(message: SessionMessage | SessionTurn, out: Outgoing) -> list[JsonDict]:
    """The tool messages of the batch, then one user message of what they could not hold and the rest."""
    tools: list[JsonDict] = []
    moved: list[JsonDict] = []
    parts: list[JsonDict] = []
    for block in flattened(message.content):
        if block.get("type") == "tool_result":
            tools.append(_tool(block, out, moved))
        else:
            part = user_part(block, out)
            if part is not None:
                parts.append(part)
    parts = [*moved, *parts]
    if parts:
        return [*tools, {"role": "user", "content": _content(parts)}]
    if tools or all(block.get("type") in ("opaque", "thinking") for block in message.content):
        return tools
    return [_empty("user")]


def _tool(block: Block, out: Outgoing, moved: list[JsonDict]) -> JsonDict:
    output = block["output"]
    if isinstance(output, str):
        content: Any = output
        if block.get("isError"):
            content = f"{TOOL_ERROR_MARK}\n{output}"
    else:
        content = _tool_parts(block, out, moved) or NO_OUTPUT
    raw = {"role": "tool", "tool_call_id": out.call_id(block["callId"]), "content": content}
    return {**meta_of(block, PROVIDER), **raw} if "providerMeta" in block else raw


def _tool_parts(block: Block, out: Outgoing, moved: list[JsonDict]) -> list[JsonDict]:
    parts: list[JsonDict] = []
    if block.get("isError"):
        parts.append({"type": "text", "text": TOOL_ERROR_MARK})
    media: list[JsonDict] = []
    for inner in flattened(block["output"]):
        part = user_part(inner, out)
        if part is not None:
            (parts if part["type"] == "text" else media).append(part)
    if media:
        name = f"Content returned by tool call {out.call_id(block['callId'])}:"
        moved += [{"type": "text", "text": name}, *media]
        if not parts:
            parts.append({"type": "text", "text": "The content that this tool returned follows."})
    return parts


def _assistant(message: SessionMessage | SessionTurn, out: Outgoing) -> list[JsonDict]:
    raw: JsonDict = {"role": "assistant"}
    parts: list[JsonDict] = []
    calls: list[JsonDict] = []
    for block in cast("Sequence[Block]", message.content):
        kind = block.get("type")
        if kind == "tool_call":
            calls.append(_call(block, out))
        elif kind == "thinking":
            _add_reasoning(raw, block, out)
        elif kind == "audio" and block["source"]["kind"] == "providerAudio":
            raw["audio"] = {"id": block["source"]["id"]}
        else:
            part = _assistant_part(block, out)
            if part is not None:
                parts.append(part)
    _set_content(raw, parts)
    if calls:
        raw["tool_calls"] = calls
    return [raw] if raw.keys() & {"content", "tool_calls", "audio", "refusal"} else []


def _set_content(raw: JsonDict, parts: list[JsonDict]) -> None:
    if len(parts) == 1 and parts[0].keys() == {"type", "refusal"}:
        raw["refusal"] = parts[0]["refusal"]
    elif parts:
        raw["content"] = _content(parts)


def _add_reasoning(raw: JsonDict, block: Block, out: Outgoing) -> None:
    if out.traits.echo_reasoning and block["text"] and block.get("provider") == out.traits.name:
        raw["reasoning_content"] = raw.get("reasoning_content", "") + block["text"]
    else:
        out.drop("foreign-thinking", block)


def _call(block: Block, out: Outgoing) -> JsonDict:
    name = out.tool_name(block["name"])
    meta = meta_of(block, PROVIDER)
    kind = "custom" if block.get("callKind") == "custom" else "function"
    if kind == "custom":
        inner = {"name": name, "input": arguments_text(block)}
    else:
        inner = {"name": name, "arguments": arguments_text(block)}
    raw = {"id": out.call_id(block["id"]), "type": kind, kind: inner}
    if meta:
        raw = {**meta, **raw, kind: {**meta.get(kind, {}), **inner}}
    return raw


def _assistant_part(block: Block, out: Outgoing) -> JsonDict | None:
    if block.get("type") == "refusal":
        raw = {"type": "refusal", "refusal": block["refusal"]}
        return {**meta_of(block, PROVIDER), **raw} if "providerMeta" in block else raw
    return _text_part(block, out)


def _text_part(block: Block, out: Outgoing) -> JsonDict | None:
    if block.get("type") != "text":
        return _verbatim(block, out)
    if readable_text(block) is None:
        return None
    raw = {"type": "text", "text": block["text"]}
    return {**meta_of(block, PROVIDER), **raw} if "providerMeta" in block else raw


def _verbatim(block: Block, out: Outgoing) -> JsonDict | None:
    if block.get("type") == "opaque" and block.get("provider") == PROVIDER:
        return dict(block["raw"])
    out.drop("foreign-block" if block.get("type") == "opaque" else "unsupported-block", block)
    return None


def _content(parts: list[JsonDict]) -> Any:
    """A single plain text is sent as a string."""
    return parts[0]["text"] if len(parts) == 1 and parts[0].keys() == {"type", "text"} else parts
