"""The routes: one table that the client calls by, the server serves by, and the OpenAPI document is made from."""

from __future__ import annotations

from zidane_core.records import SessionArtifact, SessionData, SessionMetaRow
from zidane_core.store import Health, RunClaim, SendRequestClaim, Written

from . import bodies
from .route import Query, Route

_FILTER = (
    Query("agentId", "text or null", "Only sessions of this agent"),
    Query("status", "word", "Only sessions in this status", ("idle", "running", "completed", "error")),
    Query("projectRoot", "text or null", "Only sessions of this project"),
)
_LIMIT = Query("limit", "count", "At most so many; the server may answer with fewer and a `next`")

_UNKNOWN = ("session-not-found", "corrupt-record")
_JUDGED = (*_UNKNOWN, "run-fenced", "revision-conflict", "operation-conflict", "store-full", "read-only", "unsupported")
_CREATING = (*_JUDGED, "session-exists", "capacity", "content-too-large")
_RUN = (*_CREATING, "run-in-progress")
_LISTED = ("corrupt-record", "unsupported")
_SCHEDULE = (*_LISTED, "operation-conflict", "store-full", "read-only")


ROUTES = (
    Route("service", "GET", "/v1", "What the server is and can do, for this token", bodies.Service),
    Route("health", "GET", "/v1/health", "What the served store says of itself", Health),
    Route(
        "list_ids",
        "GET",
        "/v1/session-ids",
        "Session ids in UTF-8 order; complete for every session that exists throughout the walk",
        bodies.IdPage,
        query=(*_FILTER, _LIMIT, Query("after", "text", "Only ids greater than this one: the `next` of a page")),
    ),
    Route(
        "list_meta",
        "GET",
        "/v1/sessions",
        "Sessions without their turns, most recently updated first",
        bodies.MetaPage,
        query=(*_FILTER, _LIMIT, Query("after", "text", "The `next` of the page before")),
        problems=_LISTED,
    ),
    Route(
        "load",
        "GET",
        "/v1/sessions/{session}",
        "The whole session at one revision",
        SessionData,
        query=(
            Query(
                "damaged",
                "word",
                "`skip` leaves unreadable records out and reports them in `damage`",
                ("raise", "skip"),
            ),
        ),
        problems=_UNKNOWN,
        streams=True,
    ),
    Route(
        "save",
        "PUT",
        "/v1/sessions/{session}",
        "Replace a session's turns, runs and header, or create it",
        Written,
        body=bodies.Save,
        problems=_RUN,
    ),
    Route(
        "delete",
        "DELETE",
        "/v1/sessions/{session}",
        "Remove a session with all that belongs to it",
        bodies.Changed,
        problems=_JUDGED,
    ),
    Route(
        "get_meta",
        "GET",
        "/v1/sessions/{session}/meta",
        "The session without its turns",
        SessionMetaRow,
        problems=(*_UNKNOWN, "unsupported"),
    ),
    Route(
        "save_meta",
        "PUT",
        "/v1/sessions/{session}/meta",
        "Write the header, metadata and runs of a snapshot, never its turns",
        Written,
        body=bodies.SaveMeta,
        problems=_RUN,
    ),
    Route(
        "patch_meta",
        "PATCH",
        "/v1/sessions/{session}/meta",
        "Write and remove metadata keys and nothing else",
        Written,
        body=bodies.MetadataPatch,
        problems=_JUDGED,
    ),
    Route(
        "get_turns",
        "GET",
        "/v1/sessions/{session}/turns",
        "Turns from a position on, or the last ones in order",
        bodies.Turns,
        query=(
            Query("start", "count", "The position to begin at, from 0"),
            Query("limit", "count", "At most so many; without it, all"),
            Query("last", "count", "The last so many; goes without `start` and `limit`"),
        ),
        problems=_UNKNOWN,
        streams=True,
    ),
    Route(
        "append_turns",
        "POST",
        "/v1/sessions/{session}/turns",
        "Add turns at the end, and with them a run and metadata, all or nothing",
        Written,
        body=bodies.Append,
        problems=(*_RUN, "turn-conflict"),
    ),
    Route(
        "truncate",
        "POST",
        "/v1/sessions/{session}/truncate",
        "Remove a turn and all after it; the answer holds them",
        bodies.Turns,
        body=bodies.Truncate,
        problems=(*_JUDGED, "turn-not-found"),
        streams=True,
    ),
    Route(
        "replace_history",
        "PUT",
        "/v1/sessions/{session}/history",
        "Replace the history that was read at the revision in If-Match, which is required",
        bodies.Mutated,
        body=bodies.ReplaceHistory,
        problems=(*_RUN, "turn-conflict"),
    ),
    Route(
        "recall_mutation",
        "GET",
        "/v1/sessions/{session}/operations/{operation}",
        "The first answer of a history's replacement with this operation id, if there was one",
        bodies.Mutated,
        problems=(*_UNKNOWN, "operation-conflict", "unsupported"),
    ),
    Route(
        "update_run",
        "POST",
        "/v1/sessions/{session}/runs",
        "Insert a run record, or replace the one with its id",
        Written,
        body=bodies.UpdateRun,
        problems=_RUN,
    ),
    Route(
        "update_status",
        "PUT",
        "/v1/sessions/{session}/status",
        "Set the status; any but `running` ends the claim",
        Written,
        body=bodies.UpdateStatus,
        problems=_RUN,
    ),
    Route(
        "claim_run",
        "POST",
        "/v1/sessions/{session}/claim",
        "Take the session for a run; a refusal is an answer, and tells who holds it",
        RunClaim,
        body=bodies.ClaimRun,
        problems=_CREATING,
    ),
    Route(
        "renew_run",
        "POST",
        "/v1/sessions/{session}/claim/renew",
        "Refresh the claim in Zidane-Fence, which is required",
        bodies.Changed,
        problems=_JUDGED,
    ),
    Route(
        "find_send_request",
        "GET",
        "/v1/sessions/{session}/send-requests/{request}",
        "The record of a claimed request id, if there is one",
        bodies.SendRequestFound,
        problems=_LISTED,
    ),
    Route(
        "claim_send_request",
        "POST",
        "/v1/sessions/{session}/send-requests/{request}",
        "Claim a request id, once; a later claim gets the record that holds it",
        SendRequestClaim,
        body=bodies.ClaimSendRequest,
        problems=_CREATING,
    ),
    Route(
        "settle_send_request",
        "PUT",
        "/v1/sessions/{session}/send-requests/{request}",
        "Store a claimed request's result, or drop the claim",
        bodies.Changed,
        body=bodies.SettleSendRequest,
        problems=_JUDGED,
    ),
    Route(
        "list_artifacts",
        "GET",
        "/v1/artifacts",
        "Artifacts, most recently updated first",
        bodies.Artifacts,
        query=(
            Query("sessionId", "text", "Only those of this session"),
            Query("kind", "text", "Only those of this kind"),
            Query("uri", "text", "Only those with this URI"),
            Query("projectRoot", "text or null", "Only those of this project"),
            Query("since", "integer", "Only those updated at this time (epoch ms) or later"),
            Query("limit", "count", "At most so many"),
        ),
        problems=_LISTED,
    ),
    Route(
        "upsert_artifact",
        "POST",
        "/v1/artifacts",
        "Record an artifact, or refresh the one with its session, kind and URI",
        SessionArtifact,
        body=bodies.UpsertArtifact,
        problems=_JUDGED,
    ),
    Route(
        "delete_artifact",
        "DELETE",
        "/v1/sessions/{session}/artifacts/{artifact}",
        "Remove one artifact",
        bodies.Changed,
        problems=_JUDGED,
    ),
    Route(
        "list_schedules",
        "GET",
        "/v1/schedules",
        "Every schedule with its last fire, oldest first",
        bodies.Schedules,
        problems=_LISTED,
    ),
    Route(
        "save_schedule",
        "POST",
        "/v1/schedules",
        "Create or replace a schedule",
        bodies.Changed,
        body=bodies.SaveSchedule,
        problems=_SCHEDULE,
        on_session=False,
    ),
    Route(
        "delete_schedule",
        "DELETE",
        "/v1/schedules/{schedule}",
        "Remove a schedule and its fires",
        bodies.Changed,
        problems=_SCHEDULE,
        on_session=False,
    ),
    Route(
        "claim_schedule_fire",
        "POST",
        "/v1/schedules/{schedule}/claim",
        "Take the fire that is due; one caller only gets it",
        bodies.Changed,
        body=bodies.ClaimScheduleFire,
        problems=_SCHEDULE,
        on_session=False,
    ),
    Route(
        "list_schedule_fires",
        "GET",
        "/v1/schedules/{schedule}/fires",
        "A schedule's fires, newest first",
        bodies.Fires,
        query=(Query("limit", "count", "At most so many"),),
        problems=_LISTED,
    ),
    Route(
        "record_schedule_fire",
        "POST",
        "/v1/fires",
        "Insert a fire, or replace the one with its id",
        bodies.Changed,
        body=bodies.RecordFire,
        problems=(*_SCHEDULE, "schedule-not-found"),
        on_session=False,
    ),
    Route(
        "new_id",
        "POST",
        "/v1/ids",
        "A new id that nothing in the store has",
        bodies.GivenId,
        body=bodies.NewId,
        problems=("unsupported",),
        on_session=False,
    ),
)

BY_NAME = {route.name: route for route in ROUTES}

COMMON_PROBLEMS = (
    "invalid-argument",
    "invalid-id",
    "protocol-mismatch",
    "unauthorized",
    "forbidden",
    "request-timeout",
    "too-many-requests",
    "internal-error",
    "store-unavailable",
    "store-busy",
    "schema-too-new",
)
"""Those that every route can answer."""

BODY_PROBLEMS = ("content-too-large", "unsupported-encoding", "invalid-content")
"""Those of every route with a body."""
