"""Opaque items that must not be sent alone: a client's tool call without its output, and the reverse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from zidane_core.messages._opaque import Link, Pairs, responses_link, unanswered
from zidane_core.messages._plain import Json, is_mapping
from zidane_core.records import SessionMessage, SessionTurn

from .reading import PROVIDER

Place: TypeAlias = tuple[int, int]
"""Of a block: its message, and its position within it."""


def unpaired_blocks(messages: Sequence[SessionMessage | SessionTurn]) -> tuple[set[Place], bool]:
    """The blocks to leave out, and whether any block could be."""
    linked = list(_linked(messages))
    pairs = Pairs(unanswered(link for _, link in linked))
    return {place for place, link in linked if not pairs.may_stand(link)}, bool(linked)


def without_lone_answers(items: list[Json]) -> list[Json]:
    """The items without outputs of calls that were left out, because the reasoning before them was."""
    asked: set[str] = set()
    kept: list[Json] = []
    for item in items:
        link = responses_link(item)
        if item.get("type") in ("function_call", "custom_tool_call"):
            asked.add(item["call_id"])
        elif link is not None and link[0] == "ask":
            asked.add(link[1])
        elif link is not None and link[1] not in asked:
            continue
        kept.append(item)
    return kept


def _linked(messages: Sequence[SessionMessage | SessionTurn]) -> Iterator[tuple[Place, Link]]:
    for index, message in enumerate(messages):
        for position, block in enumerate(message.content):
            raw: object = block.get("raw")
            if block.get("provider") == PROVIDER and is_mapping(raw) and (link := responses_link(raw)) is not None:
                yield (index, position), link
