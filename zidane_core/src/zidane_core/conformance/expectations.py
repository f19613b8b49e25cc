"""How a check says what it expects: a broken expectation tells what was looked at, expected and found."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

from .brief import brief

E = TypeVar("E", bound=BaseException)


class BrokenRuleError(AssertionError):
    """The store does not keep a rule of its contract."""

    def __init__(self, what: str, *, expected: str, found: str) -> None:
        super().__init__(f"{what}: expected {expected}, found {found}")
        self.what, self.expected, self.found = what, expected, found


def equal(found: object, expected: object, what: str) -> None:
    """Return when both are equal, types included at the top."""
    if found != expected or type(found) is not type(expected):
        raise BrokenRuleError(what, expected=brief(expected, 600), found=brief(found, 600))


def holds(condition: bool, what: str, *, expected: str, found: object) -> None:
    """Return when the condition is true."""
    if not condition:
        raise BrokenRuleError(what, expected=expected, found=brief(found, 600))


async def raises(kind: type[E], call: Awaitable[object], what: str) -> E:
    """The error of that kind that the call raises."""
    try:
        answer = await call
    except kind as error:
        return error
    except Exception as error:
        raise BrokenRuleError(what, expected=kind.__name__, found=f"{type(error).__name__}: {error}") from error
    raise BrokenRuleError(what, expected=kind.__name__, found=f"no error, but {brief(answer, 300)}")


async def outcome(call: Awaitable[object]) -> object:
    """What a call answers, or the error that it raises: for calls that may do either."""
    try:
        return await call
    except Exception as error:  # noqa: BLE001 -- it is the answer
        return error
