"""Artifacts: what a session produced, such as a branch, a commit, a pull request or a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec
from msgspec import UNSET

from zidane_core.codec import encode_value as _encode_value
from zidane_core.codec import json_of
from zidane_core.errors import InvalidContentError
from zidane_core.records import SessionArtifact, SessionArtifactInput

if TYPE_CHECKING:
    from .values import ArtifactFilter

ARTIFACT_KINDS: Final[Mapping[str, str]] = MappingProxyType(
    {"branch": "branch", "commit": "commit", "file": "file", "pull_request": "pull_request"}
)
"""The built-in kinds. The set is open: extensions add their own."""

ARTIFACTS_METADATA_KEY = "artifacts"
"""Where a tool puts its artifact inputs in a result's metadata."""

ARTIFACTS_PER_SESSION_CAP = 200
ARTIFACT_META_MAX_BYTES = 16_384
"""Of the JSON encoding; a larger `meta` is dropped from the input."""

ARTIFACT_LABEL_MAX_CHARS = 500
"""A longer label is clipped."""

_KIND_MAX_CHARS = 128
_URI_MAX_CHARS = 4_096


def normalize_artifact_input(raw: object) -> SessionArtifactInput | None:
    """A usable artifact input from an untrusted value, or None.

    A label that is too long is clipped, a `meta` past `ARTIFACT_META_MAX_BYTES` or not JSON is dropped. A missing or
    oversized `kind` or `uri`, or a missing label, cannot be mended.
    """
    if not isinstance(raw, Mapping):
        return None
    given = cast("Mapping[str, Any]", raw)
    kind, uri, label = (_text(given.get(key)) for key in ("kind", "uri", "label"))
    if not (kind and uri and label) or len(kind) > _KIND_MAX_CHARS or len(uri) > _URI_MAX_CHARS:
        return None
    return SessionArtifactInput(
        kind=kind,
        uri=uri,
        label=label[:ARTIFACT_LABEL_MAX_CHARS],
        meta=_bounded_meta(given.get("meta")),
        project_root=_text(given.get("projectRoot")) or None,
    )


def merge_artifact(existing: SessionArtifact, incoming: SessionArtifact) -> SessionArtifact:
    """The row that an upsert stores over `existing`.

    Identity (`id`, `run_id`, `turn_id`, `created_at`) stays; the label is refreshed, `meta` and `project_root` where
    the incoming row has them; `updated_at` becomes the later of the two.
    """
    return msgspec.structs.replace(
        existing,
        label=incoming.label,
        meta=existing.meta if incoming.meta is None else incoming.meta,
        project_root=existing.project_root if incoming.project_root is None else incoming.project_root,
        updated_at=max(existing.updated_at, incoming.updated_at),
        extra={**existing.extra, **incoming.extra},
    )


def select_artifact_evictions(current: Sequence[SessionArtifact], cap: int = ARTIFACTS_PER_SESSION_CAP) -> list[str]:
    """Ids to remove so that one more artifact leaves at most `cap`: files first, the oldest first within a kind.

    Ties keep the order given, so pass rows in insertion order.
    """
    surplus = len(current) + 1 - cap
    if surplus <= 0:
        return []
    ordered = sorted(current, key=lambda artifact: (artifact.kind != ARTIFACT_KINDS["file"], artifact.created_at))
    return [artifact.id for artifact in ordered[:surplus]]


def matches_artifact_filter(artifact: SessionArtifact, where: ArtifactFilter | None) -> bool:
    """Whether the filter's fields all match; `limit` is not one of them."""
    if where is None:
        return True
    wanted = ((where.session_id, artifact.session_id), (where.kind, artifact.kind), (where.uri, artifact.uri))
    return (
        all(value is None or value == found for value, found in wanted)
        and (where.project_root is UNSET or where.project_root == artifact.project_root)
        and (where.since is None or artifact.updated_at >= where.since)
    )


def sort_artifacts(artifacts: Iterable[SessionArtifact]) -> list[SessionArtifact]:
    """A new list, most recently updated first, ties by id."""
    return sorted(artifacts, key=lambda artifact: (-artifact.updated_at, artifact.id))


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _bounded_meta(meta: Any) -> Any:
    try:
        size = len(json_of(_encode_value(meta)))
    except InvalidContentError:
        return None
    return meta if size <= ARTIFACT_META_MAX_BYTES else None
