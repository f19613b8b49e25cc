"""What pytest is not to collect here."""

from __future__ import annotations

collect_ignore = ["zidane_store_jsondir"]  # a project of its own: its tests run where its wheel is installed
