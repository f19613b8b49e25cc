"""Durations as people write them."""

from __future__ import annotations

import re

_UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_TEXT = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")


def to_ms(what: str, value: float | str) -> int:
    """Milliseconds of a number of milliseconds, or of a text such as "500ms", "30s", "2h" or "30d".

    Raises:
        ValueError: it is negative, or no such text.
    """
    if isinstance(value, str):
        match = _TEXT.fullmatch(value.strip())
        if match is None:
            raise ValueError(f'{what} is {value!r}; write a number and a unit, as in "500ms", "30s", "5m", "2h", "30d"')
        return round(float(match[1]) * _UNITS_MS[match[2]])
    if value < 0:
        raise ValueError(f"{what} is {value}; it must not be negative")
    return round(value)
