"""The whole contract for any database that can compare and swap one group of entries."""

from .names import HEAD, NAME_MAX_CHARS
from .store import CasStore

__all__ = ["HEAD", "NAME_MAX_CHARS", "CasStore"]
