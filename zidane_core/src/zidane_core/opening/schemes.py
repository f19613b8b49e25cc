"""From a URL's scheme to the one installed plugin that serves it, imported only now."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pluggy

from zidane_core.errors import (
    PluginLoadError,
    PluginVersionError,
    SchemeConflictError,
    StoreNotInstalledError,
    UnknownSchemeError,
)

from .hooks import StoreHooks
from .suggestions import closest

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

STORE_API = 1
GROUP = "zidane.stores"

OUR_SCHEMES = {
    "memory": "zidane-core",
    "sqlite": "zidane-store-sqlite",
    "redis": "zidane-store-redis",
    "rediss": "zidane-store-redis",
    "redis+unix": "zidane-store-redis",
    "redis+cluster": "zidane-store-redis",
    "rediss+cluster": "zidane-store-redis",
    "redis+sentinel": "zidane-store-redis",
    "rediss+sentinel": "zidane-store-redis",
    "http": "zidane-store-remote",
    "https": "zidane-store-remote",
}
"""Schemes that no other distribution gets without being asked for by name."""

_manager = pluggy.PluginManager("zidane")
_manager.add_hookspecs(StoreHooks)


class StoreEntry(NamedTuple):
    """An installed entry point: a scheme, and who serves it."""

    scheme: str
    distribution: str
    version: str
    point: EntryPoint


def store_entries() -> Sequence[StoreEntry]:
    """All that are installed, by scheme."""
    return _entries_on(tuple((folder, _changed_at(folder)) for folder in sys.path))


@lru_cache(maxsize=1)
def _entries_on(path: tuple[tuple[str, int], ...]) -> Sequence[StoreEntry]:
    """Of a `sys.path` and when each folder on it last changed. To read it takes some 10 ms: every distribution is."""
    from importlib.metadata import entry_points

    return sorted(_entry(point) for point in entry_points(group=GROUP))


def _entry(point: EntryPoint) -> StoreEntry:
    dist = point.dist
    if dist is None:
        return StoreEntry(point.name, "an unknown distribution", "of unknown version", point)
    return StoreEntry(point.name, _normalized(dist.name), dist.version, point)


def _changed_at(folder: str) -> int:
    """Nanoseconds. 0: there is nothing."""
    try:
        return Path(folder or ".").stat().st_mtime_ns
    except OSError:
        return 0


class StorePlugin:
    """A loaded store plugin: the only one that its hooks are called on."""

    def __init__(self, entry: StoreEntry, module: object) -> None:
        self._entry, self._module = entry, module

    def call(self, hook: str, **arguments: Any) -> Any:
        """What the plugin answers; None where it does not implement the hook."""
        others = [plugin for plugin in _manager.get_plugins() if plugin is not self._module]
        return _manager.subset_hook_caller(hook, others)(**arguments)

    def broken(self, reason: str) -> PluginLoadError:
        entry = self._entry
        return PluginLoadError(entry.scheme, distribution=entry.distribution, version=entry.version, reason=reason)


def select_plugin(scheme: str, distribution: str | None = None) -> StorePlugin:
    """The plugin that serves the scheme: that of `distribution`, or the only one there is.

    Raises:
        UnknownSchemeError, StoreNotInstalledError: nothing serves it.
        SchemeConflictError: several distributions claim it, or a foreign one claims a scheme of ours.
        PluginLoadError, PluginVersionError: the plugin does not import, or speaks another interface.
    """
    return load_plugin(_only_entry(scheme, distribution))


def load_plugin(entry: StoreEntry) -> StorePlugin:
    """Import a plugin and register it. Raises PluginLoadError or PluginVersionError."""
    scheme, dist, version = entry.scheme, entry.distribution, entry.version
    try:
        module = entry.point.load()
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise PluginLoadError(scheme, distribution=dist, version=version, reason=reason) from error
    found = getattr(module, "ZIDANE_STORE_API", None)
    if found != STORE_API:
        raise PluginVersionError(scheme, distribution=dist, found=found, supported=STORE_API)
    if not _manager.is_registered(module):
        try:
            _manager.register(module, name=f"{dist} {id(module)}")  # not its name: a reloaded one is another plugin
        except Exception as error:
            raise PluginLoadError(scheme, distribution=dist, version=version, reason=str(error)) from error
    return StorePlugin(entry, module)


def claimants(scheme: str, entries: Sequence[StoreEntry]) -> list[str]:
    """The distributions that compete for a scheme, ours among them where the scheme is ours."""
    ours = OUR_SCHEMES.get(scheme)
    claiming = {entry.distribution for entry in entries}
    return sorted(claiming | {ours} if ours is not None and claiming else claiming)


def _only_entry(scheme: str, distribution: str | None) -> StoreEntry:
    entries = [entry for entry in store_entries() if entry.scheme == scheme]
    if distribution is not None:
        entries = [entry for entry in entries if entry.distribution == _normalized(distribution)]
        if not entries:
            raise StoreNotInstalledError(scheme, distribution)
    elif len(claimants(scheme, entries)) > 1:
        raise SchemeConflictError(scheme, claimants(scheme, entries))
    if not entries:
        raise _nothing_serves(scheme)
    return entries[0]


def _nothing_serves(scheme: str) -> UnknownSchemeError | StoreNotInstalledError:
    if scheme in OUR_SCHEMES:
        return StoreNotInstalledError(scheme, OUR_SCHEMES[scheme])
    installed = sorted({entry.scheme for entry in store_entries()})
    suggestion = closest(scheme, [*installed, *OUR_SCHEMES])
    return UnknownSchemeError(scheme, installed=installed, suggestion=suggestion)


def _normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
