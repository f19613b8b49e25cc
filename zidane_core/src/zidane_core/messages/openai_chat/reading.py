"""OpenAI Chat messages into neutral ones. Total: what is not understood is kept verbatim as an opaque block."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any

import msgspec

from zidane_core.messages._arguments import read_arguments
from zidane_core.messages._data_url import read_data_url
from zidane_core.messages._meta import keep_rest, message_extra
from zidane_core.messages._parts import PartReaders, read_parts, read_refusal, read_text
from zidane_core.messages._plain import JsonDict, plain, plain_list
from zidane_core.records import SessionMessage

PROVIDER = "openai_chat"
"""The format's name in `providerMeta` and opaque blocks; plain `openai` stands for Responses items."""

TOOL_ERROR_MARK = "[The tool reported an error.]"
"""First line of a failed tool's text: Chat has no flag for it."""

_ROLES = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}
_MESSAGE_KEYS = frozenset(
    {
        "role",
        "content",
        "tool_calls",
        "tool_call_id",
        "refusal",
        "audio",
        "function_call",
        "reasoning_content",
        "reasoning",
    }
)


def from_openai(message: object, *, model: str | None = None, provider: str = "openai") -> SessionMessage:
    """The neutral form of one Chat message or reply message. Of a list use `from_openai_messages`.

    `provider` and `model` are who made its reasoning.
    """
    return _message(plain(message), _Incoming(provider, model))


def from_openai_messages(
    messages: Iterable[object], *, model: str | None = None, provider: str = "openai"
) -> list[SessionMessage]:
    """The neutral form of a Chat `messages` list: the tool messages of one batch become one user message.

    Calls without an id get one, the same on every reading, and so do their results.
    """
    incoming = _Incoming(provider, model)
    read: list[SessionMessage] = []
    batch: list[Any] | None = None
    for item in messages:
        raw = plain(item)
        message = _message(raw, incoming)
        if raw.get("role") not in ("tool", "function"):
            batch = None
            read.append(message)
        elif batch is None:
            batch = [*message.content]
            read.append(msgspec.structs.replace(message, content=batch))
        else:
            batch += message.content
    return read


class _Incoming:
    """One reading of a history: who made it, and the ids minted where the provider gave none."""

    def __init__(self, provider: str, model: str | None) -> None:
        self.provider = provider
        self.model = model
        self._minted = 0
        self._unanswered: list[str] = []

    def call_id(self, given: object, name: str) -> str:
        if isinstance(given, str) and given:
            return given
        self._minted += 1
        minted = "call_" + sha256(f"{self._minted}\0{name}".encode("utf-8", "surrogatepass")).hexdigest()[:24]
        self._unanswered.append(minted)
        return minted

    def answered_id(self, given: object) -> str:
        """The id that a tool message answers: without one, the first call still open that had none either."""
        if isinstance(given, str) and given:
            return given
        return self._unanswered.pop(0) if self._unanswered else self.call_id(None, "")


def _message(raw: Mapping[str, Any], incoming: _Incoming) -> SessionMessage:
    role = raw.get("role")
    if role in ("tool", "function"):
        result: Any = _tool_result(raw, incoming)
        return SessionMessage(role="user", content=[result])
    content = [] if role != "assistant" else _reasoning(raw, incoming)
    content += _parts(raw.get("content"))
    extra = message_extra(raw, _MESSAGE_KEYS, PROVIDER) if not raw.keys() <= _MESSAGE_KEYS else {}
    if role == "developer":
        extra = {"providerMeta": {PROVIDER: {**extra.get("providerMeta", {}).get(PROVIDER, {}), "role": role}}}
    if role == "assistant":
        _read_reply(raw, content, incoming)
    neutral: Any = _ROLES.get(role if isinstance(role, str) else "", "user")
    return SessionMessage(role=neutral, content=content, extra=extra)


def _reasoning(raw: Mapping[str, Any], incoming: _Incoming) -> list[Any]:
    text = raw.get("reasoning_content") or raw.get("reasoning")
    if not isinstance(text, str) or not text:
        return []
    block = {"type": "thinking", "text": text, "provider": incoming.provider}
    return [{**block, "model": incoming.model} if incoming.model else block]


def _read_reply(raw: Mapping[str, Any], content: list[Any], incoming: _Incoming) -> None:
    """The parts of an assistant message that stand beside its content."""
    refusal = raw.get("refusal")
    if isinstance(refusal, str) and refusal:
        content.append({"type": "refusal", "refusal": refusal})
    audio = plain(raw.get("audio"))
    if audio.get("id"):
        block: JsonDict = {"type": "audio", "source": {"kind": "providerAudio", "id": audio["id"]}}
        content.append(keep_rest(block, audio, frozenset({"id"}), PROVIDER))
    content += [_tool_call(plain(call), incoming) for call in plain_list(raw.get("tool_calls"))]
    function = plain(raw.get("function_call"))
    if function:
        content.append(_tool_call({"type": "function", "function": function}, incoming))


_CALL = frozenset({"id", "type", "function", "custom"})
_FUNCTION = frozenset({"name", "arguments", "input"})


def _tool_call(raw: Mapping[str, Any], incoming: _Incoming) -> JsonDict:
    custom = plain(raw.get("custom"))
    function = custom or plain(raw.get("function"))
    name = str(function.get("name", ""))
    block: JsonDict = {"type": "tool_call", "id": incoming.call_id(raw.get("id"), name), "name": name}
    if custom:
        block |= {"input": {}, "rawInput": str(custom.get("input", "")), "callKind": "custom"}
    else:
        read_arguments(block, function.get("arguments"))
    rest = {key: value for key, value in raw.items() if key not in _CALL}
    inner = {key: value for key, value in function.items() if key not in _FUNCTION}
    if inner:
        rest["custom" if custom else "function"] = inner
    if rest:
        block["providerMeta"] = {PROVIDER: rest}
    return block


_TOOL = frozenset({"role", "content", "tool_call_id", "name"})


def _tool_result(raw: Mapping[str, Any], incoming: _Incoming) -> JsonDict:
    content = raw.get("content")
    output: Any = content if isinstance(content, str) else _parts(content)
    block: JsonDict = {"type": "tool_result", "callId": incoming.answered_id(raw.get("tool_call_id"))}
    unmarked = without_error_mark(output)
    block["output"] = output if unmarked is None else unmarked
    if unmarked is not None:
        block["isError"] = True
    if isinstance(raw.get("name"), str):
        block["name"] = raw["name"]
    return keep_rest(block, raw, _TOOL, PROVIDER)


def without_error_mark(output: Any) -> Any:
    """The output of a failed tool as it was before `to_openai` marked it; `None` where it is not marked."""
    if isinstance(output, str):
        head, _, rest = output.partition("\n")
        return rest if head == TOOL_ERROR_MARK else None
    marked = bool(output) and output[0].get("text") == TOOL_ERROR_MARK
    return output[1:] if marked else None


def _parts(content: object) -> list[Any]:
    return read_parts(content, _READERS, PROVIDER)


def _text(raw: Mapping[str, Any]) -> JsonDict:
    return read_text(raw, PROVIDER)


def _refusal(raw: Mapping[str, Any]) -> JsonDict:
    return read_refusal(raw, PROVIDER)


def _image(raw: Mapping[str, Any]) -> JsonDict | None:
    image = plain(raw["image_url"])
    if not image.keys() <= {"url", "detail"}:
        return None
    inline = read_data_url(image["url"])
    source = (
        {"kind": "base64", "mediaType": inline[0], "data": inline[1]}
        if inline
        else {"kind": "url", "url": image["url"]}
    )
    block: JsonDict = {"type": "image", "source": source}
    if "detail" in image:
        block["detail"] = image["detail"]
    return keep_rest(block, raw, frozenset({"type", "image_url"}), PROVIDER)


def _audio(raw: Mapping[str, Any]) -> JsonDict | None:
    audio = plain(raw["input_audio"])
    if set(audio) != {"data", "format"}:
        return None
    block: JsonDict = {"type": "audio", "source": {"kind": "base64", **audio}}
    return keep_rest(block, raw, frozenset({"type", "input_audio"}), PROVIDER)


def _file(raw: Mapping[str, Any]) -> JsonDict | None:
    file = plain(raw["file"])
    if not file.keys() <= {"file_data", "filename", "file_id"} or ("file_data" in file) is ("file_id" in file):
        return None
    source: JsonDict = {"kind": "file", "fileId": file.get("file_id"), "provider": "openai"}
    if "file_data" in file:
        inline = read_data_url(file["file_data"])
        source = {"kind": "base64", "data": file["file_data"]}
        if inline:
            source = {"kind": "base64", "mediaType": inline[0], "data": inline[1]}
    block: JsonDict = {"type": "document", "source": source}
    if "filename" in file:
        block["title"] = file["filename"]
    return keep_rest(block, raw, frozenset({"type", "file"}), PROVIDER)


_READERS: PartReaders = {
    "text": _text,
    "refusal": _refusal,
    "image_url": _image,
    "input_audio": _audio,
    "file": _file,
}
