"""Conversations are found in the files that other tools write."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.messages.transcripts import FOLDER, needs_transcripts
from zidane_core.messages.files import read_history

ANTHROPIC: list[Any] = [
    {"role": "user", "content": "hello"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "ok"}]},
]
OPENAI: list[Any] = [
    {"role": "system", "content": "be nice"},
    {"role": "user", "content": "hello"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "c", "content": "ok"},
]
RESPONSES: list[Any] = [
    {"role": "user", "content": "hello"},
    {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c", "output": "ok"},
]


@pytest.mark.parametrize(
    ("messages", "found", "count"),
    [(ANTHROPIC, "anthropic", 3), (OPENAI, "openai", 4), (RESPONSES, "openai-responses", 3)],
)
def test_the_format_of_a_list_of_messages_is_found(messages: list[Any], found: str, count: int) -> None:
    message_format, read = read_history(json.dumps(messages))
    assert (message_format, len(read)) == (found, count)
    blocks = [block["type"] for message in read for block in message.content]
    assert blocks.count("tool_call") == blocks.count("tool_result") == 1


def test_the_longest_conversation_of_a_document_is_read_wherever_it_is() -> None:
    document = {
        "meta": {"v": 1},
        "runs": [{"request": {"messages": ANTHROPIC[:1]}}, {"request": {"messages": ANTHROPIC}}],
    }
    assert len(read_history(json.dumps(document))[1]) == 3


def test_a_log_with_a_message_in_each_line_is_read() -> None:
    """Wrapped or not, with lines in between that hold none, empty lines, a byte order mark, and any line ends."""
    lines = [{"type": "summary"}, *({"type": "x", "message": message} for message in ANTHROPIC), *ANTHROPIC]
    text = "\ufeff" + "\r\n\n".join(json.dumps(line) for line in lines)
    message_format, read = read_history(text)
    assert (message_format, len(read)) == ("anthropic", 6)


def test_a_line_separator_within_a_string_ends_no_line() -> None:
    """JSON allows U+2028 and its kind unescaped in strings."""
    words = "one\u2028two\x85three"
    text = "\n".join(json.dumps({"role": "user", "content": words}, ensure_ascii=False) for _ in range(2))
    assert [message.content[0]["text"] for message in read_history(text)[1]] == [words, words]  # type: ignore[typeddict-item]


def test_the_one_call_that_a_tool_message_answers_may_be_in_a_list() -> None:
    logged = [*OPENAI[:3], {"role": "tool", "tool_call_ids": ["c"], "content": "ok"}]
    result: Any = read_history(json.dumps(logged))[1][3].content[0]
    assert result["callId"] == "c"


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", "1", "null", '[{"a": 1}]', "hello\nworld", '{"role": 1', "[" * 100_000, '["\\ud800"']
)
def test_a_text_without_a_conversation_is_a_value_error(text: str) -> None:
    """Whatever it is, and however deep it is nested."""
    with pytest.raises(ValueError, match="it"):
        read_history(text)


@needs_transcripts
@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json*")), ids=lambda path: path.name)
def test_every_recorded_file_is_read(path: Any) -> None:
    _, messages = read_history(path.read_text(encoding="utf-8"))
    assert messages
