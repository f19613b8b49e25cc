"""The memory store: the shortest code that keeps the contract, and the reference in every comparison."""

from .data import MemoryData, MemoryTransaction, SessionEntry
from .store import MEMORY_CAPABILITIES, MemoryStore

__all__ = ["MEMORY_CAPABILITIES", "MemoryData", "MemoryStore", "MemoryTransaction", "SessionEntry"]
