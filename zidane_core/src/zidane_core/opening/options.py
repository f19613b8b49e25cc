"""A store's options: from the URL's query and keyword arguments to the Struct that the store declares."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Self

import msgspec
from msgspec.structs import FieldInfo

from zidane_core.errors import StoreOptionError

from .suggestions import closest
from .url import StoreURL, is_secret

_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?\s*")
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3_600, "d": 86_400}


class Seconds(float):
    """A duration among a store's options: written as seconds, or as `"500ms"`, `"5s"`, `"10m"`, `"2h"`, `"30d"`."""

    @classmethod
    def parse(cls, value: object) -> Self:
        """The duration that a number of seconds or a text stands for.

        Raises:
            ValueError: it stands for none; durations are not negative.
        """
        found = _DURATION.fullmatch(str(value)) if not isinstance(value, bool) else None
        if found is None:
            raise ValueError('expected seconds, or a duration such as "500ms" or "30d"')
        return cls(float(found[1]) * _SECONDS[found[2] or "s"])


class NoOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a store that declares none."""


def read_options(kind: type[msgspec.Struct], url: StoreURL, keywords: Mapping[str, object]) -> msgspec.Struct:
    """The store's options: the URL's query, then keyword arguments over it, coerced to the declared types.

    Raises:
        StoreOptionError: an unknown option, a missing one, or a value of the wrong kind; it shows no secret value.
    """
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    given: dict[str, object] = {**url.query, **keywords}
    for name in given:
        if name not in fields:
            raise StoreOptionError(name, _unknown(url.scheme, fields), suggestion=closest(name, fields))
    values = {field.name: _coerced(field, given[name]) for name, field in fields.items() if name in given}
    for name, field in fields.items():
        if field.required and name not in given:
            raise StoreOptionError(name, f"is required by {url.scheme}://")
    try:
        return kind(**values)
    except (TypeError, ValueError) as error:  # the Struct's own judgement of options that exclude one another
        raise StoreOptionError(", ".join(given), str(error)) from None


def _coerced(field: FieldInfo, value: object) -> Any:
    try:
        return msgspec.convert(value, field.type, strict=False, dec_hook=_convert_other)
    except ValueError as error:
        reason = "its value is not of the kind that it takes" if is_secret(field.name) else str(error)
        raise StoreOptionError(field.encode_name, reason) from None


def _convert_other(kind: type[Any], value: object) -> Any:
    """Types that are not JSON's: durations are parsed, and objects such as a client are taken as they are."""
    if issubclass(kind, Seconds):
        return kind.parse(value)
    if isinstance(value, kind):
        return value
    raise ValueError(f"expected {kind.__name__}, got {type(value).__name__}")


def _unknown(scheme: str, fields: Mapping[str, object]) -> str:
    return f"{scheme}:// has no such option" + (f" (it has {', '.join(fields)})" if fields else "")
