"""Keys that this version does not know: gathered in `extra` when a record is read, and written back with the rest."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple, cast

import msgspec

from .records import EXTRA_KEY, Record


def with_extra(value: Any) -> Any:
    """A record as a plain object with its unknown keys back among the known ones."""
    if isinstance(value, Record):
        plain: dict[str, Any] = dict(value.extra)
        for field in _known(type(value)):
            item = getattr(value, field.attribute)
            if field.required or item != field.default:
                plain[field.key] = with_extra(item)
        return plain
    if isinstance(value, list) and value and isinstance(value[0], Record):
        return [with_extra(item) for item in cast("list[Record]", value)]
    return cast("object", value)


def split_unknown(kind: type[Record], plain: Any) -> Any:
    """A plain object with its unknown keys gathered under the codec's own key, nested records included."""
    if not isinstance(plain, dict):
        return plain
    known = {field.key: field for field in _known(kind)}
    split: dict[str, Any] = {}
    unknown: dict[str, Any] = {}
    for key, value in cast("dict[str, Any]", plain).items():
        field = known.get(key)
        if field is None:
            unknown[key] = value
        elif field.nested is None:
            split[key] = value
        elif isinstance(value, list):
            split[key] = [split_unknown(field.nested, item) for item in cast("list[object]", value)]
        else:
            split[key] = split_unknown(field.nested, value)
    if unknown:
        split[EXTRA_KEY] = unknown
    return split


class _Field(NamedTuple):
    attribute: str
    key: str
    required: bool
    default: object
    nested: type[Record] | None
    """The record type of the value, or of the items of the list that it is."""


@cache
def _known(kind: type[Record]) -> tuple[_Field, ...]:
    info = cast("msgspec.inspect.StructType", msgspec.inspect.type_info(kind))
    return tuple(
        _Field(field.name, field.encode_name, field.required, _default(field), _nested(field.type))
        for field in info.fields
        if field.encode_name != EXTRA_KEY
    )


def _default(field: msgspec.inspect.Field) -> object:
    return field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()


def _nested(info: msgspec.inspect.Type) -> type[Record] | None:
    if isinstance(info, msgspec.inspect.StructType):
        return cast("type[Record]", info.cls)
    if isinstance(info, msgspec.inspect.CollectionType):
        return _nested(info.item_type)
    if isinstance(info, msgspec.inspect.UnionType):
        return next((found for found in map(_nested, info.types) if found is not None), None)
    return None
