"""Neutral messages into Anthropic ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from zidane_core.messages._meta import message_meta, meta_of
from zidane_core.messages._outgoing import EMPTY_MESSAGE, Outgoing, decoded_text, readable_text, without_lone_surrogates
from zidane_core.messages._plain import Json, JsonDict
from zidane_core.messages.events import OnConversionDrop
from zidane_core.messages.traits import ProviderTraits, takes_system
from zidane_core.records import SessionMessage, SessionTurn

from .reading import PROVIDER
from .server_tools import only_thinking, without_unpaired

if TYPE_CHECKING:
    from anthropic.types import MessageParam

Block: TypeAlias = Mapping[str, Any]


def to_anthropic(
    message: SessionMessage | SessionTurn,
    *,
    model: str | None = None,
    provider: str | ProviderTraits = PROVIDER,
    on_drop: OnConversionDrop | None = None,
) -> MessageParam:
    """One neutral message as an Anthropic message. For a history use `to_anthropic_messages`: it sees the end."""
    out = Outgoing(provider, model, on_drop)
    written = without_lone_surrogates([message], lambda: [_message(message, out) or _empty(message)])
    return cast("MessageParam", written[0])


def to_anthropic_messages(
    messages: Sequence[SessionMessage | SessionTurn],
    *,
    model: str | None = None,
    provider: str | ProviderTraits = PROVIDER,
    on_drop: OnConversionDrop | None = None,
) -> list[MessageParam]:
    """Paired messages (`to_wire_messages`) as the `messages` of an Anthropic request to `model`.

    Thinking of other providers and models, unsigned thinking and other providers' blocks are left out, and reported.
    Ids and names that Anthropic refuses are rewritten, alike in call and result. Where the system may not speak within
    the list, its text becomes a user message in place; for leading system messages see `split_system`. Never mutates.
    """
    out = Outgoing(provider, model, on_drop)
    return cast("list[MessageParam]", without_lone_surrogates(messages, lambda: _written(messages, out)))


def _written(messages: Sequence[SessionMessage | SessionTurn], out: Outgoing) -> list[Json]:
    written: list[Json] = []
    for index, message in enumerate(messages):
        out.index = index
        if message.role == "command":
            continue
        raw = _message(message, out)
        if raw is None and index == len(messages) - 1 and message.role == "user":
            raw = _empty(message)
        if raw is not None:
            written.append(raw)
    written = without_unpaired(written, out)
    written = _with_placed_system(written, takes=takes_system(out.traits, out.model))
    _trim_tail(written)
    return written


def _empty(message: SessionMessage | SessionTurn) -> JsonDict:
    return {"role": message.role, "content": [{"type": "text", "text": EMPTY_MESSAGE}]}


def _message(message: SessionMessage | SessionTurn, out: Outgoing) -> JsonDict | None:
    """The message; `None` where nothing of it can be sent."""
    role = message.role
    if role == "user":
        content = _user_content(message.content, out)
    else:
        content = [raw for block in message.content if (raw := _block(cast("Block", block), out, role)) is not None]
    if role == "assistant" and content and only_thinking(content):
        return None
    if not content:
        if role != "user" or all(block.get("type") in ("opaque", "thinking") for block in message.content):
            return None
        content = [{"type": "text", "text": EMPTY_MESSAGE}]
    raw = {"role": role, "content": content}
    if message.extra:
        raw = {**message_meta(message, PROVIDER), **raw}
    return raw


def _user_content(blocks: Sequence[Any], out: Outgoing) -> list[JsonDict]:
    """Results first, as the API demands; then the images that an error may not hold; then the rest."""
    results: list[JsonDict] = []
    moved: list[JsonDict] = []
    rest: list[JsonDict] = []
    for block in blocks:
        if block.get("type") == "tool_result":
            results.append(_tool_result(block, out, moved))
        else:
            raw = _block(block, out, "user")
            if raw is not None:
                rest.append(raw)
    return [*results, *moved, *rest] if results else rest


def _block(block: Block, out: Outgoing, role: str) -> JsonDict | None:
    kind = block.get("type")
    if kind == "text":
        text = block["text"]
        if not text or text.isspace():
            return None
        raw = {"type": "text", "text": text}
        if len(block) == 2:
            return raw
        if "citations" in block:
            raw["citations"] = block["citations"]
        return _with_rest(raw, block)
    writer = _WRITERS[role].get(cast("str", kind))
    if writer is None:
        out.drop("misplaced-block" if kind in _KNOWN else "unsupported-block", block)
        return None
    return writer(block, out)


def _with_rest(raw: JsonDict, block: Block) -> JsonDict:
    if "cacheControl" in block:
        raw["cache_control"] = block["cacheControl"]
    if "providerMeta" in block:
        raw = {**meta_of(block, PROVIDER), **raw}
    return raw


def _tool_use(block: Block, out: Outgoing) -> JsonDict:
    arguments = block["input"]
    if "rawInput" in block:  # Anthropic takes objects only
        arguments = {"input": block["rawInput"]}
    raw = {
        "type": "tool_use",
        "id": out.call_id(block["id"]),
        "name": out.tool_name(block["name"]),
        "input": arguments,
    }
    return _with_rest(raw, block)


def _tool_result(block: Block, out: Outgoing, moved: list[JsonDict]) -> JsonDict:
    raw: JsonDict = {"type": "tool_result", "tool_use_id": out.call_id(block["callId"])}
    output = block["output"]
    if isinstance(output, str):
        if output and not output.isspace():
            raw["content"] = output
    elif content := _result_content(output, out, moved, is_error=block.get("isError", False)):
        raw["content"] = content
    if "isError" in block:
        raw["is_error"] = block["isError"]
    return _with_rest(raw, block)


def _result_content(output: Sequence[Any], out: Outgoing, moved: list[JsonDict], *, is_error: bool) -> list[JsonDict]:
    content: list[JsonDict] = []
    for block in output:
        raw = _block(block, out, "user")
        if raw is None:
            continue
        if block["type"] not in out.traits.result_types or (is_error and block["type"] != "text"):
            moved.append(raw)
        else:
            content.append(raw)
    return content


def _thinking(block: Block, out: Outgoing) -> JsonDict | None:
    if not out.may_think(block, PROVIDER):
        return None
    if block.get("redacted"):
        raw = {"type": "redacted_thinking", "data": block.get("data", "")}
    elif block.get("signature"):
        raw = {"type": "thinking", "thinking": block["text"], "signature": block["signature"]}
    else:
        out.drop("unsigned-thinking", block)
        return None
    return {**meta_of(block, PROVIDER), **raw} if "providerMeta" in block else raw


def _refusal(block: Block, out: Outgoing) -> JsonDict | None:
    text = readable_text({"text": block["refusal"]})
    return None if text is None else {"type": "text", "text": text}


def _opaque(block: Block, out: Outgoing) -> JsonDict | None:
    raw = block.get("raw")
    if block.get("provider") == PROVIDER and isinstance(raw, Mapping):
        out.has_server_tools = True
        return dict(cast("Block", raw))
    out.drop("foreign-block", block)
    return None


def _image(block: Block, out: Outgoing) -> JsonDict | None:
    source = block["source"]
    if source["kind"] == "base64" and source.get("mediaType") not in out.traits.image_types:
        out.drop("unsupported-block", block)
        return None
    return _sourced("image", _plain_source(source), block, out)


def _document(block: Block, out: Outgoing) -> JsonDict | None:
    raw = _sourced("document", _document_source(block["source"], out), block, out)
    if raw is not None:
        for neutral, key in (("title", "title"), ("context", "context"), ("citationsConfig", "citations")):
            if neutral in block:
                raw[key] = block[neutral]
    return raw


def _sourced(kind: str, source: JsonDict | None, block: Block, out: Outgoing) -> JsonDict | None:
    if source is None:
        out.drop("unsupported-block", block)
        return None
    return _with_rest({"type": kind, "source": source}, block)


def _document_source(source: Block, out: Outgoing) -> JsonDict | None:
    match source["kind"]:
        case "text":
            return _text_source(source["data"])
        case "blocks":
            content = [raw for block in source["content"] if (raw := _block(block, out, "user")) is not None]
            return {"type": "content", "content": content} if content else None
        case "base64" if source.get("mediaType", "application/pdf") != "application/pdf":
            text = decoded_text(source)
            return None if text is None else _text_source(text)
        case _:
            return _plain_source(source)


def _text_source(text: str) -> JsonDict:
    return {"type": "text", "media_type": "text/plain", "data": text}


def _plain_source(source: Block) -> JsonDict | None:
    match source["kind"]:
        case "base64":
            media_type = source.get("mediaType", "application/pdf")
            return {"type": "base64", "media_type": media_type, "data": source["data"]}
        case "url":
            return {"type": "url", "url": source["url"]}
        case "file" if source.get("provider") == PROVIDER:
            return {"type": "file", "file_id": source["fileId"]}
        case _:
            return None


_Writer: TypeAlias = Callable[[Block, Outgoing], "JsonDict | None"]
_WRITERS: Mapping[str, Mapping[str, _Writer]] = {
    "user": {"image": _image, "document": _document, "opaque": _opaque},
    "assistant": {"tool_call": _tool_use, "thinking": _thinking, "refusal": _refusal, "opaque": _opaque},
    "system": {"opaque": _opaque},
}
_KNOWN = frozenset({"tool_call", "tool_result", "thinking", "refusal", "image", "document"})


def _with_placed_system(written: list[Json], *, takes: bool) -> list[Json]:
    """The messages, with system messages that stand where the API refuses them as user text, in place.

    It takes a run of them behind a user message, and before an assistant message or the end.
    """
    placed: list[Json] = []
    at = 0
    while at < len(written):
        end = at
        while end < len(written) and written[end]["role"] == "system":
            end += 1
        if end == at:
            placed.append(written[at])
            at += 1
            continue
        follows_user = bool(placed) and placed[-1]["role"] == "user"
        precedes_user = end < len(written) and written[end]["role"] == "user"
        fits = takes and follows_user and not precedes_user
        placed += written[at:end] if fits else _as_user_text(written[at:end])
        at = end
    return placed


def _as_user_text(messages: list[Json]) -> list[Json]:
    texts = [[block for block in message["content"] if block["type"] == "text"] for message in messages]
    return [{"role": "user", "content": content} for content in texts if content]


def _trim_tail(written: list[Json]) -> None:
    """The API refuses trailing whitespace in a last assistant text."""
    if written and written[-1]["role"] == "assistant":
        last = written[-1]["content"][-1]
        if last.get("type") == "text":
            last["text"] = last["text"].rstrip()
