"""Sessions as JSON files in a directory."""

from .store import JsonDirStore

__all__ = ["JsonDirStore"]
