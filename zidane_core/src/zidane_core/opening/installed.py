"""What is installed, for `zidane stores`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from zidane_core.errors import SchemeConflictError
from zidane_core.store import Capabilities

from .url import StoreURL

if TYPE_CHECKING:
    from .schemes import StoreEntry


class InstalledStore(msgspec.Struct, frozen=True, kw_only=True):
    """A URL scheme and a distribution that claims it. `error` says why `open_store` would refuse it."""

    scheme: str
    distribution: str
    version: str
    capabilities: Capabilities | None = None
    error: str | None = None


def installed_stores() -> list[InstalledStore]:
    """Every installed scheme, sorted. This imports the plugins; a broken one is a row with its error."""
    from .schemes import claimants, store_entries

    rows: list[InstalledStore] = []
    entries = store_entries()
    for entry in entries:
        rivals = claimants(entry.scheme, [each for each in entries if each.scheme == entry.scheme])
        capabilities, error = _declared(entry)
        if len(rivals) > 1:
            error = str(SchemeConflictError(entry.scheme, rivals))
        rows.append(
            InstalledStore(
                scheme=entry.scheme,
                distribution=entry.distribution,
                version=entry.version,
                capabilities=capabilities,
                error=error,
            )
        )
    return rows


def _declared(entry: StoreEntry) -> tuple[Capabilities | None, str | None]:
    from .schemes import load_plugin

    try:
        plugin = load_plugin(entry)
        return plugin.call("zidane_store_capabilities", url=StoreURL(f"{entry.scheme}://")), None
    except Exception as error:  # noqa: BLE001 -- one broken plugin must not hide the others
        return None, str(error)
