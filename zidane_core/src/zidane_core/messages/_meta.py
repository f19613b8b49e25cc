"""`providerMeta`: the keys of one provider that have no neutral meaning, kept on their block or message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zidane_core.records import SessionMessage, SessionTurn

from ._plain import JsonDict

_NOTHING: Mapping[str, Any] = {}


def keep_rest(block: JsonDict, raw: Mapping[str, Any], known: frozenset[str], provider: str) -> JsonDict:
    """`block`, with the keys of `raw` that are not `known` under its `providerMeta`."""
    if raw.keys() <= known:
        return block
    rest = {key: value for key, value in raw.items() if key not in known}
    block["providerMeta"] = {provider: rest}
    return block


def meta_of(block: Mapping[str, Any], provider: str) -> Mapping[str, Any]:
    """The provider's keys on a block."""
    meta = block.get("providerMeta")
    return meta.get(provider, _NOTHING) if meta else _NOTHING


def message_meta(message: SessionMessage | SessionTurn, provider: str) -> Mapping[str, Any]:
    """The provider's keys on a whole message: they stand in `extra`, since messages have no field for them."""
    return meta_of(message.extra, provider) if message.extra else _NOTHING


def message_extra(raw: Mapping[str, Any], known: frozenset[str], provider: str) -> JsonDict:
    """What `extra` holds for a message whose keys beyond `known` shall survive."""
    if raw.keys() <= known:
        return {}
    rest = {key: value for key, value in raw.items() if key not in known and value is not None}
    return {"providerMeta": {provider: rest}} if rest else {}
