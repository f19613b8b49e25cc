"""Plugins of the group `zidane.plugins`: commands, message formats, checks. Loaded at first need, each on its own."""

from __future__ import annotations

import os
import warnings
from functools import cache
from typing import TYPE_CHECKING, Any

import pluggy

from .hooks import ExtraHooks

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "zidane.plugins"


class PluginWarning(UserWarning):
    """A plugin is left out, because it failed."""


def ask_plugins(hook: str, **arguments: Any) -> list[Any]:
    """What each plugin that implements `hook` answers, by name of plugin.

    One that fails to load or to answer is left out with a `PluginWarning` that names it. None is loaded where the
    environment says `ZIDANE_PLUGINS=none`.
    """
    if os.environ.get("ZIDANE_PLUGINS", "").strip().lower() == "none":
        return []
    manager = _loaded()
    answers: list[Any] = []
    for name, plugin in sorted(manager.list_name_plugin()):
        others = [other for other in manager.get_plugins() if other is not plugin]
        try:
            answers += manager.subset_hook_caller(hook, others)(**arguments)
        except Exception as error:  # noqa: BLE001 -- one broken plugin must not break the host
            _warn(name, f"failed in {hook}: {type(error).__name__}: {error}")
    return answers


@cache
def _loaded() -> pluggy.PluginManager:
    from importlib.metadata import entry_points

    manager = pluggy.PluginManager("zidane")
    manager.add_hookspecs(ExtraHooks)
    for entry in entry_points(group=GROUP):
        _load(manager, entry)
    return manager


def _load(manager: pluggy.PluginManager, entry: EntryPoint) -> None:
    name = _name(entry)
    try:
        manager.register(entry.load(), name=name)
    except Exception as error:  # noqa: BLE001 -- as above
        _warn(name, f"failed to load: {type(error).__name__}: {error}")


def _name(entry: EntryPoint) -> str:
    return entry.name if entry.dist is None else f"{entry.name} ({entry.dist.name} {entry.dist.version})"


def _warn(name: str, what: str) -> None:
    warnings.warn(f"zidane plugin {name} {what}", PluginWarning, stacklevel=3)
