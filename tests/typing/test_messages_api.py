"""How hosts write conversion: mypy and pyright read this file, and the test runs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zidane_core.blocks import is_text, is_tool_call, text, tool_call, tool_result
from zidane_core.messages import (
    ProviderTraits,
    drop_invalid_tool_pairings,
    from_anthropic_messages,
    from_openai_responses,
    message_turn,
    to_anthropic_messages,
    to_openai_messages,
    to_openai_responses,
    to_wire_messages,
    user_turn,
)
from zidane_core.records import SessionMessage, SessionTurn

if TYPE_CHECKING:
    from anthropic.types import MessageParam
    from openai.types.chat import ChatCompletionMessageParam
    from openai.types.responses import ResponseInputItemParam


async def test_what_is_written_is_what_the_sdks_take() -> None:
    """The lists have the SDKs' own parameter types, so they go into a request without a cast."""
    turns: list[SessionTurn] = [
        user_turn("What is in a.txt?"),
        message_turn(SessionMessage(role="assistant", content=[tool_call("a", "read", {"path": "a.txt"})])),
        user_turn([tool_result("a", [text("nothing")], is_error=True)]),
    ]
    messages: list[SessionMessage] = await to_wire_messages(turns, provider="anthropic")
    anthropic: list[MessageParam] = to_anthropic_messages(messages, model="claude-opus-4-8")
    chat: list[ChatCompletionMessageParam] = to_openai_messages(messages)
    items: list[ResponseInputItemParam] = to_openai_responses(messages, store=False)
    back: list[SessionMessage] = from_anthropic_messages(anthropic)
    assert [message.role for message in back] == ["user", "assistant", "user"]
    assert len(from_openai_responses(items)) == len(chat) == 3


def test_guards_narrow_blocks() -> None:
    """A host reads a block's fields without casts."""
    turn = user_turn([text("hi"), tool_call("a", "read", {})])
    assert [block["text"] for block in turn.content if is_text(block)] == ["hi"]
    assert [block["name"] for block in turn.content if is_tool_call(block)] == ["read"]


def test_turns_keep_their_type_through_the_drop_pass() -> None:
    """A provider's traits are a value like any other."""
    turns = [user_turn("hi")]
    assert drop_invalid_tool_pairings(turns) is turns
    assert ProviderTraits(name="mine").call_id_max == 64
