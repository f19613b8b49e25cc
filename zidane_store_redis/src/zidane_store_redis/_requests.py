"""What scripts are asked: the contract's encoded requests as plain values for MessagePack."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from zidane_core import codec
from zidane_core.codec import EncodedRun, EncodedTurn
from zidane_core.records import RunOwner, SessionHeader
from zidane_core.store import MetadataChange

from ._keys import place_of


def creation(header: SessionHeader | None) -> dict[str, Any]:
    """The field `create`, where a write carries the creation."""
    if header is None:
        return {}
    return {
        "create": {
            "creation": header.creation_id,
            "created": str(header.created_at),
            "agent": header.agent_id,
            "root": header.project_root,
            "place": place_of(header.project_root),
            "metadata": named_values(codec.check_value(dict(header.metadata))),
            "extra": named_values(header.extra),
        }
    }


def turn_list(turns: Iterable[EncodedTurn]) -> list[dict[str, Any]]:
    return [
        {"id": turn.id, "user": turn.role == "user", "stored": turn.stored, "digest": bytes.fromhex(turn.digest)}
        for turn in turns
    ]


def run_list(runs: Iterable[EncodedRun]) -> list[tuple[str, bytes]]:
    return [(run.id, run.stored) for run in runs]


def change(metadata: MetadataChange) -> dict[str, Any]:
    return {
        "values": named_values(metadata.values),
        "removed": [_key(name) for name in metadata.removed],
        "replaces_all": metadata.replaces_all,
    }


def named_values(values: Mapping[str, Any]) -> list[tuple[bytes, bytes]]:
    return [(_key(name), codec.encode_value(value)) for name, value in values.items()]


def stored_owner(owner: RunOwner | None) -> bytes | None:
    return None if owner is None else codec.encode(owner)


def _key(name: str) -> bytes:
    return name.encode("utf-8", "surrogatepass")  # a key of JSON may hold a lone surrogate
