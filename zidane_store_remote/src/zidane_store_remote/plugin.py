"""The plugin behind `http://` and `https://` URLs."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from zidane_core.opening import Seconds, StoreURL, hookimpl
from zidane_core.store import Capabilities, SessionStore

ZIDANE_STORE_API = 1


class RemoteOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of an `http://` or `https://` URL; `RemoteStore` says what each is."""

    token: str | None = None
    headers: dict[str, str] | None = None
    timeout: Seconds = Seconds(30)
    retry_for: Seconds = Seconds(10)
    client: Any = None
    library: Literal["httpx", "httpx2"] | None = None
    trust_env: bool = False
    compress: bool | None = None
    max_connections: int = 64
    max_answer_bytes: int = 1 << 30

    def __repr__(self) -> str:
        return "RemoteOptions(...)"  # it holds the token


@hookimpl
def zidane_store_options() -> type[msgspec.Struct]:
    return RemoteOptions


@hookimpl
def zidane_store_capabilities(url: StoreURL) -> Capabilities:
    return Capabilities(shared="network")


@hookimpl
def zidane_open_store(url: StoreURL, options: RemoteOptions) -> SessionStore:
    from .store import RemoteStore

    return RemoteStore(url.reveal(query=False), **msgspec.structs.asdict(options))
