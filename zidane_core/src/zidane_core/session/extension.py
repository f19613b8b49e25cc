"""State that extensions keep in a session's metadata, and the session that an extension runs in."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any

from zidane_core import codec
from zidane_core.blocks import JsonValue
from zidane_core.errors import ContentTooLargeError, InvalidIdError
from zidane_core.store.checks import check_id

from .session import Session

EXTENSION_ITEM_MAX_BYTES = 16 * 1024
EXTENSION_STATE_MAX_BYTES = 64 * 1024
"""Of all extensions' items of one session, in bytes of JSON."""

_PREFIX = "extension/"
_UNSAFE_NAMES = frozenset({"__proto__", "constructor", "prototype"})
"""A host in JavaScript could be led astray by them."""

_current: ContextVar[Session | None] = ContextVar("zidane_extension_session", default=None)


@contextmanager
def extension_session(session: Session | None) -> Generator[Session | None]:
    """Bind the session that `current_extension_session` gives in this block and the tasks started in it.

    Leaving from another context, as a generator closed elsewhere does, is harmless.
    """
    token = _current.set(session)
    try:
        yield session
    finally:
        with suppress(ValueError):
            _current.reset(token)


def current_extension_session() -> Session | None:
    """The session that `extension_session` bound here."""
    return _current.get()


def get_extension_session_state(session: Session | None, extension_name: str, key: str) -> Any:
    """A copy of an extension's stored value; None without a session or a value, and for an unsafe name."""
    if session is None or not (_is_safe(extension_name) and _is_safe(key)):
        return None
    return codec.check_value(session.metadata.get(_item(extension_name, key)))


async def set_extension_session_state(session: Session | None, extension_name: str, key: str, value: JsonValue) -> None:
    """Store a JSON value for an extension; saved at once where the session has a store. Nothing without a session.

    Each item is a metadata key of its own, so two windows that change different items both keep theirs.

    Raises:
        InvalidIdError: an unsafe name.
        ContentTooLargeError: the item is over 16 KiB, or all items together over 64 KiB.
    """
    if session is None:
        return
    item = _checked_item(extension_name, key)
    size = _size(value)
    if size > EXTENSION_ITEM_MAX_BYTES:
        raise ContentTooLargeError(
            f"the state {key!r} of extension {extension_name!r}", size=size, limit=EXTENSION_ITEM_MAX_BYTES
        )
    others = sum(_size(kept) for name, kept in session.metadata.items() if name.startswith(_PREFIX) and name != item)
    if others + size > EXTENSION_STATE_MAX_BYTES:
        raise ContentTooLargeError("the state of all extensions", size=others + size, limit=EXTENSION_STATE_MAX_BYTES)
    session.set_meta(item, value)
    await _store(session, item)


async def delete_extension_session_state(session: Session | None, extension_name: str, key: str) -> None:
    """Remove an extension's value. Nothing where there is none. Raises InvalidIdError for an unsafe name."""
    if session is None:
        return
    item = _checked_item(extension_name, key)
    if item in session.metadata:
        session.delete_meta(item)
        await _store(session, item)


async def _store(session: Session, item: str) -> None:
    if session.store is not None:
        await session.save_meta_keys([item])


def _checked_item(extension_name: str, key: str) -> str:
    for what, name in (("the extension name", extension_name), ("the extension key", key)):
        check_id(what, name)
        if not _is_safe(name):
            raise InvalidIdError(what, name, "is not a safe name: it is reserved, or has a slash")
    return _item(extension_name, key)


def _item(extension_name: str, key: str) -> str:
    return f"{_PREFIX}{extension_name}/{key}"


def _is_safe(name: str) -> bool:
    return bool(name) and name not in _UNSAFE_NAMES and "/" not in name


def _size(value: JsonValue) -> int:
    return len(codec.json_of(codec.encode_value(value)))
