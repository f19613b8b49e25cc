"""What every store refuses before any work."""

from __future__ import annotations

from zidane_core.errors import InvalidContentError, InvalidIdError

from .values import Guard

ID_MAX_CHARS = 512

TIME_LIMIT_MS = 2**53
"""Numbers below it are exact in every language; in milliseconds it is some 285,000 years."""


def check_id(what: str, value: object) -> None:
    """Return for a legal id: 1 to 512 characters of well-formed Unicode without NUL. Raises InvalidIdError."""
    if not isinstance(value, str):
        raise InvalidIdError(what, value, f"is a {type(value).__name__}, not a string")
    if not value:
        raise InvalidIdError(what, value, "is empty")
    if len(value) > ID_MAX_CHARS:
        raise InvalidIdError(what, value, f"has {len(value)} characters; the limit is {ID_MAX_CHARS}")
    if not value.isascii() and not is_well_formed(value):
        raise InvalidIdError(what, value, "has a lone surrogate, which is no text")
    if "\0" in value:
        raise InvalidIdError(what, value, "has a NUL character")


def check_label(path: str, value: str | None) -> None:
    """Return for a text that listings can filter by. Raises InvalidContentError."""
    if value is not None and (not isinstance(value, str) or "\0" in value or not is_well_formed(value)):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers are not all type-checked
        raise InvalidContentError(path, "has to be well-formed text without NUL, since listings filter by it")


def check_time(path: str, value: int) -> None:
    """Return for epoch milliseconds that every backend holds exactly. Raises InvalidContentError."""
    if not (type(value) is int and 0 <= value < TIME_LIMIT_MS):
        raise InvalidContentError(path, f"{value!r} is no time: whole milliseconds from 0 to below 2**53")


def check_count(what: str, value: int | None) -> None:
    """Return for None, zero and up. Raises ValueError."""
    if value is not None and value < 0:
        raise ValueError(f"{what} is {value}; it must not be negative (None is all, 0 is none)")


def check_schedule_guard(guard: Guard) -> None:
    """Return for a guard of a write on a schedule. Raises ValueError where it asks for more than such a write can."""
    if guard.fence is not None or guard.expected_rev is not None:
        raise ValueError("a schedule has no revision and no run: of a guard only op_id is for it")


def is_well_formed(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
