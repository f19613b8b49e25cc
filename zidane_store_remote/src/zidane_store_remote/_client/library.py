"""httpx or httpx2: the same interface, and different about what a cancelled request does to the pool."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import Any, Literal, TypeAlias

LibraryName: TypeAlias = Literal["httpx", "httpx2"]

KEEPALIVE_EXPIRY_SECONDS = 2.5
"""Half of what common servers hold an idle connection for, so that we never use one that is just being closed."""


class Library:
    """The HTTP library that a transport uses. `names` is its module, whose classes both libraries have."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.names: Any = importlib.import_module(name)
        self.survives_cancellation = name != "httpx"
        """httpx loses a pool slot for good when a request is cancelled at the wrong moment."""

    @classmethod
    def of(cls, client: object) -> Library:
        """The library that a client comes from."""
        return cls(type(client).__module__.partition(".")[0])

    @classmethod
    def preferred(cls, wanted: LibraryName | None) -> Library:
        """The one that is wanted, or else httpx2 where it is installed: the maintained line of the two."""
        return cls(wanted or ("httpx2" if find_spec("httpx2") is not None else "httpx"))

    def new_client(self, *, connections: int, secure: bool, trust_env: bool) -> Any:
        """An `AsyncClient` of our own. Blocks for a moment where it reads certificates."""
        return self.names.AsyncClient(
            verify=secure,  # without https there is no TLS: redirects are refused, so no call ever comes to need it
            trust_env=trust_env,
            follow_redirects=False,
            limits=self.names.Limits(
                max_connections=connections,
                max_keepalive_connections=connections,
                keepalive_expiry=KEEPALIVE_EXPIRY_SECONDS,
            ),
        )
