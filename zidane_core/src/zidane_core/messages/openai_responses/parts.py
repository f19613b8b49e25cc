"""The parts of a Responses message or output: texts, images, files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from zidane_core.messages._data_url import data_url
from zidane_core.messages._meta import meta_of
from zidane_core.messages._outgoing import FILE_NAME, NO_OUTPUT, Outgoing, described, flattened
from zidane_core.messages._plain import JsonDict
from zidane_core.messages.openai_chat.reading import TOOL_ERROR_MARK

from .reading import PROVIDER

Block: TypeAlias = Mapping[str, Any]


def message_part(block: Block, out: Outgoing, *, in_output: bool = False) -> JsonDict | None:
    """The part for one block; `None`, and a report, where there is none for it."""
    part: JsonDict | None
    match block.get("type"):
        case "text":
            text = block["text"]
            if not text or text.isspace():
                return None
            part = {"type": "input_text", "text": text}
        case "image":
            part = _image(block, in_output=in_output)
        case "document":
            part = _document(block)
        case "opaque" if block.get("provider") == PROVIDER:
            return dict(block["raw"])
        case _:
            part = None
    if part is None:
        out.drop("foreign-block" if block.get("type") == "opaque" else "unsupported-block", block)
        return None
    return {**meta_of(block, PROVIDER), **part} if "providerMeta" in block else part


def output_item(block: Block, out: Outgoing, custom: set[str]) -> JsonDict:
    """The item for one tool result. `custom` holds the wire ids of calls to custom tools."""
    call_id = out.call_id(block["callId"])
    output = block["output"]
    content: Any
    if isinstance(output, str):
        content = f"{TOOL_ERROR_MARK}\n{output}" if block.get("isError") else output
    else:
        content = _output_parts(block, output, out) or NO_OUTPUT
    item = {
        "type": "custom_tool_call_output" if call_id in custom else "function_call_output",
        "call_id": call_id,
        "output": content,
    }
    return {**meta_of(block, PROVIDER), **item} if "providerMeta" in block else item


def _output_parts(block: Block, output: Sequence[Any], out: Outgoing) -> list[JsonDict]:
    parts = [part for inner in flattened(output) if (part := message_part(inner, out, in_output=True)) is not None]
    if block.get("isError"):
        parts.insert(0, {"type": "input_text", "text": TOOL_ERROR_MARK})
    return parts


def _image(block: Block, *, in_output: bool) -> JsonDict | None:
    source = block["source"]
    match source["kind"]:
        case "base64":
            part = {"type": "input_image", "image_url": data_url(source.get("mediaType", "image/png"), source["data"])}
        case "url":
            part = {"type": "input_image", "image_url": source["url"]}
        case "file" if source.get("provider") == PROVIDER:
            part = {"type": "input_image", "file_id": source["fileId"]}
        case _:
            return None
    if "detail" in block or not in_output:
        part["detail"] = block.get("detail", "auto")
    return part


def _document(block: Block) -> JsonDict | None:
    source = block["source"]
    name = {"filename": block["title"]} if block.get("title") else {}
    match source["kind"]:
        case "base64":
            media_type = source.get("mediaType")
            data = data_url(media_type, source["data"]) if media_type else source["data"]
            return {"type": "input_file", "filename": FILE_NAME, "file_data": data} | name
        case "url":
            return {"type": "input_file", "file_url": source["url"]} | name
        case "file" if source.get("provider") == PROVIDER:
            return {"type": "input_file", "file_id": source["fileId"]} | name
        case "text":
            return {"type": "input_text", "text": described(block, source["data"])}
        case _:
            return None
