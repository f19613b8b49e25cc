"""Opaque items that must not be sent alone: a client's tool call without its output, and the reverse."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from zidane_core.messages._opaque import Link, responses_link, unanswered
from zidane_core.records import SessionMessage, SessionTurn

from .reading import PROVIDER


def unpaired_blocks(messages: Sequence[SessionMessage | SessionTurn]) -> set[int]:
    """The `id()` of every opaque block to leave out."""
    linked = list(_linked(messages))
    refused = unanswered(link for _, link in linked)
    asked: set[str] = set()
    unpaired: set[int] = set()
    for block, (role, link_id) in linked:
        if link_id in refused or (role == "answer" and link_id not in asked):
            unpaired.add(id(block))
        asked.add(link_id)
    return unpaired


def _linked(messages: Sequence[SessionMessage | SessionTurn]) -> Iterator[tuple[Any, Link]]:
    for message in messages:
        for block in message.content:
            if block["type"] == "opaque" and block["provider"] == PROVIDER and isinstance(block["raw"], Mapping):
                link = responses_link(cast("Mapping[str, Any]", block["raw"]))
                if link is not None:
                    yield block, link
