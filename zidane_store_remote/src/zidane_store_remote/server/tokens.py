"""Bearer tokens: who may call, until when, and what for."""

from __future__ import annotations

import hmac
import shlex
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import msgspec

from zidane_core.errors import AuthenticationError


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """A bearer token. Its `repr` does not show the secret."""

    secret: str
    expires_at: float | None = None
    """Epoch seconds; without it, never."""
    read_only: bool = False
    scope: str | None = None
    """The one scope that its bearer sees; without it, any that the client names."""

    def __repr__(self) -> str:
        return f"Token(***, expires_at={self.expires_at}, read_only={self.read_only}, scope={self.scope!r})"


EVERYONE = Token(secret="")


class TokenCheck:
    """Which token a request bears. `tokens=None` lets everyone in."""

    def __init__(self, tokens: Iterable[Token | str] | None, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._tokens: list[tuple[bytes, Token]] | None = None
        if tokens is not None:
            given = [Token(secret=token) if isinstance(token, str) else token for token in tokens]
            if not all(token.secret for token in given) or not given:
                raise ValueError("tokens is empty, or has an empty one: nobody could call (None lets everyone in)")
            self._tokens = [(_digest(token.secret), token) for token in given]

    def check(self, authorization: str | None) -> Token:
        """The token in an Authorization header.

        All known tokens are compared, each in constant time, so that the time taken tells nothing of any of them.

        Raises:
            AuthenticationError: it is none of ours, or has expired.
        """
        if self._tokens is None:
            return EVERYONE
        kind, _, secret = (authorization or "").partition(" ")
        if kind.lower() != "bearer" or not secret:
            raise AuthenticationError("this server asks for a bearer token")
        borne = _digest(secret.strip())
        found = [token for digest, token in self._tokens if hmac.compare_digest(digest, borne)]
        if not found:
            raise AuthenticationError("the token is not known here")
        if found[0].expires_at is not None and self._clock() >= found[0].expires_at:
            raise AuthenticationError("the token has expired")
        return found[0]


def read_token_file(path: Path) -> list[Token]:
    """The tokens of a file: a line each, `SECRET [expires=2027-01-31T00:00:00Z] [scope=NAME] [read-only]`.

    Raises:
        ValueError: a line that says something else; it is named by its number, and never shown.
    """
    tokens: list[Token] = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        words = shlex.split(line, comments=True)
        if words:
            try:
                tokens.append(_parse(words[0], words[1:]))
            except ValueError as error:
                raise ValueError(f"{path}, line {number}: {error}") from None
    return tokens


def _parse(secret: str, words: list[str]) -> Token:
    facts: dict[str, object] = {}
    for word in words:
        match word.partition("="):
            case "read-only", "", "":
                facts["read_only"] = True
            case "scope", "=", scope if scope:
                facts["scope"] = scope
            case "expires", "=", moment:
                facts["expires_at"] = _seconds(moment)
            case _:
                raise ValueError("after the token come expires=TIME, scope=NAME and read-only, and nothing else")
    return msgspec.convert({"secret": secret, **facts}, Token)


def _seconds(moment: str) -> float:
    given = datetime.fromisoformat(moment)
    return (given if given.tzinfo is not None else given.replace(tzinfo=UTC)).timestamp()


def _digest(secret: str) -> bytes:
    return sha256(secret.encode("utf-8", "surrogateescape")).digest()
