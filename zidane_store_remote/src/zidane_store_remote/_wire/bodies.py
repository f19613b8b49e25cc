"""The bodies of requests and answers. A body's own unknown members are refused, since they would be ignored; those of
the session records inside are data, and kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from zidane_core.blocks import JsonValue
from zidane_core.records import (
    JsonObject,
    Record,
    RunOwner,
    Schedule,
    ScheduleFire,
    SendRequestRecord,
    SessionArtifact,
    SessionData,
    SessionHeader,
    SessionMetaRow,
    SessionRun,
    SessionTurn,
    Status,
)
from zidane_core.store import Capabilities, Written

# -- requests ---------------------------------------------------------------------------------


class MetadataPatch(Record, frozen=True, kw_only=True):
    """Metadata keys to write and to remove. A null in `set` is stored as a null."""

    set: JsonObject = msgspec.field(default_factory=dict[str, JsonValue])
    remove: Sequence[str] = ()


class Append(Record, frozen=True, kw_only=True):
    turns: Sequence[SessionTurn]
    create: SessionHeader | None = None
    run: SessionRun | None = None
    metadata: MetadataPatch | None = None


class SnapshotHeader(Record, frozen=True, kw_only=True):
    """What a snapshot writes of a session besides its turns, runs and metadata."""

    created_at: int
    updated_at: int
    status: Status
    agent_id: str | None = None
    project_root: str | None = None
    creation_id: str | None = None
    """With `create`: tells a repeated creation from another one."""


class Save(Record, frozen=True, kw_only=True):
    header: SnapshotHeader
    turns: Sequence[SessionTurn]
    runs: Sequence[SessionRun]
    metadata: JsonObject
    create: bool = False


class SaveMeta(Record, frozen=True, kw_only=True):
    """`keys` names the metadata keys to write, and those of them that `metadata` lacks to remove; without it, all."""

    header: SnapshotHeader
    runs: Sequence[SessionRun]
    metadata: JsonObject
    keys: Sequence[str] | None = None


class ReplaceHistory(Record, frozen=True, kw_only=True):
    """The whole new history; without `runs` they stay."""

    turns: Sequence[SessionTurn]
    runs: Sequence[SessionRun] | None = None


class Truncate(Record, frozen=True, kw_only=True):
    """The first turn to remove."""

    turn_id: str


class UpdateRun(Record, frozen=True, kw_only=True):
    run: SessionRun
    create: SessionHeader | None = None


class UpdateStatus(Record, frozen=True, kw_only=True):
    status: Status
    owner: RunOwner | None = None
    touch: bool = True
    create: SessionHeader | None = None


class ClaimRun(Record, frozen=True, kw_only=True):
    owner: RunOwner | None = None
    displaces: int | None = None
    create: SessionHeader | None = None


class ClaimSendRequest(Record, frozen=True, kw_only=True):
    fingerprint: str
    owner: RunOwner | None = None
    create: SessionHeader | None = None


class SettleSendRequest(Record, frozen=True, kw_only=True):
    """A null result drops the claim."""

    result: JsonValue


class UpsertArtifact(Record, frozen=True, kw_only=True):
    artifact: SessionArtifact


class SaveSchedule(Record, frozen=True, kw_only=True):
    schedule: Schedule
    keep_next_fire_at: bool = False


class ClaimScheduleFire(Record, frozen=True, kw_only=True):
    due_at: int
    next_fire_at: int | None


class RecordFire(Record, frozen=True, kw_only=True):
    fire: ScheduleFire


class NewId(Record, frozen=True, kw_only=True):
    kind: Literal["session", "turn"]


# -- answers ----------------------------------------------------------------------------------


class Service(Record, frozen=True, kw_only=True):
    """What a server is and can do, for the token that asks."""

    service: str
    protocols: Sequence[int]
    capabilities: Capabilities
    max_body_bytes: int
    """Of a request, decompressed."""
    max_page: int
    """Items in a page of a listing."""
    scope: str | None = None
    """The scope that the token is bound to."""
    read_only: bool = False
    """The token may not write."""


class Changed(Record, frozen=True, kw_only=True):
    """Whether the call found something to change."""

    changed: bool


class Mutated(Record, frozen=True, kw_only=True):
    """Left empty where the stored history is the same already."""

    written: Written | None = None


class IdPage(Record, frozen=True, kw_only=True):
    items: Sequence[str]
    next: str | None = None


class MetaPage(Record, frozen=True, kw_only=True):
    items: Sequence[SessionMetaRow]
    next: str | None = None


class Turns(Record, frozen=True, kw_only=True):
    turns: Sequence[SessionTurn]


class SendRequestFound(Record, frozen=True, kw_only=True):
    record: SendRequestRecord | None = None


class Artifacts(Record, frozen=True, kw_only=True):
    items: Sequence[SessionArtifact]


class Schedules(Record, frozen=True, kw_only=True):
    items: Sequence[Schedule]


class Fires(Record, frozen=True, kw_only=True):
    items: Sequence[ScheduleFire]


class GivenId(Record, frozen=True, kw_only=True):
    id: str


class HistoryHead(Record, frozen=True, kw_only=True):
    """The first line of a history as lines: how many lines of turns and of runs follow it, in this order."""

    turns: int
    runs: int = 0
    session: SessionData | None = None
    """With its turns and runs left empty."""
