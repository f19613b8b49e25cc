"""Everything that zidane asks of a store."""

from __future__ import annotations

import tempfile

from zidane_core.conformance import StoreConformance

FOLDER = tempfile.mkdtemp()


class TestJsonDir(StoreConformance):
    """Other processes open the same URL."""

    target = f"jsondir:///{FOLDER}/sessions?fsync=false"  # an absolute path: ////


class TestDurableJsonDir(StoreConformance):
    target = f"jsondir:///{FOLDER}/durable"
