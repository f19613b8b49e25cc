"""The bodies of requests, joined from the texts that the checked calls have made already."""

from __future__ import annotations

from collections.abc import Sequence

from zidane_core import codec
from zidane_core.blocks import JsonValue
from zidane_core.codec import EncodedRun, EncodedTurn
from zidane_core.records import Record
from zidane_core.store import AppendRequest, HistoryRequest, MetadataChange, SnapshotRequest

from ._wire.bodies import SnapshotHeader
from ._wire.json_text import array_of, object_of, text_of


def append_body(request: AppendRequest) -> bytes:
    return object_of(
        turns=_array(request.turns),
        create=optional(request.create),
        run=None if request.run is None else codec.json_of(request.run.stored),
        metadata=None if request.metadata is None else patch_body(request.metadata),
    )


def run_body(request: AppendRequest) -> bytes:
    run = request.run
    return object_of(run=None if run is None else codec.json_of(run.stored), create=optional(request.create))


def snapshot_body(request: SnapshotRequest) -> bytes:
    """Of a `save`, and of a `save_meta` where the request has no turns."""
    session, change = request.session, request.metadata
    header = SnapshotHeader(
        created_at=session.created_at,
        updated_at=session.updated_at,
        status=session.status,
        agent_id=session.agent_id,
        project_root=session.project_root,
        creation_id=None if request.create is None else request.create.creation_id,
        extra=session.extra,
    )
    return object_of(
        header=text_of(header),
        turns=None if request.turns is None else _array(request.turns),
        runs=_array(request.runs),
        metadata=_value(change.values),
        keys=None if change.replaces_all else _value([*change.values, *sorted(change.removed)]),
        create=None if request.create is None else b"true",
    )


def history_body(request: HistoryRequest) -> bytes:
    runs = None if request.runs is None else _array(request.runs)
    return object_of(turns=_array(request.turns), runs=runs)


def patch_body(change: MetadataChange) -> bytes:
    return object_of(set=_value(change.values), remove=_value(sorted(change.removed)))


def optional(record: Record | None) -> bytes | None:
    return None if record is None else text_of(record)


def _array(records: Sequence[EncodedTurn] | Sequence[EncodedRun]) -> bytes:
    return array_of(codec.json_of(record.stored) for record in records)


def _value(value: JsonValue) -> bytes:
    return codec.json_of(codec.encode_value(value))
