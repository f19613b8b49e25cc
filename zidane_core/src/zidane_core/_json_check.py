"""What JSON can hold unchanged, and where a value breaks that."""

from __future__ import annotations

import math
from typing import Any, cast

import msgspec

from .errors import InvalidContentError

MAX_DEPTH = 200
"""How deeply objects and arrays may be nested."""

_MAX_INT_BITS = 14_000
"""Python writes and reads integers of up to 4,300 decimal digits."""


def check_json(value: object, path: str, depth: int = 0) -> None:
    """Return when JSON holds the value unchanged, and raise InvalidContentError at the first part that it does not.

    Subclasses and enums are refused too: they would come back as their base type.
    """
    kind = type(value)
    if kind is dict:
        _check_object(cast("dict[Any, Any]", value), path, depth)
    elif kind is list:
        _check_depth(path, depth)
        for index, item in enumerate(cast("list[object]", value)):
            check_json(item, f"{path}[{index}]", depth + 1)
    elif isinstance(value, msgspec.Struct):
        _check_record(value, path, depth)
    else:
        _check_scalar(value, path)


def join_surrogates(value: Any) -> Any:
    """The value with every pair of surrogates joined to the character it stands for; lone ones are kept."""
    if isinstance(value, str):
        return value if _encodes(value) else value.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    if isinstance(value, list):
        return [join_surrogates(item) for item in cast("list[object]", value)]
    if isinstance(value, dict):
        return {join_surrogates(key): join_surrogates(item) for key, item in cast("dict[str, Any]", value).items()}
    return value


def _check_scalar(value: object, path: str) -> None:
    kind = type(value)
    if kind not in (str, bool, int, float, type(None)):
        raise InvalidContentError(path, f"{kind.__module__}.{kind.__qualname__} is not a JSON type")
    if kind is float and not math.isfinite(cast("float", value)):
        raise InvalidContentError(path, f"JSON has no {value!r}")
    if kind is int and cast("int", value).bit_length() > _MAX_INT_BITS:
        raise InvalidContentError(path, "an integer of more than 4,200 digits")


def _check_object(value: dict[Any, Any], path: str, depth: int) -> None:
    _check_depth(path, depth)
    for key, item in value.items():
        if type(key) is not str:
            raise InvalidContentError(path, f"the key {key!r} is not a string")
        check_json(item, f"{path}.{key}" if key.isidentifier() else f"{path}[{key!r}]", depth + 1)


def _check_record(value: msgspec.Struct, path: str, depth: int) -> None:
    for field in msgspec.structs.fields(value):
        check_json(getattr(value, field.name), f"{path}.{field.encode_name}", depth + 1)


def _check_depth(path: str, depth: int) -> None:
    if depth >= MAX_DEPTH:
        shown = path if len(path) <= 80 else path[:77] + "..."
        raise InvalidContentError(shown, f"nested more than {MAX_DEPTH} deep")


def _encodes(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
