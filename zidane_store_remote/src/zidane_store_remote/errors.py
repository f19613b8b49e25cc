"""The two errors that only a remote store has."""

from __future__ import annotations

from collections.abc import Sequence

from zidane_core.errors import StoreError, StoreUnavailableError


class ProtocolMismatchError(StoreError):
    """The server speaks other versions of the protocol than this client. Nothing happened."""

    def __init__(self, offered: Sequence[int], spoken: Sequence[int]) -> None:
        super().__init__(
            f"the server speaks protocol {_listed(offered)} and this client {_listed(spoken)}: "
            "upgrade zidane-store-remote on the older side"
        )
        self.offered, self.spoken = list(offered), list(spoken)


class RedirectRefusedError(StoreUnavailableError):
    """The server redirected the call. It is not followed: it would carry the token and the data to another place."""

    def __init__(self, status: int, target: str) -> None:
        super().__init__(f"it answered {status}, a redirect to {target}; give the store's final URL", retryable=False)
        self.status, self.target = status, target


def _listed(versions: Sequence[int]) -> str:
    return ", ".join(map(str, versions)) or "no version at all"
