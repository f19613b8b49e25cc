"""Plain JSON out of what hosts hand in: dicts, other mappings, and SDK objects with a `model_dump()`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, cast

Json: TypeAlias = Any
"""JSON whose shape a provider decides. The converters look into it key by key."""
JsonDict: TypeAlias = dict[str, Any]

_PARSE_HELPER_KEYS = frozenset({"parsed", "parsed_arguments", "parsed_output"})
"""What the SDKs' `parse` helpers add to a reply; the APIs refuse to take it back."""


def plain(value: object) -> Mapping[str, Any]:
    """`value` as a mapping: itself, or the dump of an SDK object without unset fields. Anything else is empty."""
    if type(value) is dict:
        return cast("JsonDict", value)
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value)
    dump = getattr(value, "model_dump", None)
    if dump is None:
        return {}
    return _without_parse_helpers(_dumped(dump))


def plain_list(value: object) -> list[Any]:
    """The items of `value`, which may be any iterable but a string or a mapping; otherwise empty."""
    if type(value) is list:
        return cast("list[Any]", value)
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        return []
    return list(cast("Iterable[Any]", value))


def plain_tree(value: object) -> Json:
    """`value` with every mapping, sequence and SDK object inside turned into a dict or a list of its own."""
    if isinstance(value, str | int | float) or value is None:
        return value
    if isinstance(value, Mapping) or hasattr(value, "model_dump"):
        return {key: plain_tree(item) for key, item in plain(value).items()}
    if isinstance(value, Iterable):
        return [plain_tree(item) for item in cast("Iterable[Any]", value)]
    return value


def _dumped(dump: Any) -> Json:
    try:
        return dump(mode="json", exclude_unset=True, by_alias=True, warnings=False)
    except TypeError:  # not pydantic: only the method's name is promised
        return dump()


def _without_parse_helpers(value: Json) -> Json:
    if isinstance(value, dict):
        items = cast("JsonDict", value).items()
        return {key: _without_parse_helpers(item) for key, item in items if key not in _PARSE_HELPER_KEYS}
    if isinstance(value, list):
        return [_without_parse_helpers(item) for item in cast("list[Any]", value)]
    return value
