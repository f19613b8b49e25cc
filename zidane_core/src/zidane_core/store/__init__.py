"""The store contract, and what a store is written on."""

from msgspec import UNSET, UnsetType

from .around import Operation, Proceed
from .artifacts import (
    ARTIFACT_KINDS,
    ARTIFACT_LABEL_MAX_CHARS,
    ARTIFACT_META_MAX_BYTES,
    ARTIFACTS_METADATA_KEY,
    ARTIFACTS_PER_SESSION_CAP,
    matches_artifact_filter,
    merge_artifact,
    normalize_artifact_input,
    select_artifact_evictions,
    sort_artifacts,
)
from .base import BaseStore
from .checks import check_count, check_id, check_label
from .collections import FIRE_HISTORY, SEND_REQUEST_HISTORY, may_fire
from .filters import matches_session_filter
from .foundation import TURN_MAX_BYTES
from .head import Head
from .metadata import MetadataChange, merge_session_metadata
from .middleware import StoreMiddleware
from .operations import OPERATION_HISTORY, OPERATION_HOLD_MS, fingerprint_of, mutation_fingerprint
from .protocol import SessionStore
from .reading import SessionTexts, decode_runs, decode_turns, meta_row_of, session_of
from .requests import AppendRequest, HistoryRequest, SnapshotRequest
from .transaction import Transaction
from .transactional import TransactionalStore
from .values import (
    CAPABILITIES,
    NO_GUARD,
    ArtifactFilter,
    Capabilities,
    Guard,
    Health,
    Page,
    Patch,
    RunClaim,
    SendRequestClaim,
    SessionFilter,
    Written,
    full_capabilities,
)

__all__ = [
    "ARTIFACTS_METADATA_KEY",
    "ARTIFACTS_PER_SESSION_CAP",
    "ARTIFACT_KINDS",
    "ARTIFACT_LABEL_MAX_CHARS",
    "ARTIFACT_META_MAX_BYTES",
    "CAPABILITIES",
    "FIRE_HISTORY",
    "NO_GUARD",
    "OPERATION_HISTORY",
    "OPERATION_HOLD_MS",
    "SEND_REQUEST_HISTORY",
    "TURN_MAX_BYTES",
    "UNSET",
    "AppendRequest",
    "ArtifactFilter",
    "BaseStore",
    "Capabilities",
    "Guard",
    "Head",
    "Health",
    "HistoryRequest",
    "MetadataChange",
    "Operation",
    "Page",
    "Patch",
    "Proceed",
    "RunClaim",
    "SendRequestClaim",
    "SessionFilter",
    "SessionStore",
    "SessionTexts",
    "SnapshotRequest",
    "StoreMiddleware",
    "Transaction",
    "TransactionalStore",
    "UnsetType",
    "Written",
    "check_count",
    "check_id",
    "check_label",
    "decode_runs",
    "decode_turns",
    "fingerprint_of",
    "full_capabilities",
    "matches_artifact_filter",
    "matches_session_filter",
    "may_fire",
    "merge_artifact",
    "merge_session_metadata",
    "meta_row_of",
    "mutation_fingerprint",
    "normalize_artifact_input",
    "select_artifact_evictions",
    "session_of",
    "sort_artifacts",
]
