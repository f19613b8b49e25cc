"""Sessions: one conversation each, kept in step with a store."""

from .extension import (
    EXTENSION_ITEM_MAX_BYTES,
    EXTENSION_STATE_MAX_BYTES,
    current_extension_session,
    delete_extension_session_state,
    extension_session,
    get_extension_session_state,
    set_extension_session_state,
)
from .loading import create_session, load_session, open_session
from .run import ActiveRun
from .run_records import RunStats
from .run_scope import ChildRun
from .saving import SessionMetaListener, SessionSavedListener
from .sending import SendRequest
from .session import Session

__all__ = [
    "EXTENSION_ITEM_MAX_BYTES",
    "EXTENSION_STATE_MAX_BYTES",
    "ActiveRun",
    "ChildRun",
    "RunStats",
    "SendRequest",
    "Session",
    "SessionMetaListener",
    "SessionSavedListener",
    "create_session",
    "current_extension_session",
    "delete_extension_session_state",
    "extension_session",
    "get_extension_session_state",
    "load_session",
    "open_session",
    "set_extension_session_state",
]
