"""The SQLite store keeps the whole contract, at both durabilities."""

from __future__ import annotations

import tempfile

from zidane_core.conformance import StoreConformance

FOLDER = tempfile.TemporaryDirectory(prefix="zidane-conformance-")


class TestFull(StoreConformance):
    """Acknowledged survives a power cut."""

    target = f"sqlite:///{FOLDER.name}/full.db"


class TestNormal(StoreConformance):
    """Acknowledged survives the death of the process."""

    target = f"sqlite:///{FOLDER.name}/normal.db?synchronous=normal"
