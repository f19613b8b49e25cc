"""The pure rules for artifacts: what may be recorded, what an upsert keeps, what is evicted."""

from __future__ import annotations

from typing import Any

import pytest

from zidane_core import (
    ARTIFACT_LABEL_MAX_CHARS,
    ARTIFACT_META_MAX_BYTES,
    ArtifactFilter,
    SessionArtifact,
    matches_artifact_filter,
    merge_artifact,
    normalize_artifact_input,
    select_artifact_evictions,
    sort_artifacts,
)


def artifact(artifact_id: str, **fields: Any) -> SessionArtifact:
    given = {"session_id": "s", "kind": "file", "uri": artifact_id, "label": "l", "created_at": 1, "updated_at": 1}
    return SessionArtifact(**{"id": artifact_id, **given, **fields})


LABELLED = {"kind": "k", "uri": "u", "label": "l"}
HOPELESS: list[object] = [
    None,
    5,
    [],
    {},
    {"kind": "file", "uri": "u"},
    LABELLED | {"kind": " "},
    LABELLED | {"kind": "k" * 129},
    LABELLED | {"uri": "u" * 4_097},
]


@pytest.mark.parametrize("raw", HOPELESS)
def test_an_input_that_cannot_be_mended_is_none(raw: object) -> None:
    assert normalize_artifact_input(raw) is None


def test_what_can_be_mended_is_clipped_or_dropped() -> None:
    raw = {"kind": " file ", "uri": "u", "label": "\U0001f600" * 600, "meta": "x" * ARTIFACT_META_MAX_BYTES}
    mended = normalize_artifact_input(raw)
    assert mended is not None
    assert (mended.kind, mended.meta) == ("file", None)
    assert mended.label == "\U0001f600" * ARTIFACT_LABEL_MAX_CHARS
    assert normalize_artifact_input({**raw, "meta": {"size": float("nan")}}) == mended


def test_an_upsert_keeps_the_identity_and_refreshes_the_rest() -> None:
    old = artifact("a", run_id="r", turn_id="t", meta={"v": 1}, updated_at=9)
    new = artifact("b", label="new", run_id="other", created_at=5, updated_at=7, project_root="/p")
    merged = merge_artifact(old, new)
    assert (merged.id, merged.run_id, merged.turn_id, merged.created_at) == ("a", "r", "t", 1)
    assert (merged.label, merged.meta, merged.project_root, merged.updated_at) == ("new", {"v": 1}, "/p", 9)


def test_the_oldest_files_go_first_and_other_kinds_last() -> None:
    rows = [artifact("c", kind="commit", created_at=0), artifact("f2", created_at=2), artifact("f1", created_at=1)]
    assert select_artifact_evictions(rows, cap=4) == []
    assert select_artifact_evictions(rows, cap=3) == ["f1"]
    assert select_artifact_evictions(rows, cap=1) == ["f1", "f2", "c"]


def test_listings_are_most_recent_first_with_ties_by_id() -> None:
    rows = [artifact("b"), artifact("a"), artifact("z", updated_at=5)]
    assert [row.id for row in sort_artifacts(rows)] == ["z", "a", "b"]
    assert [row.id for row in rows] == ["b", "a", "z"], "a new list"


def test_a_filter_tells_untagged_from_any() -> None:
    tagged, untagged = artifact("a", project_root="/p"), artifact("b")
    assert matches_artifact_filter(tagged, None)
    assert [matches_artifact_filter(row, ArtifactFilter()) for row in (tagged, untagged)] == [True, True]
    wanted = ArtifactFilter(project_root=None)
    assert [matches_artifact_filter(row, wanted) for row in (tagged, untagged)] == [False, True]
    assert not matches_artifact_filter(tagged, ArtifactFilter(since=2))
    assert matches_artifact_filter(tagged, ArtifactFilter(since=1, kind="file", uri="a", session_id="s"))
