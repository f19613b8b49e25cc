"""What holds for any history whatever, valid or not. `make test-thorough` tries 24,000 of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from zidane_core.messages import (
    close_interrupted_tool_calls,
    drop_invalid_tool_pairings,
    ensure_tool_result_pairing,
    to_wire_messages_sync,
)
from zidane_core.records import SessionMessage, SessionTurn

from .projection import FORMATS, write
from .strategies import histories, turn_lists
from .validity import problems

Property = Callable[[Any], None]


def contents(messages: list[SessionMessage] | list[SessionTurn]) -> str:
    return json.dumps([message.content for message in messages])


def repaired_is_sendable(history: list[SessionMessage]) -> None:
    before = contents(history)
    for reused in ("rename", "strip"):
        sent = to_wire_messages_sync(history, system="keep", reused_call_ids=reused)  # type: ignore[arg-type]  # a loop
        for target in FORMATS:
            assert problems(target, write(target, sent, "some-model")) == []
    assert contents(history) == before


def repair_is_idempotent(history: list[SessionMessage]) -> None:
    for provider in (None, "anthropic"):
        once = to_wire_messages_sync(history, system="keep", provider=provider)
        found: list[object] = []
        assert to_wire_messages_sync(once, system="keep", provider=provider, on_repair=found.append) == once
        assert found == []


def renaming_loses_nothing_that_may_be_sent(history: list[SessionMessage]) -> None:
    """Every call of an assistant message is sent, but for a second one of its id in the message, or a bare thought."""
    calls = sum(
        len({block["id"] for block in message.content if block["type"] == "tool_call"})
        for message in history
        if message.role == "assistant"
    )
    sent = ensure_tool_result_pairing(history)
    ids = [
        block["id"]
        for message in sent
        if message.role == "assistant"
        for block in message.content
        if block["type"] == "tool_call"
    ]
    assert len(ids) == calls
    assert len(set(ids)) == calls


def shorter_is_a_prefix_of_longer(history: list[SessionMessage]) -> None:
    history = [message for message in history if not _is_silent(message)]
    sent = ensure_tool_result_pairing(history)
    for length in range(1, len(history)):
        if history[length].role == "assistant" and history[length - 1].role != "assistant":
            kept = ensure_tool_result_pairing(history[:length])
            assert sent[: len(kept)] == kept


def _is_silent(message: SessionMessage) -> bool:
    """Left out of what is sent, so that it ends no answer window."""
    thoughts_only = all(block["type"] == "thinking" for block in message.content)
    return not message.content or (message.role == "assistant" and thoughts_only)


def dropping_is_idempotent_and_only_deletes(turns: list[SessionTurn]) -> None:
    before = contents(turns)
    for reused in ("drop", "keep"):
        dropped = drop_invalid_tool_pairings(turns, reused_call_ids=reused)  # type: ignore[arg-type]  # a loop
        assert drop_invalid_tool_pairings(dropped, reused_call_ids=reused) is dropped  # type: ignore[arg-type]  # a loop
        given_blocks = [id(block) for turn in turns for block in turn.content]
        left = iter(given_blocks)
        assert all(id(block) in left for turn in dropped for block in turn.content)
    assert contents(turns) == before


def healing_is_idempotent_and_survives_dropping(turns: list[SessionTurn]) -> None:
    for reused in ("drop", "keep"):
        clean = drop_invalid_tool_pairings(turns, reused_call_ids=reused)  # type: ignore[arg-type]  # a loop
        healed = close_interrupted_tool_calls(clean, new_id=lambda: "new")
        assert close_interrupted_tool_calls(healed) is healed
        assert drop_invalid_tool_pairings(healed, reused_call_ids=reused) is healed  # type: ignore[arg-type]  # a loop


ON_HISTORIES = [
    repaired_is_sendable,
    repair_is_idempotent,
    renaming_loses_nothing_that_may_be_sent,
    shorter_is_a_prefix_of_longer,
]
ON_TURNS = [dropping_is_idempotent_and_only_deletes, healing_is_idempotent_and_survives_dropping]


def check(holds: Property, examples: int) -> None:
    source: Any = turn_lists() if holds in ON_TURNS else histories()
    tried = given(source)(holds)
    calm = [HealthCheck.too_slow, HealthCheck.data_too_large]
    settings(max_examples=examples, deadline=None, derandomize=True, database=None, suppress_health_check=calm)(tried)()


@pytest.mark.parametrize("holds", [*ON_HISTORIES, *ON_TURNS], ids=lambda holds: holds.__name__)
def test_it_holds_for_any_history(holds: Property) -> None:
    """A quick look, the same histories in every run."""
    check(holds, 150)


@pytest.mark.thorough
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("holds", [*ON_HISTORIES, *ON_TURNS], ids=lambda holds: holds.__name__)
def test_it_holds_for_thousands_of_histories(holds: Property) -> None:
    """The same, at length: six properties, 24,000 histories."""
    check(holds, 4_000)
