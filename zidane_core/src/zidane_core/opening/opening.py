"""`open_store`: from a URL to an open store."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Generator, Sequence
from contextlib import AsyncExitStack
from importlib import import_module
from types import TracebackType
from typing import Any, TypeAlias, cast

from zidane_core.errors import StoreOptionError, StoreURLError
from zidane_core.store import SessionStore

from .owned_scope import OwnedScope
from .url import StoreURL

Wrap: TypeAlias = Callable[[SessionStore], SessionStore]

_OBJECT_PATH = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)")


class Opening:
    """A store about to be opened: `async with opening as store`, or `store = await opening` and `store.aclose()`.

    Leaving the `async with` closes the store, unless it was handed in built.
    """

    def __init__(self, store: SessionStore, *, scope: str, owned: bool) -> None:
        self._store, self._scope, self._owned = store, scope, owned
        self._opened: SessionStore | None = None

    def __await__(self) -> Generator[Any, None, SessionStore]:
        return self.__aenter__().__await__()

    async def __aenter__(self) -> SessionStore:
        async with AsyncExitStack() as stack:
            store = await self._store.__aenter__()
            if self._owned:
                stack.push_async_callback(store.aclose)
            self._opened = self._scoped(store)
            stack.pop_all()
        return self._opened

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._owned and self._opened is not None:
            await self._opened.aclose()

    def _scoped(self, store: SessionStore) -> SessionStore:
        if not self._scope:
            return store
        scoped = store.in_scope(self._scope)
        return OwnedScope(scoped, store) if self._owned else scoped


def open_store(
    url: str | StoreURL | SessionStore | None = None,
    /,
    *,
    scope: str = "",
    middleware: Sequence[Wrap] = (),
    plugin: str | None = None,
    **options: object,
) -> Opening:
    """The store that a URL names, to be awaited or entered: `async with open_store("sqlite:///sessions.db") as store`.

    `url`: a URL; `"package.module:attr"`, a store or what makes one; a store that is built already, which is opened if
    need be and never closed here; or None for the environment variable `ZIDANE_STORE`. `scope` is the tenant.
    `middleware` wraps the store, the first outermost. `plugin` is the distribution to take where several serve the
    scheme. `options` go over those in the URL's query. What is wrong with the arguments is raised by this call; only
    the backend is left for opening.

    Raises:
        UnknownSchemeError, StoreNotInstalledError, SchemeConflictError: nothing, or not one thing, serves the scheme.
        PluginLoadError, PluginVersionError: what serves it does not work here.
        StoreOptionError: an unknown or contradictory option, or one of the wrong kind.
        StoreURLError: the URL cannot be read, or there is none.
    """
    source = _from_environment() if url is None else url
    if isinstance(source, str) and not _OBJECT_PATH.fullmatch(source):
        source = StoreURL(source)
    if isinstance(source, StoreURL):
        store, owned = _from_url(source, plugin, options), True
    elif plugin is not None:
        raise StoreOptionError("plugin", "chooses between distributions, so it goes with a URL only")
    elif isinstance(source, str):
        store, owned = _from_object_path(source, options)
    else:
        store, owned = _built(source, options), False
    for wrap in reversed(middleware):
        store = wrap(store)
    return Opening(store, scope=scope, owned=owned)


def _from_environment() -> str:
    found = os.environ.get("ZIDANE_STORE")
    if not found:
        raise StoreURLError(
            "no store is named: give open_store a URL or set ZIDANE_STORE "
            "(sqlite:///sessions.db keeps sessions in a file, memory:// forgets them)"
        )
    return found


def _from_url(url: StoreURL, distribution: str | None, keywords: dict[str, object]) -> SessionStore:
    from .options import NoOptions, read_options  # these need pluggy, which importing zidane_core does not
    from .schemes import select_plugin

    plugin = select_plugin(url.scheme, distribution)
    options = read_options(plugin.call("zidane_store_options") or NoOptions, url, keywords)
    store = plugin.call("zidane_open_store", url=url, options=options)
    if not _is_store(store):
        raise plugin.broken(f"its zidane_open_store gave a {type(store).__name__}, not a store")
    return cast("SessionStore", store)


def _from_object_path(path: str, options: dict[str, object]) -> tuple[SessionStore, bool]:
    """The store that a module holds, or makes; one that it makes is ours to close."""
    module, _, names = path.partition(":")
    try:
        found: Any = import_module(module)
        for name in names.split("."):
            found = getattr(found, name)
    except (ImportError, AttributeError) as error:
        raise StoreURLError(f"{path!r} was read as package.module:attribute, but: {error}") from error
    if _is_store(found) and not isinstance(found, type):
        return _built(found, options), False
    if not callable(found):
        raise StoreURLError(f"{path!r} is a {type(found).__name__}: neither a store nor a function that makes one")
    made = found(**options)
    if not _is_store(made):
        raise StoreURLError(f"{path!r} gave a {type(made).__name__}, not a store")
    return cast("SessionStore", made), True


def _built(store: SessionStore, options: dict[str, object]) -> SessionStore:
    if not _is_store(store):
        raise TypeError(f"open_store takes a URL or a store, not a {type(store).__name__}")
    if options:
        raise StoreOptionError(", ".join(options), "a store that is built already takes no options")
    return store


def _is_store(value: object) -> bool:
    """Whether it looks like one; properties are left alone, since they are valid only once it is open."""
    return all(callable(getattr(type(value), name, None)) for name in ("__aenter__", "append_turns", "load"))
