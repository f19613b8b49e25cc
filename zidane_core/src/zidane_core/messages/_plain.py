"""Plain JSON out of what hosts hand in: dicts, other mappings, and SDK objects with a `model_dump()`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, TypeGuard

Json: TypeAlias = Any
"""JSON whose shape a provider decides. The converters look into it key by key."""
JsonDict: TypeAlias = dict[str, Any]

_PARSE_HELPER_KEYS = frozenset({"parsed", "parsed_arguments", "parsed_output"})
"""What the SDKs' `parse` helpers add to a reply; the APIs refuse to take it back."""


def is_mapping(value: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, dict | Mapping)  # dict first: the abstract check costs more than the rest


def is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def is_iterable(value: object) -> TypeGuard[Iterable[Any]]:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)


def plain(value: object) -> Mapping[str, Any]:
    """`value` as a mapping: itself, or the dump of an SDK object without unset fields. Anything else is empty."""
    if is_mapping(value):
        return value
    dump = getattr(value, "model_dump", None)
    dumped: JsonDict = {} if dump is None else _without_parse_helpers(_dumped(dump))
    return dumped


def plain_list(value: object) -> list[Any]:
    """The items of `value`, which may be any iterable but a string or a mapping; otherwise empty."""
    if is_list(value):
        return value
    return list(value) if is_iterable(value) else []


def plain_parts(content: object) -> list[Mapping[str, Any]]:
    """The parts of a message's content: every format allows one string, and hand-made logs hold strings in lists."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [{"type": "text", "text": part} if isinstance(part, str) else plain(part) for part in plain_list(content)]


def plain_tree(value: object) -> Json:
    """`value` with every mapping, sequence and SDK object inside turned into a dict or a list of its own."""
    if isinstance(value, str | int | float) or value is None:
        return value
    if is_mapping(value) or hasattr(value, "model_dump"):
        return {key: plain_tree(item) for key, item in plain(value).items()}
    return [plain_tree(item) for item in value] if is_iterable(value) else value


def _dumped(dump: Any) -> Json:
    try:
        return dump(mode="json", exclude_unset=True, by_alias=True, warnings=False)
    except TypeError:  # not pydantic: only the method's name is promised
        return dump()


def _without_parse_helpers(value: Json) -> Json:
    if is_mapping(value):
        return {key: _without_parse_helpers(item) for key, item in value.items() if key not in _PARSE_HELPER_KEYS}
    return [_without_parse_helpers(item) for item in value] if is_list(value) else value
