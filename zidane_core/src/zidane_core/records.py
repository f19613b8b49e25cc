"""What is persisted: frozen records, snake_case in Python, camelCase on the wire, absent fields left out.

They are frozen because a history is shared between the session, the store and the caller: use
`msgspec.structs.replace(record, field=...)` for a changed copy. A key that this version does not know is kept in
`extra` and written back. Times are epoch milliseconds, durations milliseconds, unless a field says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import msgspec

from .blocks import ContentBlock, JsonValue, TurnUsage

Status: TypeAlias = Literal["idle", "running", "completed", "error"]
RunStatus: TypeAlias = Literal["running", "completed", "aborted", "error"]
Role: TypeAlias = Literal["user", "assistant", "system", "command"]
FireStatus: TypeAlias = Literal["started", "completed", "error", "skipped"]

if TYPE_CHECKING:
    Usage: TypeAlias = TurnUsage
    JsonObject: TypeAlias = Mapping[str, JsonValue]
else:  # plain dicts at run time, as blocks are
    Usage = dict[str, Any]
    JsonObject = dict[str, Any]

EXTRA_KEY = "$extra"
"""The codec's own name for `extra`; it never appears in stored bytes."""

_NOTHING = cast("Callable[[], dict[str, Any]]", dict)
"""An empty object. It has to be `dict` itself, or msgspec would write the empty ones out."""


class Record(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    omit_defaults=True,
    repr_omit_defaults=True,
    forbid_unknown_fields=True,
):
    """A persisted record. `extra` holds the keys that this version does not know."""

    extra: JsonObject = msgspec.field(default_factory=_NOTHING, name=EXTRA_KEY)


class RunOwner(Record, frozen=True, kw_only=True):
    """Who wrote a stored `running` marker."""

    host_id: str
    """Machine, pid namespace and boot: pids only compare within one."""
    pid: int
    token: str
    """Random for each process or claim, telling it from a later one that got the same pid."""
    started_at: int | None = None
    """When the process started, where that could be read."""
    start_ticks: int | None = None
    """The same in clock ticks since boot: unlike `started_at` it does not move when the wall clock is set."""


class SessionMessage(Record, frozen=True, kw_only=True):
    """A message of the provider-neutral format: what the converters read and write."""

    role: Literal["user", "assistant", "system"]
    content: Sequence[ContentBlock]


class SessionTurn(Record, frozen=True, kw_only=True):
    """One persisted turn. `id` is unique within its session; `created_at` is kept as given and never used to sort."""

    id: str
    role: Role
    content: Sequence[ContentBlock]
    created_at: int
    run_id: str | None = None
    usage: Usage | None = None


class SessionRunAgent(Record, frozen=True, kw_only=True):
    """A host's agent profile, as a run record names it."""

    id: str
    label: str


class SessionRunRetry(Record, frozen=True, kw_only=True):
    """One retry of a provider's stream. `attempt` counts from 1."""

    attempt: int
    max_attempts: int
    delay_ms: int
    message: str
    turn_id: str
    code: str | None = None
    error_type: str | None = None
    status_code: int | None = None
    discarded_text: bool | None = None


class RunEstimate(Record, frozen=True, kw_only=True):
    """How long a run is expected to work, waits for the user left out."""

    at: int
    initial_ms: int
    total_ms: int
    high_ms: int
    revisions: int
    calibration: float | None = None
    overrun_checked: bool | None = None


class RunEstimateFailure(Record, frozen=True, kw_only=True):
    """Why a run could not be estimated."""

    at: int
    reason: str
    message: str | None = None


class RunUserWait(Record, frozen=True, kw_only=True):
    """Time a run waited for the user: `ms` of finished waits, `since` the start of one going on."""

    ms: int
    since: int | None = None


class RunErrorDetail(Record, frozen=True, kw_only=True):
    """What a run's one-line `error` leaves out."""

    message: str | None = None
    code: str | None = None
    status_code: int | None = None
    provider: str | None = None
    retryable: bool | None = None
    reset_at: int | None = None


class StoredRunOptions(Record, frozen=True, kw_only=True):
    """The options a checkpointed run was started with, so that resuming it keeps its budget and model."""

    behavior: JsonObject | None = None
    model: JsonValue = None
    model_options: JsonObject | None = None
    thinking: str | None = None


class RunOrigin(Record, frozen=True, kw_only=True):
    """How a run was started when not by a plain prompt; `display` is the short line shown for it."""

    kind: str
    display: str | None = None


class SessionRun(Record, frozen=True, kw_only=True):
    """Record of one agent run. A stored `running` run whose process died loads as `aborted`."""

    id: str
    status: RunStatus
    prompt: str
    started_at: int
    ended_at: int | None = None
    error: str | None = None
    error_detail: RunErrorDetail | None = None
    agent: SessionRunAgent | None = None
    depth: int | None = None
    """0 for a run of the conversation itself, 1 for its subagents, and so on."""
    label: str | None = None
    parent_run_id: str | None = None
    parent_call_id: str | None = None
    resumed_from_run_id: str | None = None
    origin: RunOrigin | None = None
    turns: int | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    """Estimated cost in USD."""
    total_usage: Usage | None = None
    turn_usage: Sequence[Usage] | None = None
    estimate: RunEstimate | None = None
    estimate_failure: RunEstimateFailure | None = None
    user_wait: RunUserWait | None = None
    stream_retries: Sequence[SessionRunRetry] | None = None
    """The newest 50, oldest first."""
    resumable: bool | None = None
    loop_turn: int | None = None
    wall_ms: int | None = None
    options: StoredRunOptions | None = None


class SessionHistory(Record, frozen=True, kw_only=True):
    """A session's turns and runs: what a history edit reads and returns."""

    turns: Sequence[SessionTurn]
    runs: Sequence[SessionRun]


class SessionHeader(Record, frozen=True, kw_only=True):
    """What a creation writes. `creation_id` is random, and tells a repeated creation from another one."""

    creation_id: str
    created_at: int
    agent_id: str | None = None
    project_root: str | None = None
    metadata: JsonObject = msgspec.field(default_factory=_NOTHING)


class Damage(Record, frozen=True, kw_only=True):
    """One record that could not be read."""

    where: str
    reason: str


class SessionData(Record, frozen=True, kw_only=True):
    """The whole of a session. `rev`, `epoch`, `quiet_ms` and `run_owner` are the store's: given ones are ignored."""

    id: str
    created_at: int
    updated_at: int
    status: Status
    turns: Sequence[SessionTurn]
    runs: Sequence[SessionRun]
    metadata: JsonObject
    agent_id: str | None = None
    project_root: str | None = None
    creation_id: str | None = None
    run_owner: RunOwner | None = None
    rev: int | None = None
    epoch: int | None = None
    """The claim's epoch, while a claim holds."""
    quiet_ms: int | None = None
    """While it is running: time since the run last wrote or renewed, by the store's clock, when this was read."""
    damage: Sequence[Damage] | None = None
    """What `load(..., damaged="skip")` left out."""


class SessionMetaRow(Record, frozen=True, kw_only=True):
    """A session without its turns, for listings."""

    id: str
    updated_at: int
    metadata: JsonObject
    turn_count: int
    user_message_count: int
    run_count: int
    created_at: int | None = None
    status: Status | None = None
    agent_id: str | None = None
    project_root: str | None = None
    run_owner: RunOwner | None = None
    artifact_count: int | None = None
    first_user_turn: SessionTurn | None = None
    """Left out where the metadata has a `title`."""
    rev: int | None = None
    epoch: int | None = None
    quiet_ms: int | None = None
    """While it is running: time since the run last wrote or renewed, by the store's clock, when this was read."""


class SessionArtifactInput(Record, frozen=True, kw_only=True):
    """What a producer hands in."""

    kind: str
    uri: str
    label: str
    meta: JsonValue = None
    project_root: str | None = None


class SessionArtifact(Record, frozen=True, kw_only=True):
    """A recorded output of a session. Unique by (session, `kind`, `uri`)."""

    id: str
    session_id: str
    kind: str
    uri: str
    label: str
    created_at: int
    updated_at: int
    meta: JsonValue = None
    project_root: str | None = None
    run_id: str | None = None
    turn_id: str | None = None


class SendRequestRecord(Record, frozen=True, kw_only=True):
    """A claimed request id. Without `result` it is in flight, or its process died."""

    request_id: str
    fingerprint: str
    """A digest of what is sent: the same id with other content is refused by the caller."""
    created_at: int
    result: JsonValue = None
    owner: RunOwner | None = None


class ScheduleFire(Record, frozen=True, kw_only=True):
    """One firing of a schedule."""

    id: str
    schedule_id: str
    due_at: int
    fired_at: int
    status: FireStatus
    session_id: str | None = None
    run_id: str | None = None
    error: str | None = None


class Schedule(Record, frozen=True, kw_only=True):
    """A prompt to run later or again and again: by `cron`, `every_ms` or `at`."""

    id: str
    prompt: str
    enabled: bool
    next_fire_at: int | None
    created_at: int
    updated_at: int
    name: str | None = None
    session_id: str | None = None
    agent_id: str | None = None
    project_root: str | None = None
    cron: str | None = None
    every_ms: int | None = None
    at: int | None = None
    timezone: str | None = None
    metadata: JsonObject | None = None
    last_fire: ScheduleFire | None = None
    """Filled in by listings; not stored with the schedule."""
