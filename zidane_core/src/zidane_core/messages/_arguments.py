"""A call's arguments: an object here, a JSON string at OpenAI, and now and then neither."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NoReturn

import msgspec

from ._plain import JsonDict, is_mapping, plain_tree


def read_arguments(block: JsonDict, arguments: object) -> JsonDict:
    """`block` with its `input`, and `rawInput` where `arguments` is not the text of a JSON object."""
    if is_mapping(arguments):  # some hosts parse them before they log them
        block["input"] = plain_tree(arguments)
        return block
    text = arguments if isinstance(arguments, str) else ""
    parsed = _parsed(text)
    block["input"] = parsed if parsed is not None else {}
    if parsed is None and text.strip():
        block["rawInput"] = text
    return block


def arguments_text(call: Mapping[str, Any]) -> str:
    """The arguments of a call as OpenAI takes them: the string that came, or the object without spaces."""
    raw = call.get("rawInput")
    if raw is not None:
        return str(raw)
    try:
        return msgspec.json.encode(call["input"]).decode()
    except (OverflowError, TypeError, UnicodeEncodeError, RecursionError):
        return json.dumps(call["input"], separators=(",", ":"), ensure_ascii=False, default=str)


def _parsed(text: str) -> JsonDict | None:
    """The object that the text holds; `None` for anything else, and for what JSON proper cannot say again."""
    try:
        value = json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError):
        return None
    return dict(value) if is_mapping(value) else None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(digits)
    return number
