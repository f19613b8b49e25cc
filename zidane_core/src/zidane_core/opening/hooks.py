"""What plugins implement, and the marker they implement it with.

A store plugin is a module with `ZIDANE_STORE_API = 1` and the three `zidane_store_*` hooks; its wheel names it in the
entry point group `zidane.stores`, under each URL scheme that it serves. Everything else that can be added goes into
the group `zidane.plugins`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import pluggy

if TYPE_CHECKING:
    from collections.abc import Iterable

    from msgspec import Struct

    from zidane_core.store import Capabilities, SessionStore

    from .url import StoreURL

hookimpl = pluggy.HookimplMarker("zidane")
hookspec = pluggy.HookspecMarker("zidane")


class StoreHooks(Protocol):
    """What a store plugin offers. Only the plugin that the URL's scheme selects is asked."""

    @staticmethod
    @hookspec(firstresult=True)
    def zidane_store_options() -> type[Struct]:
        """The options' type: its fields are the names, types and defaults. A store without options leaves this out.

        Values from a query string are coerced to the declared types.
        """
        ...

    @staticmethod
    @hookspec(firstresult=True)
    def zidane_store_capabilities(url: StoreURL) -> Capabilities:
        """What the store can do, without connecting. For listings, so `url` may be no more than `scheme://`."""
        ...

    @staticmethod
    @hookspec(firstresult=True)
    def zidane_open_store(url: StoreURL, options: Any) -> SessionStore:
        """The store, built and not yet opened: connecting is for its `__aenter__`."""
        ...


class ExtraHooks(Protocol):
    """What a plugin of the group `zidane.plugins` may offer, all of it optional."""

    @staticmethod
    @hookspec
    def zidane_cli(app: Any) -> None:
        """Add commands to the command line's Typer app."""
        ...

    @staticmethod
    @hookspec
    def zidane_message_formats() -> Iterable[Any]:
        """`ProviderTraits` of further providers, for `provider=` in the message functions."""
        ...

    @staticmethod
    @hookspec
    def zidane_conformance_checks() -> Iterable[Any]:
        """Further checks for the conformance kit."""
        ...
