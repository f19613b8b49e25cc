"""Sessions behind HTTP: a store for hosts that may not hold database credentials, and a server for any store.

`RemoteStore` is the client, `zidane_store_remote.server.create_app` the server (extra `[server]`).
"""

from .errors import ProtocolMismatchError, RedirectRefusedError
from .store import RemoteStore

__all__ = ["ProtocolMismatchError", "RedirectRefusedError", "RemoteStore"]
