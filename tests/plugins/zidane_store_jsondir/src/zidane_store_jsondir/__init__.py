"""Sessions as JSON files in a directory."""

from .store import CAPABILITIES, JsonDirStore

__all__ = ["CAPABILITIES", "JsonDirStore"]
