"""Values in a few words, for transcripts and failures."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from typing import Any, cast

import msgspec


class _Brief(reprlib.Repr):
    """`reprlib` with records: the fields that are set, and of a long list its beginning and its size."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxdict, self.maxlist, self.maxtuple = 5, 12, 8, 8
        self.maxstring = self.maxother = self.maxlong = 90

    def repr1(self, x: Any, level: int) -> str:
        if isinstance(x, msgspec.Struct):
            return self._record(x, level)
        if isinstance(x, list) and len(cast("list[object]", x)) > self.maxlist:
            items = cast("list[object]", x)
            return f"{super().repr1(items, level)[:-1]} ({len(items)} in all)]"
        return super().repr1(x, level)

    def repr_str(self, x: str, level: int) -> str:
        shown = ascii(x)  # a lone surrogate cannot be printed
        return shown if len(shown) <= self.maxstring else f"{shown[: self.maxstring - 20]}… ({len(x)} characters)'"

    def _record(self, record: msgspec.Struct, level: int) -> str:
        name = type(record).__name__
        if level <= 0:
            return f"{name}(…)"
        shown: list[str] = []
        for field in msgspec.structs.fields(record):
            value = getattr(record, field.name)
            plain = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
            if value != plain or type(value) is not type(plain):
                shown.append(f"{field.name}={self.repr1(value, level - 1)}")
        return f"{name}({', '.join(shown)})"


_brief = _Brief()


def brief(value: object, limit: int = 200) -> str:
    """The value's representation, cut to about `limit` characters."""
    shown = f"{type(value).__name__}: {value}" if isinstance(value, BaseException) else _brief.repr(value)
    shown = shown.encode("utf-8", "backslashreplace").decode()
    return shown if len(shown) <= limit else f"{shown[:limit]}…"


def brief_call(method: str, args: tuple[object, ...], kwargs: Mapping[str, object]) -> str:
    given = [brief(arg, 120) for arg in args] + [f"{key}={brief(value, 120)}" for key, value in kwargs.items()]
    return f"{method}({', '.join(given)})"
