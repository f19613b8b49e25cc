"""Every check of the kit, by the part of the contract that it is about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from importlib import import_module

from zidane_core.conformance.check import Check, Collector

MODULES = (
    "capabilities",
    "lifecycle",
    "identity",
    "creation",
    "append",
    "reading",
    "content",
    "runs",
    "revisions",
    "guards",
    "operations",
    "claims",
    "meta",
    "listing",
    "history",
    "collections",
    "cancellation",
    "sharing",
    "durability",
    "model",
    "faults",
    "damage",
)
"""In the order in which they are run."""


@cache
def all_checks() -> Sequence[Check]:
    """The kit's own checks, then those that installed plugins add.

    Raises:
        ValueError: two checks have one id.
    """
    found: dict[str, Check] = {}
    for check in [*_own_checks(), *_plugin_checks()]:
        if check.id in found:
            raise ValueError(f"two checks have the id {check.id!r}")
        found[check.id] = check
    return tuple(found.values())


def _own_checks() -> Iterable[Check]:
    for name in MODULES:
        collector: Collector = import_module(f"{__name__}.{name}").check
        yield from collector.checks


def _plugin_checks() -> Iterable[Check]:
    try:
        from zidane_core.opening.extras import ask_plugins
    except ImportError:
        return
    for checks in ask_plugins("zidane_conformance_checks"):
        yield from checks
