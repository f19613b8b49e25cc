"""`StoreURL`: a store's URL, parsed once, that never shows its secrets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple
from urllib.parse import unquote, unquote_plus

from zidane_core.errors import StoreOptionError, StoreURLError

MASK = "***"

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SECRET_WORDS = ("pass", "pwd", "token", "secret", "key", "auth", "credential", "signature")
_FILE_SCHEMES = frozenset({"sqlite"})


class Host(NamedTuple):
    """One of the servers that a URL names."""

    name: str
    port: int | None = None


class StoreURL:
    """A parsed store URL: `scheme://user:password@host:port,host:port/path?option=value`.

    `str`, `repr` and every error mask the password and the values of secret query keys (`token`, `api_key`, ...), so
    it may be logged; `reveal()` is for the client that connects. Its parts are percent-decoded. It pickles, with its
    secrets, so that a worker process can open the same store.

    Raises:
        StoreURLError: it is no store URL. The sentence repeats nothing that may be a secret.
    """

    __slots__ = ("_raw", "_shown", "hosts", "password", "path", "query", "scheme", "username")

    scheme: Final[str]
    hosts: Final[tuple[Host, ...]]
    """Empty where the URL names a file or nothing; several for clusters and sentinels."""
    username: Final[str | None]
    password: Final[str | None]
    path: Final[str]
    """With its leading slash, or empty."""
    query: Final[Mapping[str, str]]

    def __init__(self, text: str) -> None:
        scheme, rest = _split_scheme(text)
        authority, path, query = _split_rest(scheme, rest)
        userinfo, at, hosts = authority.rpartition("@")
        username, colon, password = userinfo.partition(":")
        pairs = _split_query(scheme, query)
        self._raw = text
        self.scheme = scheme
        self.hosts = tuple(_host(scheme, part) for part in hosts.split(",")) if hosts else ()
        self.username = unquote(username) or None
        self.password = unquote(password) if colon else None
        self.path = unquote(path)
        self.query = _decode_query(pairs)
        shown_user = f"{username}:{MASK}@" if colon else f"{username}{at}"
        shown_query = "&".join(f"{key}={MASK if is_secret(key) else value}" for key, value in pairs)
        self._shown = f"{scheme}://{shown_user}{hosts}{path}" + (f"?{shown_query}" if pairs else "")
        if scheme in _FILE_SCHEMES and self.hosts:
            raise _not_a_file(scheme, self._shown)

    @property
    def host(self) -> str | None:
        """The name of the first host."""
        return self.hosts[0].name if self.hosts else None

    @property
    def port(self) -> int | None:
        """The port of the first host."""
        return self.hosts[0].port if self.hosts else None

    @property
    def file_path(self) -> str:
        """The file that the URL names: `scheme:///a/b` is the relative `a/b`, `scheme:////a/b` the absolute `/a/b`.

        Raises:
            StoreURLError: it names none, or has a host where the path belongs.
        """
        if self.hosts or len(self.path) < 2:
            raise _not_a_file(self.scheme, self._shown)
        if "\0" in self.path:
            raise StoreURLError(f"{self._shown}: a file name has no NUL character")
        return self.path[1:]

    def reveal(self, *, query: bool = True) -> str:
        """The URL as it was written, secrets included; on request without its query, which holds the options."""
        return self._raw if query else self._raw.partition("?")[0]

    def __str__(self) -> str:
        return self._shown

    def __repr__(self) -> str:
        return f"StoreURL({self._shown!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StoreURL) and other._raw == self._raw

    def __hash__(self) -> int:
        return hash(self._raw)

    def __reduce__(self) -> tuple[type[StoreURL], tuple[str]]:
        return StoreURL, (self._raw,)


def is_secret(key: str) -> bool:
    """Whether the value of a query key or option is never to be shown."""
    plain = unquote_plus(key).lower()
    return any(word in plain for word in _SECRET_WORDS)


def _split_scheme(text: str) -> tuple[str, str]:
    scheme, separator, rest = text.partition("://")
    scheme = scheme.lower()
    if not separator:
        raise StoreURLError("a store URL begins with a scheme, as in sqlite:///sessions.db or memory://")
    if "_" in scheme:
        raise StoreURLError(f"the URL scheme {scheme!r} has an underscore, which URLs do not allow: use + or -")
    if not _SCHEME.fullmatch(scheme):
        raise StoreURLError("a URL scheme is a letter and then letters, digits, +, - and .")
    if _CONTROL.search(rest):
        raise StoreURLError(f"the {scheme}:// URL has a line break or another control character")
    return scheme, rest


def _split_rest(scheme: str, rest: str) -> tuple[str, str, str]:
    """Authority, path and query; refuses what a password with unescaped characters would make of them."""
    end = next((at for at, character in enumerate(rest) if character in "/?#"), len(rest))
    authority, behind = rest[:end], rest[end:]
    if "#" in behind:
        raise StoreURLError(f"the {scheme}:// URL has a fragment, which means nothing here: write # as %23")
    path, _, query = behind.partition("?")
    if authority and "@" not in authority and "@" in path:
        raise StoreURLError(
            f"the {scheme}:// URL has an @ in its path: in a password write / as %2F, ? as %3F and @ as %40; "
            "in a path write @ as %40"
        )
    return authority, path, query


def _host(scheme: str, part: str) -> Host:
    name, colon, port = part.rpartition(":") if not part.endswith("]") else (part, "", "")
    name = name if colon else port or name
    if colon and not (port.isascii() and port.isdigit() and int(port) < 65_536):
        raise StoreURLError(
            f"the {scheme}:// URL has no number where the port belongs; in a password, write : / ? # @ percent-encoded"
        )
    bracketed = name.startswith("[") and name.endswith("]")
    if not name or (not bracketed and any(character in "[]:" for character in name)):
        raise StoreURLError(f"the {scheme}:// URL has a malformed host (an IPv6 address goes in brackets)")
    return Host(unquote(name[1:-1] if bracketed else name), int(port) if colon else None)


def _split_query(scheme: str, query: str) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for part in filter(None, query.split("&")):
        key, equals, value = part.partition("=")
        if not equals or not key:
            raise StoreURLError(f"the {scheme}:// URL has an option without a value: options read ?name=value&...")
        pairs.append((key, value))
    return pairs


def _decode_query(pairs: list[tuple[str, str]]) -> dict[str, str]:
    decoded: dict[str, str] = {}
    for key, value in ((unquote_plus(key), unquote_plus(value)) for key, value in pairs):
        if decoded.setdefault(key, value) != value:
            raise StoreOptionError(key, "is given twice, with different values")
    return decoded


def _not_a_file(scheme: str, shown: str) -> StoreURLError:
    return StoreURLError(
        f"{shown} names no file: a relative path has three slashes, as in {scheme}:///sessions.db, "
        f"and an absolute one four, as in {scheme}:////var/lib/sessions.db"
    )
