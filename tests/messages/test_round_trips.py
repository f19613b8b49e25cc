"""Real histories, stored and sent: back to their provider unchanged, to the others valid, and mended when damaged."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from zidane_core.messages import drop_invalid_tool_pairings
from zidane_core.messages._outgoing import EMPTY_MESSAGE
from zidane_core.records import SessionTurn
from zidane_store_sqlite import SqliteStore

from . import transcripts
from .damage import all_damage
from .own_histories import own_histories
from .projection import FORMATS, as_turns, loaded, normalised, projected, read, stored, with_reused_ids, write
from .sdk_types import refusals
from .transcripts import History, needs_transcripts
from .validity import problems

Source = Callable[[], list[History]]

SOURCES = [
    pytest.param(own_histories, id="own"),
    pytest.param(transcripts.accepted, id="accepted", marks=needs_transcripts),
    pytest.param(transcripts.taubench, id="taubench", marks=needs_transcripts),
    pytest.param(transcripts.swe_agent, id="swe-agent", marks=needs_transcripts),
    pytest.param(transcripts.claude_code, id="claude-code", marks=needs_transcripts),
]


def typed_as(source_format: str, target: str) -> str:
    """Anthropic's beta types know what its own histories hold; what comes from elsewhere must pass the stable ones."""
    return "anthropic_beta" if source_format == target == "anthropic" else target


def is_broken(history: History) -> bool:
    """One of the hand-made logs holds calls without results, so it needs the repair that others do not."""
    return bool(problems(history.format, normalised(history.format, history.messages)))


def settled(turns: list[SessionTurn]) -> list[SessionTurn]:
    """The turns before the last run of assistant turns: what follows may still be answered."""
    end = len(turns)
    while end and turns[end - 1].role != "assistant":
        end -= 1
    while end and turns[end - 1].role == "assistant":
        end -= 1
    return turns[:end]


@pytest.mark.parametrize("source", SOURCES)
async def test_a_stored_history_is_sent_back_as_it_came(source: Source, tmp_path: Path) -> None:
    """Through a SQLite file: nothing but the documented normalisations tells the output from the input."""
    different = []
    async with SqliteStore(tmp_path / "sessions.db", synchronous="normal") as store:
        for history in source():
            turns = await loaded(store, history)
            assert turns == as_turns(read(history))
            messages, repairs = projected(turns)
            if repairs and all(repair.kind == "reused-call-id" for repair in repairs):
                continue  # compared below, without the new ids
            expected = normalised(history.format, history.messages)
            if not is_broken(history) and write(history.format, messages, history.model) != expected:
                different.append(history.name)
    assert different == []


@pytest.mark.parametrize("source", SOURCES)
def test_renaming_reused_ids_changes_nothing_but_the_ids(source: Source) -> None:
    """With every renamed id set back, call and result alike, the output is the input."""
    for history in source():
        messages, repairs = projected(stored(as_turns(read(history))))
        if repairs and all(repair.kind == "reused-call-id" for repair in repairs):
            written = with_reused_ids(write(history.format, messages, history.model), repairs)
            assert written == normalised(history.format, history.messages)


@pytest.mark.parametrize("source", SOURCES)
def test_a_valid_history_needs_no_repair(source: Source) -> None:
    """What a provider accepted is sent without repair; a reused call id is the one exception."""
    repaired = [
        (history.name, repair)
        for history in source()
        for repair in projected(as_turns(read(history)))[1]
        if repair.kind != "reused-call-id" and not is_broken(history)
    ]
    assert repaired == []


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("target", FORMATS)
def test_every_history_converts_to_every_format(source: Source, target: str) -> None:
    """The SDK's own types and the checker of order, pairing, ids and emptiness accept the result."""
    found = []
    for history in source():
        messages, _ = projected(stored(as_turns(read(history))))
        written = write(target, messages, history.model if target == history.format else "another-model")
        found += [(history.name, problem) for problem in problems(target, written)]
        if target != history.format or not refusals(typed_as(target, target), history.messages):
            found += [(history.name, refusal) for refusal in refusals(typed_as(history.format, target), written)]
    assert found == []


def some_taubench() -> list[History]:
    return transcripts.taubench()[:5]


@pytest.mark.parametrize(
    "source",
    [
        *(param for param in SOURCES if param.id != "taubench"),
        pytest.param(some_taubench, id="some-of-taubench", marks=needs_transcripts),
        pytest.param(transcripts.taubench, id="taubench", marks=[needs_transcripts, pytest.mark.thorough]),
    ],
)
def test_every_damaged_history_is_mended_for_every_format(source: Source) -> None:
    """Whatever prefix, suffix or block of it is lost, the rest is sendable; mending twice is mending once."""
    found = []
    for history in source():
        turns = as_turns(read(history))
        before = json.dumps([turn.content for turn in turns])
        own_refused = bool(refusals(typed_as(history.format, history.format), history.messages))
        for damaged in all_damage(turns):
            messages, _ = projected(damaged)
            if projected(messages) != (messages, []):  # type: ignore[arg-type]  # messages are projected as turns are
                found.append((history.name, "not idempotent"))
            for target in FORMATS:
                written = write(target, messages, history.model if target == history.format else "another-model")
                found += [(history.name, problem) for problem in problems(target, written)]
                if target != history.format or not own_refused:
                    found += [(history.name, bad) for bad in refusals(typed_as(history.format, target), written)]
        assert json.dumps([turn.content for turn in turns]) == before
    assert found == []


@pytest.mark.parametrize("source", SOURCES)
def test_a_longer_history_begins_as_the_shorter_one_did(source: Source) -> None:
    """What was sent before the last assistant run is sent again unchanged, so a prompt cache keeps its prefix."""
    for history in source():
        turns = as_turns(read(history))
        for length in range(1, len(turns) + 1):
            stable, _ = projected(settled(turns[:length]))
            longer, _ = projected(turns[:length])
            assert longer[: len(stable)] == stable
            for target in FORMATS:
                kept = write(target, stable, history.model)
                if kept and EMPTY_MESSAGE in str(kept[-1]):
                    kept.pop()  # the one message that is sent only where it is the last
                assert write(target, longer, history.model)[: len(kept)] == kept, (history.name, target)


@pytest.mark.parametrize("source", SOURCES)
def test_loading_drops_nothing_from_a_valid_history(source: Source) -> None:
    """With reused ids kept, as loading keeps them, the very same list comes back."""
    for history in source():
        turns = as_turns(read(history))
        assert drop_invalid_tool_pairings(turns, reused_call_ids="keep") is turns, history.name


@needs_transcripts
def test_taubench_keeps_its_281_calls_and_their_results() -> None:
    """Ids repeat in these dialogues for different calls; loading keeps all, and the wire sends all."""
    calls = results = sent = 0
    for history in transcripts.taubench():
        kept = drop_invalid_tool_pairings(as_turns(read(history)), reused_call_ids="keep")
        blocks = [block for turn in kept for block in turn.content]
        calls += sum(block["type"] == "tool_call" for block in blocks)
        results += sum(block["type"] == "tool_result" for block in blocks)
        written = write("openai_chat", projected(list(kept))[0])
        sent += len({call["id"] for message in written for call in message.get("tool_calls", ())})
    assert (calls, results, sent) == (281, 281, 281)


@needs_transcripts
def test_refused_histories_are_mended_where_structure_was_at_fault() -> None:
    """Twelve of the 13 were refused for what the model does not support; the last for a lone reasoning item."""
    for history, reason in transcripts.rejected():
        messages, repairs = projected(as_turns(read(history)))
        written = write(history.format, messages, history.model)
        assert problems(history.format, written) == []
        assert repairs == []
        structural = "without its required following item" in reason
        assert bool(problems(history.format, history.messages)) is structural
        assert (written == normalised(history.format, history.messages)) is not structural
