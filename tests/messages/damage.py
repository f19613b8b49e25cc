"""What may happen to a history: cut short at either end, or one block of it lost."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from zidane_core.records import SessionTurn


def prefixes(turns: list[SessionTurn]) -> Iterator[list[SessionTurn]]:
    return (turns[:end] for end in range(1, len(turns)))


def suffixes(turns: list[SessionTurn]) -> Iterator[list[SessionTurn]]:
    return (turns[start:] for start in range(1, len(turns)))


def block_deletions(turns: list[SessionTurn]) -> Iterator[list[SessionTurn]]:
    for at, turn in enumerate(turns):
        for lost in range(len(turn.content)):
            content = [block for position, block in enumerate(turn.content) if position != lost]
            yield [*turns[:at], msgspec.structs.replace(turn, content=content), *turns[at + 1 :]]


def all_damage(turns: list[SessionTurn]) -> Iterator[list[SessionTurn]]:
    yield from prefixes(turns)
    yield from suffixes(turns)
    yield from block_deletions(turns)
