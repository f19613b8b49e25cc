"""One session kept in a map of file names to texts, which the host puts where it likes; or in a directory."""

from .adapter import FileMapAdapter, FileMapStoreOptions
from .directory import DirectoryAdapter
from .store import FileMapStore

__all__ = ["DirectoryAdapter", "FileMapAdapter", "FileMapStore", "FileMapStoreOptions"]
