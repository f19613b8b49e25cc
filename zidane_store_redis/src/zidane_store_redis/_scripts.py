"""The Lua scripts: read once from their files, each with the shared parts that it stands on in front."""

from __future__ import annotations

from hashlib import sha1
from importlib.resources import files
from typing import Final, NamedTuple


class Script(NamedTuple):
    name: str
    text: bytes
    sha: bytes


def _load(name: str, *parts: str) -> Script:
    folder = files("zidane_store_redis") / "lua"
    text = b"\n".join((folder / f"{part}.lua").read_bytes() for part in (*parts, name))
    return Script(name, text, sha1(text, usedforsecurity=False).hexdigest().encode())


_SESSION = ("_shared", "_index", "_session")
_HISTORY = ("_shared", "_maps", "_index", "_session", "_history")

APPEND_TURNS: Final = _load("append_turns", *_SESSION)
SAVE: Final = _load("save", *_HISTORY)
REPLACE_HISTORY: Final = _load("replace_history", *_HISTORY)
TRUNCATE: Final = _load("truncate", *_HISTORY)
UPDATE_STATUS: Final = _load("update_status", *_SESSION)
CLAIM_RUN: Final = _load("claim_run", *_SESSION)
RENEW_RUN: Final = _load("renew_run", *_SESSION)
DELETE: Final = _load("delete", *_SESSION)
CLAIM_SEND_REQUEST: Final = _load("claim_send_request", "_shared", "_maps", "_index", "_session")
SETTLE_SEND_REQUEST: Final = _load("settle_send_request", *_SESSION)
PUT_ARTIFACT: Final = _load("put_artifact", *_SESSION)
DELETE_ARTIFACT: Final = _load("delete_artifact", *_SESSION)

PUT_SCHEDULE: Final = _load("put_schedule", "_shared")
DELETE_SCHEDULE: Final = _load("delete_schedule", "_shared")
RECORD_FIRE: Final = _load("record_fire", "_shared", "_maps")

LIST_INDEX: Final = _load("list_index", "_index")
READ_SESSION: Final = _load("read_session")
READ_ROWS: Final = _load("read_rows")
READ_ARTIFACTS: Final = _load("read_artifacts")
OPEN_STORE: Final = _load("open_store")
