"""What `open_store` asks when a URL begins with a scheme of ours."""

from __future__ import annotations

from zidane_core.opening import StoreURL, hookimpl
from zidane_core.store import Capabilities, SessionStore

from .options import RedisOptions
from .store import REDIS_CAPABILITIES, RedisStore

ZIDANE_STORE_API = 1


@hookimpl
def zidane_store_options() -> type[RedisOptions]:
    return RedisOptions


@hookimpl
def zidane_store_capabilities(url: StoreURL) -> Capabilities:
    return REDIS_CAPABILITIES


@hookimpl
def zidane_open_store(url: StoreURL, options: RedisOptions) -> SessionStore:
    return RedisStore(url, options)
