"""From a URL's scheme to the one installed plugin that serves it, imported only now."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

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


class StorePlugin:
    """A loaded store plugin: the only one that its hooks are called on."""

    def __init__(self, scheme: str, module: object, entry: EntryPoint) -> None:
        self.scheme, self.distribution, self.version = scheme, distribution_of(entry), version_of(entry)
        self._module = module

    def call(self, hook: str, **arguments: Any) -> Any:
        """What the plugin answers; None where it does not implement the hook."""
        others = [plugin for plugin in _manager.get_plugins() if plugin is not self._module]
        return _manager.subset_hook_caller(hook, others)(**arguments)

    def broken(self, reason: str) -> PluginLoadError:
        return PluginLoadError(self.scheme, distribution=self.distribution, version=self.version, reason=reason)


def select_plugin(scheme: str, distribution: str | None = None) -> StorePlugin:
    """The plugin that serves the scheme: that of `distribution`, or the only one there is.

    Raises:
        UnknownSchemeError, StoreNotInstalledError: nothing serves it.
        SchemeConflictError: several distributions claim it, or a foreign one claims a scheme of ours.
        PluginLoadError, PluginVersionError: the plugin does not import, or speaks another interface.
    """
    return load_plugin(scheme, _only_entry(scheme, distribution))


def load_plugin(scheme: str, entry: EntryPoint) -> StorePlugin:
    """Import a plugin and register it. Raises PluginLoadError or PluginVersionError."""
    dist, version = distribution_of(entry), version_of(entry)
    try:
        module = entry.load()
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
    return StorePlugin(scheme, module, entry)


def store_entries(scheme: str | None = None) -> list[EntryPoint]:
    """The installed entry points, of one scheme or all, by scheme."""
    from importlib.metadata import entry_points

    found = entry_points(group=GROUP) if scheme is None else entry_points(group=GROUP, name=scheme)
    return sorted(found, key=lambda entry: (entry.name, distribution_of(entry)))


def distribution_of(entry: EntryPoint) -> str:
    return _normalized(entry.dist.name) if entry.dist is not None else "an unknown distribution"


def version_of(entry: EntryPoint) -> str:
    return entry.dist.version if entry.dist is not None else "of unknown version"


def claimants(scheme: str, entries: list[EntryPoint]) -> list[str]:
    """The distributions that compete for a scheme, ours among them where the scheme is ours."""
    ours = OUR_SCHEMES.get(scheme)
    claiming = {distribution_of(entry) for entry in entries}
    return sorted(claiming | {ours} if ours is not None and claiming else claiming)


def _only_entry(scheme: str, distribution: str | None) -> EntryPoint:
    entries = store_entries(scheme)
    if distribution is not None:
        entries = [entry for entry in entries if distribution_of(entry) == _normalized(distribution)]
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
    installed = sorted({entry.name for entry in store_entries()})
    suggestion = closest(scheme, [*installed, *OUR_SCHEMES])
    return UnknownSchemeError(scheme, installed=installed, suggestion=suggestion)


def _normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
