"""Whether a store may be used: it is open, in the process that opened it."""

from __future__ import annotations

import os

from zidane_core.errors import StoreClosedError, StoreForkedError


class Lifecycle:
    """A handle's state. A scoped handle is closed with the one it came from; closing it leaves that one open."""

    def __init__(self, name: str, parent: Lifecycle | None = None) -> None:
        self._name, self._parent = name, parent
        self._opened = parent is not None
        self._closed = False
        self._pid = os.getpid()

    @property
    def is_open(self) -> bool:
        return self._opened and not self._closed

    def check_reopening(self) -> None:
        """Closed is closed: raises StoreClosedError."""
        if self._closed:
            raise StoreClosedError(self._name)

    def begin(self) -> None:
        """Mark the store open, in this process."""
        self._opened, self._pid = True, os.getpid()

    def end(self) -> bool:
        """Mark it closed. Whether there is something to release: not twice, not in a fork, not for a scoped handle."""
        owns = self.is_open and self._parent is None and self._pid == os.getpid()
        self._closed = True
        return owns

    def check(self) -> None:
        """Return when the store may be used. Raises StoreClosedError or StoreForkedError."""
        if not self.is_open:
            raise StoreClosedError(self._name, opened=self._closed)
        if self._pid != os.getpid():
            raise StoreForkedError(self._name, opened_in=self._pid, used_in=os.getpid())
        if self._parent is not None:
            self._parent.check()
