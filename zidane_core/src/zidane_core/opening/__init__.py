"""Picking a store by URL, and plugins."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from zidane_core.extension_points import provider_sources

from .installed import InstalledStore, installed_stores
from .opening import Opening, open_store
from .url import Host, StoreURL

if TYPE_CHECKING:
    from .extras import PluginWarning, ask_plugins
    from .hooks import hookimpl
    from .options import Seconds

__all__ = [
    "Host",
    "InstalledStore",
    "Opening",
    "PluginWarning",
    "Seconds",
    "StoreURL",
    "ask_plugins",
    "hookimpl",
    "installed_stores",
    "open_store",
]

_LATER = {"PluginWarning": ".extras", "Seconds": ".options", "ask_plugins": ".extras", "hookimpl": ".hooks"}
"""Names whose modules import pluggy, or that a host rarely needs: imported when they are asked for."""


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LATER[name], __name__), name)


def _providers_of_plugins() -> Iterable[Any]:
    from itertools import chain

    from .extras import ask_plugins

    return chain.from_iterable(ask_plugins("zidane_message_formats"))


provider_sources.append(_providers_of_plugins)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
