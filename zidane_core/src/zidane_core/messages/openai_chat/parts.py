"""The parts of a Chat user message: text, images, files, audio."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from zidane_core.messages._data_url import data_url
from zidane_core.messages._meta import meta_of
from zidane_core.messages._outgoing import FILE_NAME, Outgoing, described
from zidane_core.messages._plain import JsonDict

from .reading import PROVIDER

Block: TypeAlias = Mapping[str, Any]


def user_part(block: Block, out: Outgoing) -> JsonDict | None:
    """The part for one block; `None`, and a report, where Chat has none for it."""
    kind = block.get("type")
    if kind == "text":
        text = block["text"]
        if not text or text.isspace():
            return None
        part: JsonDict | None = {"type": "text", "text": text}
    else:
        writer = _WRITERS.get(str(kind))
        part = writer(block) if writer is not None else None
    if part is None:
        out.drop("foreign-block" if kind == "opaque" else "unsupported-block", block)
    elif "providerMeta" in block:
        part = {**meta_of(block, PROVIDER), **part}
    return part


def _image(block: Block) -> JsonDict | None:
    source = block["source"]
    match source["kind"]:
        case "base64":
            image = {"url": data_url(source.get("mediaType", "image/png"), source["data"])}
        case "url":
            image = {"url": source["url"]}
        case _:
            return None  # Chat takes no file ids for images
    if "detail" in block:
        image["detail"] = block["detail"]
    return {"type": "image_url", "image_url": image}


def _document(block: Block) -> JsonDict | None:
    source = block["source"]
    match source["kind"]:
        case "base64":
            return {"type": "file", "file": _file_data(source) | {"filename": block.get("title") or FILE_NAME}}
        case "file" if source.get("provider") == "openai":
            return {"type": "file", "file": {"file_id": source["fileId"]} | _filename(block)}
        case "text":
            return {"type": "text", "text": described(block, source["data"])}
        case "url":
            return {"type": "text", "text": described(block, source["url"])}
        case _:
            return None


def _file_data(source: Block) -> JsonDict:
    media_type = source.get("mediaType")
    return {"file_data": data_url(media_type, source["data"]) if media_type else source["data"]}


def _filename(block: Block) -> JsonDict:
    return {"filename": block["title"]} if block.get("title") else {}


def _audio(block: Block) -> JsonDict | None:
    source = block["source"]
    if source["kind"] != "base64" or source.get("format") not in ("wav", "mp3"):
        return None
    return {"type": "input_audio", "input_audio": {"data": source["data"], "format": source["format"]}}


def _opaque(block: Block) -> JsonDict | None:
    return dict(block["raw"]) if block.get("provider") == PROVIDER else None


_WRITERS: Mapping[str, Callable[[Block], JsonDict | None]] = {
    "image": _image,
    "document": _document,
    "audio": _audio,
    "opaque": _opaque,
}
