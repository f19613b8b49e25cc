"""The memory store: the shortest code that keeps the contract, and the reference in every comparison."""

from .data import MemoryData, MemoryTransaction, SessionEntry
from .store import MEMORY_CAPABILITIES, MemoryStore, wall_clock_ms

__all__ = ["MEMORY_CAPABILITIES", "MemoryData", "MemoryStore", "MemoryTransaction", "SessionEntry", "wall_clock_ms"]
