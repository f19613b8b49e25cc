"""What scripts are asked: the contract's encoded requests as plain values for MessagePack.

The MessagePack of Redis is older than the format's type for bytes: there a text is any bytes. So `blob` writes bytes
as such a text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from zidane_core import codec
from zidane_core.codec import EncodedRun, EncodedTurn
from zidane_core.records import RunOwner, SessionHeader
from zidane_core.store import MetadataChange

from ._keys import place_of


def blob(value: bytes) -> msgspec.Raw:
    """Bytes, as they have to stand in a request."""
    size = len(value)
    if size < 32:
        header = bytes((0xA0 | size,))
    elif size < 0x100:
        header = bytes((0xD9, size))
    elif size < 0x10000:
        header = b"\xda" + size.to_bytes(2)
    else:
        header = b"\xdb" + size.to_bytes(4)
    return msgspec.Raw(header + value)


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
            "place": blob(place_of(header.project_root)),
            "metadata": named_values(codec.check_value(dict(header.metadata))),
            "extra": named_values(header.extra),
        }
    }


def turn_list(turns: Iterable[EncodedTurn]) -> list[dict[str, Any]]:
    return [
        {
            "id": turn.id,
            "user": turn.role == "user",
            "stored": blob(turn.stored),
            "digest": blob(bytes.fromhex(turn.digest)),
        }
        for turn in turns
    ]


def run_list(runs: Iterable[EncodedRun]) -> list[tuple[str, msgspec.Raw]]:
    return [run_pair(run) for run in runs]


def run_pair(run: EncodedRun) -> tuple[str, msgspec.Raw]:
    return run.id, blob(run.stored)


def change(metadata: MetadataChange) -> dict[str, Any]:
    return {
        "values": named_values(metadata.values),
        "removed": [_key(name) for name in metadata.removed],
        "replaces_all": metadata.replaces_all,
    }


def named_values(values: Mapping[str, Any]) -> list[tuple[msgspec.Raw, msgspec.Raw]]:
    return [(_key(name), blob(codec.encode_value(value))) for name, value in values.items()]


def stored_owner(owner: RunOwner | None) -> msgspec.Raw | None:
    return None if owner is None else blob(codec.encode(owner))


def _key(name: str) -> msgspec.Raw:
    return blob(name.encode("utf-8", "surrogatepass"))  # a key of JSON may hold a lone surrogate
