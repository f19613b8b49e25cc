"""Frozen sets of checks: what a store that claims conformance with a version has passed."""

from __future__ import annotations

from importlib.resources import files


def required_sets() -> list[str]:
    """The versions that there is a set of."""
    names = [each.name for each in files(__name__).iterdir() if each.name.endswith(".txt")]
    return sorted(name.removesuffix(".txt") for name in names)


def required_ids(version: str) -> frozenset[str]:
    """The check ids of a set. Raises ValueError when there is none of that version."""
    if version not in required_sets():
        raise ValueError(f"no requirement set {version!r}: choose from {', '.join(required_sets())}")
    lines = (files(__name__) / f"{version}.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(line.strip() for line in lines if line.strip() and not line.startswith("#"))
