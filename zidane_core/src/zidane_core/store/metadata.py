"""Session metadata: merging the keys that a writer changed into what others stored meanwhile."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from zidane_core.blocks import JsonValue
from zidane_core.codec import check_value

from .values import Patch


class MetadataChange(msgspec.Struct, frozen=True, kw_only=True):
    """Checked metadata to write: `values` over the stored keys without `removed`, or in place of all of them."""

    values: dict[str, Any]
    removed: frozenset[str] = frozenset()
    replaces_all: bool = False

    def apply(self, stored: Mapping[str, Any]) -> dict[str, Any]:
        """The metadata after the change."""
        kept = {} if self.replaces_all else {key: value for key, value in stored.items() if key not in self.removed}
        return {**kept, **self.values}


def change_of_patch(patch: Patch) -> MetadataChange:
    """The change that a patch asks for. Raises InvalidContentError."""
    values = {key: value for key, value in patch.items() if value is not UNSET}
    removed = frozenset(key for key, value in patch.items() if value is UNSET)
    return MetadataChange(values=check_value(values, "$.metadata"), removed=removed)


def change_of_keys(metadata: Mapping[str, JsonValue], keys: Collection[str] | None) -> MetadataChange:
    """The change that writes just `keys` of `metadata`, or all of it. Raises InvalidContentError."""
    if keys is None:
        return MetadataChange(values=check_value(dict(metadata), "$.metadata"), replaces_all=True)
    return change_of_patch({key: metadata.get(key, UNSET) for key in keys})


def merge_session_metadata(
    stored: Mapping[str, JsonValue] | None, incoming: Patch, keys: Collection[str] | None
) -> dict[str, Any]:
    """What `save_meta` stores: all of `incoming` without `keys`, else `stored` with just those keys taken from it.

    A key that `incoming` lacks, or that is `UNSET` there, is removed. Without `stored`, `incoming` is stored as it is.
    """
    if keys is None or stored is None:
        return change_of_patch(incoming).apply({})
    return change_of_patch({key: incoming.get(key, UNSET) for key in keys}).apply(stored)
