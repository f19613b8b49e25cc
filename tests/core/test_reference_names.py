"""Every name of the reference has its Python form, with the same fields and options.

The reference is the TypeScript module that this library follows; what it names in camelCase is in snake_case here.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

import zidane_core
from zidane_core import messages
from zidane_core.session import ActiveRun, ChildRun, RunStats, SendRequest, Session
from zidane_core.store import SessionStore

FUNCTIONS = {
    "autoDetectAndConvert": "auto_detect_and_convert",
    "createMemoryStore": "MemoryStore",
    "createSession": "create_session",
    "currentExtensionSession": "current_extension_session",
    "deleteExtensionSessionState": "delete_extension_session_state",
    "demoteStaleRunningStatus": "demote_stale_running_status",
    "dropInvalidToolPairings": "drop_invalid_tool_pairings",
    "fromAnthropic": "from_anthropic",
    "fromOpenAI": "from_openai",
    "getExtensionSessionState": "get_extension_session_state",
    "interruptedToolResultOutput": "interrupted_tool_result_output",
    "loadSession": "load_session",
    "matchesArtifactFilter": "matches_artifact_filter",
    "mergeArtifact": "merge_artifact",
    "mergeSessionMetadata": "merge_session_metadata",
    "normalizeArtifactInput": "normalize_artifact_input",
    "resumeChainRunIds": "resume_chain_run_ids",
    "selectArtifactEvictions": "select_artifact_evictions",
    "setExtensionSessionState": "set_extension_session_state",
    "sortArtifacts": "sort_artifacts",
    "toAnthropic": "to_anthropic",
    "toOpenAI": "to_openai",
    "toWireMessages": "to_wire_messages",
    "withExtensionSession": "extension_session",
}

CONSTANTS = {
    "ARTIFACTS_METADATA_KEY": "artifacts",
    "ARTIFACTS_PER_SESSION_CAP": 200,
    "ARTIFACT_META_MAX_BYTES": 16_384,
    "SEND_REQUEST_HISTORY": 256,
    "RUN_OWNER_HOLD_MS": 3_600_000,
    "FIRE_HISTORY": 50,
    "EXTENSION_ITEM_MAX_BYTES": 16_384,
    "EXTENSION_STATE_MAX_BYTES": 65_536,
}

# `_data`, `toJSON` and the sync run transitions have another name or shape here; the values say which.
SESSION = {
    "abortRun": "abort_run",
    "addArtifact": "add_artifact",
    "agentId": "agent_id",
    "appendTurns": "append_turns",
    "completeRun": "complete_run",
    "createdAt": "created_at",
    "errorRun": "error_run",
    "generateTurnId": "generate_turn_id",
    "healInterruptedToolCalls": "heal_interrupted_tool_calls",
    "id": "id",
    "isEmpty": "is_empty",
    "listArtifacts": "list_artifacts",
    "metadata": "metadata",
    "onMeta": "on_meta",
    "onSaved": "on_saved",
    "projectRoot": "project_root",
    "runs": "runs",
    "save": "save",
    "saveMetaKeys": "save_meta_keys",
    "setAgentId": "set_agent_id",
    "setMeta": "set_meta",
    "setRuns": "set_runs",
    "setTurns": "set_turns",
    "startRun": "start_run",
    "status": "status",
    "store": "store",
    "toJSON": "to_json",
    "toMessages": "to_messages",
    "turns": "turns",
    "updatedAt": "updated_at",
    "updateRun": "update_run",
    "updateStatus": "update_status",
}

OPTIONS: dict[Callable[..., Any], str] = {
    zidane_core.create_session: "store id agentId projectRoot metadata data onPairingDrop",
    zidane_core.load_session: "store sessionId persistHeal onPairingDrop clock",
    Session.start_run: "runId prompt agent depth label parentCallId parentRunId resumedFromRunId",
    Session.complete_run: "runId stats",
    Session.abort_run: "runId stats",
    Session.error_run: "runId error stats detail",
    Session.set_meta: "key value touch",
    Session.save_meta_keys: "keys",
    Session.append_turns: "turns run",
    Session.list_artifacts: "kind since limit",
    Session.add_artifact: "runId turnId",
    zidane_core.to_wire_messages: "turns onRepair provider resolveContentRef userTailDirective",
    zidane_core.drop_invalid_tool_pairings: "turns laneForRun onDrop",
    zidane_core.select_artifact_evictions: "current cap",
    zidane_core.merge_session_metadata: "stored incoming keys",
    SessionStore.save_meta: "session keys",
    SessionStore.save_schedule: "schedule keepNextFireAt",
    SessionStore.update_status: "sessionId status owner touch",
    SessionStore.get_turns: "sessionId start limit",
    SessionStore.claim_schedule_fire: "scheduleId dueAt nextFireAt",
}

RECORDS = {
    "ArtifactFilter": "kind limit projectRoot sessionId since uri",
    "PairingDrop": "callId index kind",
    "RunEstimate": "at calibration highMs initialMs overrunChecked revisions totalMs",
    "RunEstimateFailure": "at message reason",
    "RunOwner": "hostId pid startedAt token",
    "RunUserWait": "ms since",
    "SendRequestRecord": "createdAt fingerprint requestId result",
    "SessionArtifact": "createdAt id kind label meta projectRoot runId sessionId turnId updatedAt uri",
    "SessionArtifactInput": "kind label meta projectRoot uri",
    "SessionData": "agentId createdAt id metadata projectRoot runOwner runs status turns updatedAt",
    "SessionHistory": "runs turns",
    "SessionMetaRow": "agentId artifactCount createdAt firstUserTurn id metadata projectRoot rev runCount runOwner "
    "status turnCount updatedAt userMessageCount",
    "SessionRun": "agent cost depth endedAt error errorDetail estimate estimateFailure id label loopTurn options "
    "origin parentCallId parentRunId prompt resumable resumedFromRunId startedAt status streamRetries tokensIn "
    "tokensOut totalUsage turns turnUsage userWait wallMs",
    "SessionRunAgent": "id label",
    "SessionRunRetry": "attempt code delayMs discardedText errorType maxAttempts message statusCode turnId",
    "StoredRunOptions": "behavior model modelOptions thinking",
    "SessionTurn": "id role content createdAt runId usage",
}

STORE = {
    "appendTurns": "append_turns",
    "claimRun": "claim_run",
    "claimScheduleFire": "claim_schedule_fire",
    "claimSendRequest": "claim_send_request",
    "close": "aclose",
    "delete": "delete",
    "deleteArtifact": "delete_artifact",
    "deleteSchedule": "delete_schedule",
    "findSendRequest": "find_send_request",
    "generateSessionId": "generate_session_id",
    "generateTurnId": "generate_turn_id",
    "getMeta": "get_meta",
    "getTurns": "get_turns",
    "list": "list_ids",
    "listArtifacts": "list_artifacts",
    "listMeta": "list_meta",
    "listScheduleFires": "list_schedule_fires",
    "listSchedules": "list_schedules",
    "load": "load",
    "mutateHistory": "mutate_history",
    "patchMeta": "patch_meta",
    "recordScheduleFire": "record_schedule_fire",
    "save": "save",
    "saveMeta": "save_meta",
    "saveSchedule": "save_schedule",
    "settleSendRequest": "settle_send_request",
    "updateRun": "update_run",
    "updateStatus": "update_status",
    "upsertArtifact": "upsert_artifact",
}

TYPES = ["PairingDropKind", "SendRequestClaim", "SessionMetaListener", "SessionSavedListener", "SessionMessage"]


@pytest.mark.parametrize(("reference", "name"), FUNCTIONS.items())
def test_a_function_of_the_reference_is_public(reference: str, name: str) -> None:
    assert name in zidane_core.__all__
    assert inspect.getdoc(getattr(zidane_core, name))


@pytest.mark.parametrize(("name", "value"), CONSTANTS.items())
def test_a_constant_of_the_reference_has_its_value(name: str, value: object) -> None:
    assert getattr(zidane_core, name) == value


def test_the_kinds_of_artifacts_are_the_references() -> None:
    kinds = {"branch": "branch", "commit": "commit", "file": "file", "pull_request": "pull_request"}
    assert {str(kind) for kind in zidane_core.ARTIFACT_KINDS} >= set(kinds)


@pytest.mark.parametrize("name", TYPES)
def test_a_type_of_the_reference_is_public(name: str) -> None:
    assert name in {*zidane_core.__all__, *messages.__all__}


@pytest.mark.parametrize(("kind", "members"), [(Session, SESSION), (SessionStore, STORE)])
def test_every_member_of_an_interface_is_there(kind: type, members: dict[str, str]) -> None:
    assert [name for name in members.values() if not hasattr(kind, name)] == []


@pytest.mark.parametrize(("function", "names"), OPTIONS.items(), ids=lambda each: getattr(each, "__qualname__", ""))
def test_every_option_is_a_parameter(function: Callable[..., Any], names: str) -> None:
    assert {_snake(name) for name in names.split()} <= set(inspect.signature(function).parameters)


@pytest.mark.parametrize(("name", "fields"), RECORDS.items())
def test_a_record_has_every_field_spelt_as_on_the_wire(name: str, fields: str) -> None:
    """snake_case in Python, and the reference's own spelling in JSON."""
    known = {field.name: field.encode_name for field in msgspec.structs.fields(getattr(zidane_core, name))}
    assert {_snake(field) for field in fields.split()} <= set(known)
    if issubclass(getattr(zidane_core, name), zidane_core.Record):
        assert {known[_snake(field)] for field in fields.split()} == set(fields.split())


@pytest.mark.parametrize("kind", [Session, ActiveRun, ChildRun, SendRequest, RunStats])
def test_every_public_member_of_a_session_says_what_it_does(kind: type) -> None:
    """But for properties whose name says it all."""
    silent = [
        name
        for name, member in inspect.getmembers(kind)
        if not name.startswith("_") and callable(member) and not inspect.getdoc(member)
    ]
    assert silent == []


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).lower()
