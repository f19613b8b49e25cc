"""The judges are honest: they refuse what the APIs refuse."""

from __future__ import annotations

from typing import Any

import pytest

from . import transcripts
from .projection import normalised
from .sdk_types import refusals
from .transcripts import needs_transcripts
from .validity import problems

TOOL_USE = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "a", "content": "x"}
CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}


@pytest.mark.parametrize(
    ("format_name", "message"),
    [
        ("anthropic", {"role": "user", "content": [{"type": "text"}]}),
        ("anthropic", {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}]}),
        ("anthropic", {"role": "assistant", "content": [{**TOOL_USE, "input": "{}"}]}),
        ("anthropic", {"role": "user", "content": [{**RESULT, "isError": True}]}),
        ("openai_chat", {"role": "assistant", "tool_calls": [{**CALL, "function": {"name": "f", "arguments": {}}}]}),
        ("openai_chat", {"role": "tool", "tool_call_id": "a", "content": [{"type": "image_url", "image_url": {}}]}),
        ("openai_responses", {"type": "reasoning", "id": "rs"}),
        ("openai_responses", {"type": "function_call", "call_id": "a", "name": "f", "arguments": {}}),
    ],
)
def test_the_sdks_types_refuse_what_a_naive_adapter_lets_pass(format_name: str, message: Any) -> None:
    """Missing text, unsigned thinking, wrong kinds of arguments, leaked keys, media in tool messages."""
    assert refusals(format_name, [message]) != []


USER = {"role": "user", "content": [{"type": "text", "text": "x"}]}


@pytest.mark.parametrize(
    ("format_name", "messages"),
    [
        ("anthropic", [USER, {"role": "assistant", "content": [TOOL_USE]}, USER]),
        ("anthropic", [{"role": "user", "content": [RESULT]}]),
        (
            "anthropic",
            [{"role": "assistant", "content": [TOOL_USE]}, {"role": "user", "content": [*USER["content"], RESULT]}],
        ),
        ("anthropic", [{"role": "assistant", "content": [TOOL_USE, TOOL_USE]}, {"role": "user", "content": [RESULT]}]),
        ("anthropic", [{"role": "assistant", "content": [TOOL_USE]}, {"role": "user", "content": [RESULT, RESULT]}]),
        ("anthropic", [{"role": "user", "content": [TOOL_USE]}]),
        ("anthropic", [{"role": "user", "content": [{"type": "text", "text": " "}]}]),
        ("anthropic", [USER, {"role": "assistant", "content": [{"type": "text", "text": "x "}]}]),
        ("anthropic", [{"role": "assistant", "content": [{**TOOL_USE, "id": "a:1"}]}]),
        ("openai_chat", [{"role": "assistant", "tool_calls": [CALL]}, {"role": "user", "content": "x"}]),
        ("openai_chat", [{"role": "tool", "tool_call_id": "a", "content": "x"}]),
        ("openai_chat", [{"role": "assistant", "content": "x", "tool_calls": []}]),
        ("openai_chat", [{"role": "assistant"}]),
        ("openai_chat", [{"role": "user", "content": "\ud800"}]),
        ("openai_responses", [{"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}]),
        ("openai_responses", [{"type": "function_call_output", "call_id": "a", "output": "x"}]),
        ("openai_responses", [{"type": "reasoning", "id": "rs", "summary": []}, {"role": "user", "content": "x"}]),
    ],
)
def test_the_checker_refuses_what_types_cannot_see(format_name: str, messages: Any) -> None:
    """Order, pairing, ids, emptiness."""
    assert problems(format_name, messages) != []


@needs_transcripts
def test_the_checker_accepts_what_the_apis_accepted() -> None:
    """All 320 histories: it invents no rule."""
    assert [h.name for h in transcripts.accepted() if problems(h.format, normalised(h.format, h.messages))] == []
