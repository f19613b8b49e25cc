"""OpenAI Responses items into neutral messages. Total: what is not understood is kept verbatim as an opaque block."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from zidane_core.messages._arguments import read_arguments
from zidane_core.messages._data_url import read_data_url
from zidane_core.messages._meta import keep_rest, message_extra
from zidane_core.messages._opaque import responses_link
from zidane_core.messages._parts import PartReaders, read_parts, read_refusal, read_text
from zidane_core.messages._plain import JsonDict, plain, plain_list, plain_tree
from zidane_core.messages.openai_chat.reading import without_error_mark
from zidane_core.records import SessionMessage

PROVIDER = "openai"

_ITEM_KEYS = frozenset({"type", "role", "content"})


def from_openai_responses(items: str | Iterable[object], *, model: str | None = None) -> list[SessionMessage]:
    """The neutral form of a Responses `input` or `output` list. `model` is who made its reasoning.

    Consecutive items of the assistant (reasoning, calls, messages) become one message, and so do consecutive outputs.
    Item ids, phases and states survive; an item without a neutral meaning is one opaque block.
    """
    if isinstance(items, str):
        return [SessionMessage(role="user", content=[{"type": "text", "text": items}])]
    incoming = _Incoming(model)
    for item in items:
        incoming.take(plain(item))
    return incoming.messages


class _Incoming:
    """One reading of a list of items."""

    def __init__(self, model: str | None) -> None:
        self.messages: list[SessionMessage] = []
        self._model = model
        self._group: tuple[str, list[Any]] = ("", [])
        """What the last items belong to, and the content that another such item joins."""
        self._asked: set[str] = set()
        """Calls that are opaque blocks: their outputs are opaque too."""

    def take(self, raw: Mapping[str, Any]) -> None:
        kind = raw.get("type", "message")
        if kind == "message":
            self._take_message(raw)
        elif kind == "reasoning" and isinstance(raw.get("id"), str):
            self._join("assistant", [_reasoning(raw, self._model)])
        elif kind in ("function_call", "custom_tool_call"):
            self._join("assistant", [_call(raw)])
        elif kind in ("function_call_output", "custom_tool_call_output") and raw.get("call_id") not in self._asked:
            self._join("user", [_output(raw)])
        else:
            self._take_opaque(raw)

    def _join(self, role: Literal["user", "assistant"], blocks: list[Any]) -> None:
        group, content = self._group
        if group == role:
            content += blocks
        else:
            self.messages.append(SessionMessage(role=role, content=blocks))
            self._group = (role, blocks)

    def _take_opaque(self, raw: Mapping[str, Any]) -> None:
        block = {"type": "opaque", "provider": PROVIDER, "raw": plain_tree(raw)}
        link = responses_link(raw)
        if link is not None and link[0] == "ask":
            self._asked.add(link[1])
        if raw.get("role") in ("developer", "system"):
            self._add("system", [block], {})
        else:
            self._join("user" if link is not None and link[0] == "answer" else "assistant", [block])

    def _take_message(self, raw: Mapping[str, Any]) -> None:
        role = raw.get("role")
        if role == "assistant":
            self._join("assistant", _spoken(raw))
            return
        extra = message_extra(raw, _ITEM_KEYS, PROVIDER)
        if role == "developer":
            extra = {"providerMeta": {PROVIDER: {**extra.get("providerMeta", {}).get(PROVIDER, {}), "role": role}}}
        self._add("system" if role in ("system", "developer") else "user", _parts(raw.get("content")), extra)

    def _add(self, role: Literal["user", "system"], content: list[Any], extra: JsonDict) -> None:
        self.messages.append(SessionMessage(role=role, content=content, extra=extra))
        self._group = ("", [])


def _spoken(raw: Mapping[str, Any]) -> list[Any]:
    """The text of one assistant item: its keys stand on each of its blocks, and its id tells which belong together."""
    item = {key: value for key, value in raw.items() if key not in _ITEM_KEYS}
    blocks = _parts(raw.get("content"))
    if not item:
        return blocks
    for block in blocks:
        meta = block.get("providerMeta", {}).get(PROVIDER, {})
        block["providerMeta"] = {PROVIDER: {**meta, **item}}
    return blocks


_REASONING = frozenset({"type", "id", "summary", "encrypted_content"})


def _reasoning(raw: Mapping[str, Any], model: str | None) -> JsonDict:
    summary = plain_tree(raw.get("summary") or [])
    texts = [plain(part).get("text") for part in summary or plain_list(raw.get("content"))]
    block: JsonDict = {
        "type": "thinking",
        "text": "\n\n".join(text for text in texts if isinstance(text, str)),
        "summary": summary,
        "itemId": raw["id"],
        "provider": PROVIDER,
    }
    if "encrypted_content" in raw:
        block["encrypted"] = raw["encrypted_content"]
    if model:
        block["model"] = model
    return keep_rest(block, plain_tree(raw), _REASONING, PROVIDER)


_CALL = frozenset({"type", "call_id", "name", "arguments", "input"})


def _call(raw: Mapping[str, Any]) -> JsonDict:
    call_id = raw.get("call_id") or raw.get("id") or ""
    block: JsonDict = {"type": "tool_call", "id": str(call_id), "name": str(raw.get("name", ""))}
    if raw["type"] == "custom_tool_call":
        block |= {"input": {}, "rawInput": str(raw.get("input", "")), "callKind": "custom"}
    else:
        read_arguments(block, raw.get("arguments"))
    return keep_rest(block, raw, _CALL, PROVIDER)


_OUTPUT = frozenset({"type", "call_id", "output"})


def _output(raw: Mapping[str, Any]) -> JsonDict:
    given = raw.get("output")
    output: Any = given if isinstance(given, str) else _parts(given)
    block: JsonDict = {"type": "tool_result", "callId": str(raw.get("call_id") or raw.get("id") or "")}
    unmarked = without_error_mark(output)
    block["output"] = output if unmarked is None else unmarked
    if unmarked is not None:
        block["isError"] = True
    return keep_rest(block, raw, _OUTPUT, PROVIDER)


def _parts(content: object) -> list[Any]:
    return read_parts(content, _READERS, PROVIDER)


def _text(raw: Mapping[str, Any]) -> JsonDict:
    return read_text(raw, PROVIDER)


def _refusal(raw: Mapping[str, Any]) -> JsonDict:
    return read_refusal(raw, PROVIDER)


_IMAGE = frozenset({"type", "image_url", "file_id", "detail"})


def _image(raw: Mapping[str, Any]) -> JsonDict:
    url = raw.get("image_url")
    if url is not None:
        inline = read_data_url(url)
        source = (
            {"kind": "base64", "mediaType": inline[0], "data": inline[1]} if inline else {"kind": "url", "url": url}
        )
    else:
        source = {"kind": "file", "fileId": raw["file_id"] + "", "provider": PROVIDER}
    block: JsonDict = {"type": "image", "source": source}
    if raw.get("detail") is not None:
        block["detail"] = raw["detail"]
    return keep_rest(block, raw, _IMAGE, PROVIDER)


_FILE = frozenset({"type", "file_data", "file_id", "file_url", "filename"})


def _file(raw: Mapping[str, Any]) -> JsonDict:
    source: JsonDict
    if raw.get("file_data") is not None:
        inline = read_data_url(raw["file_data"])
        source = {"kind": "base64", "data": raw["file_data"]}
        if inline:
            source = {"kind": "base64", "mediaType": inline[0], "data": inline[1]}
    elif raw.get("file_url") is not None:
        source = {"kind": "url", "url": raw["file_url"]}
    else:
        source = {"kind": "file", "fileId": raw["file_id"] + "", "provider": PROVIDER}
    block: JsonDict = {"type": "document", "source": source}
    if raw.get("filename") is not None:
        block["title"] = raw["filename"]
    return keep_rest(block, raw, _FILE, PROVIDER)


_READERS: PartReaders = {
    "input_text": _text,
    "output_text": _text,
    "text": _text,
    "refusal": _refusal,
    "input_image": _image,
    "input_file": _file,
}
