"""What store methods take and answer, besides the persisted records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from zidane_core.blocks import JsonValue
from zidane_core.records import JsonObject, Record, RunOwner, SendRequestRecord, Status

T = TypeVar("T")

Patch: TypeAlias = Mapping[str, "JsonValue | UnsetType"]
"""Metadata keys to write; `UNSET` removes the key, `None` stores a null."""


class Guard(msgspec.Struct, frozen=True, kw_only=True):
    """What must hold for a write to happen."""

    fence: int | None = None
    """The epoch of the claim that this write belongs to; a superseded one is RunFencedError."""
    expected_rev: int | None = None
    """The revision that the session must still have (0: it must not exist yet), or RevisionConflictError."""
    op_id: str | None = None
    """The operation's id: a call that repeats it gets the first answer, and takes effect once."""


NO_GUARD = Guard()


class Written(Record, frozen=True, kw_only=True):
    """A write's answer: the session's revision after it and before it, and how many turns were new.

    `previous` lets a writer see whether anybody wrote since its own last write; it is `rev` where nothing changed, and
    0 for a creation.
    """

    rev: int
    previous: int = 0
    added: int = 0


class Page(msgspec.Struct, Generic[T], frozen=True):
    """A part of a listing. `next` is the opaque cursor of the next page, None on the last one."""

    items: list[T]
    next: str | None = None


class SessionFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which sessions to list; fields combine with AND. None matches sessions without the value, UNSET all."""

    agent_id: str | UnsetType | None = UNSET
    status: Status | UnsetType = UNSET
    project_root: str | UnsetType | None = UNSET


class ArtifactFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which artifacts to list; fields combine with AND. `project_root`: None matches those without one, UNSET all."""

    session_id: str | None = None
    kind: str | None = None
    uri: str | None = None
    project_root: str | UnsetType | None = UNSET
    since: int | None = None
    """Only those updated at this time (epoch ms) or later."""
    limit: int | None = None


class RunClaim(Record, frozen=True, kw_only=True):
    """The answer to a claim.

    Granted: `epoch` is the fence of the run's writes, `previous` the status it replaced, `holder` whom it displaced.
    Refused: `epoch` (0 where the holder has none), `holder` and `quiet_ms` describe the run that holds the session;
    `quiet_ms` is the time since its last write or renewal by the store's clock.
    """

    claimed: bool
    epoch: int
    rev: int
    previous: Status
    previous_rev: int = 0
    """The session's revision before a granted claim."""
    holder: RunOwner | None = None
    quiet_ms: int = 0


class SendRequestClaim(Record, frozen=True, kw_only=True):
    """`claimed`: the request id is now the caller's. Otherwise `record` is the one that holds it."""

    claimed: bool
    record: SendRequestRecord | None = None


class Capabilities(Record, frozen=True, kw_only=True):
    """What a store declares that it can do. The kit holds it to every word."""

    meta: bool = False
    history: bool = False
    claims: bool = False
    send_requests: bool = False
    artifacts: bool = False
    schedules: bool = False
    ids: bool = False
    guards: bool = False
    """`fence` and `expected_rev` are honoured on every write."""
    operations: bool = False
    """A call that repeats an `op_id` gets the first answer."""
    scopes: bool = False
    """`in_scope` keeps tenants apart."""
    durable: Literal["no", "process", "power"] = "no"
    """What an acknowledged write survives: nothing, the death of the process, a power cut."""
    shared: Literal["instance", "process", "host", "network"] = "instance"
    """Who sees the same data through handles of their own."""
    max_sessions: int | None = None
    max_turn_bytes: int | None = None
    max_batch_turns: int | None = None


CAPABILITIES = (
    "meta",
    "history",
    "claims",
    "send_requests",
    "artifacts",
    "schedules",
    "ids",
    "guards",
    "operations",
    "scopes",
)
"""Their names: the fields of `Capabilities` that are either declared or not."""


def full_capabilities(
    *,
    durable: Literal["no", "process", "power"],
    shared: Literal["instance", "process", "host", "network"],
    max_turn_bytes: int | None = None,
    max_batch_turns: int | None = None,
) -> Capabilities:
    """What a store declares that has all of the contract; what depends on its backend is given."""
    everything: dict[str, Any] = dict.fromkeys(CAPABILITIES, True)
    return Capabilities(
        **everything,
        durable=durable,
        shared=shared,
        max_turn_bytes=max_turn_bytes,
        max_batch_turns=max_batch_turns,
    )


class Health(Record, frozen=True, kw_only=True):
    """What a store says of its backend. `details` are the backend's own facts, without secrets."""

    ok: bool
    backend: str
    version: str = ""
    details: JsonObject = msgspec.field(default_factory=dict[str, Any])
