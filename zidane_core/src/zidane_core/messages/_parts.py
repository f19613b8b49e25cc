"""Content parts as both of OpenAI's formats have them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ._meta import keep_rest
from ._plain import Json, JsonDict, plain_parts, plain_tree

PartReaders: TypeAlias = Mapping[str, Callable[[Mapping[str, Any]], JsonDict | None]]
"""By type of part. `None` and the errors of a part that lacks something mean that it is kept as it came."""


def read_parts(content: object, readers: PartReaders, provider: str) -> list[Any]:
    """A block for each part; an opaque one where no reader makes sense of it."""
    return [_read_part(part, readers, provider) for part in plain_parts(content)]


def _read_part(raw: Mapping[str, Any], readers: PartReaders, provider: str) -> Json:
    reader = readers.get(raw.get("type", ""))
    if reader is not None:
        try:
            block = reader(raw)
        except (KeyError, TypeError, ValueError, AttributeError):
            block = None  # not as the API has it: kept as it came
        if block is not None:
            return block
    return {"type": "opaque", "provider": provider, "raw": plain_tree(raw)}


def read_text(raw: Mapping[str, Any], provider: str) -> JsonDict:
    return keep_rest({"type": "text", "text": raw["text"] + ""}, raw, frozenset({"type", "text"}), provider)


def read_refusal(raw: Mapping[str, Any], provider: str) -> JsonDict:
    block = {"type": "refusal", "refusal": raw["refusal"] + ""}
    return keep_rest(block, raw, frozenset({"type", "refusal"}), provider)
