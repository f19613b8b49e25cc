"""SDK objects, replies with their usage, telling formats apart, traits, content references."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from anthropic.types import Message, MessageParam
from openai.types.chat import ChatCompletion
from openai.types.responses import Response

from zidane_core.messages import (
    ProviderTraits,
    auto_detect_and_convert,
    from_anthropic,
    from_anthropic_messages,
    from_openai,
    known_providers,
    provider_traits,
    register_provider,
    split_system,
    to_anthropic,
    to_anthropic_messages,
    to_openai_messages,
    to_wire_messages,
    turn_from_anthropic,
    turn_from_openai,
    turn_from_openai_responses,
    user_turn,
)
from zidane_core.messages.traits import same_model, takes_system
from zidane_core.records import SessionMessage

from .notation import PNG, A, S, U, c, r, t, wire

ANTHROPIC_REPLY: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-4-8",
    "content": [
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"x": 1}},
    ],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {
        "input_tokens": 10,
        "output_tokens": 5,
        "cache_read_input_tokens": 7,
        "cache_creation_input_tokens": 3,
    },
}
CHAT_REPLY: dict[str, Any] = {
    "id": "c1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-4o",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "logprobs": None,
            "message": {
                "role": "assistant",
                "content": None,
                "refusal": None,
                "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
            },
        }
    ],
    "usage": {
        "prompt_tokens": 20,
        "completion_tokens": 5,
        "total_tokens": 25,
        "prompt_tokens_details": {"cached_tokens": 8},
        "completion_tokens_details": {"reasoning_tokens": 2},
    },
}
RESPONSE: dict[str, Any] = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "model": "gpt-5.4",
    "output": [
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "hi", "annotations": []}],
        },
    ],
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "usage": {
        "input_tokens": 20,
        "input_tokens_details": {"cached_tokens": 8, "cache_write_tokens": 2},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 2},
        "total_tokens": 25,
    },
}


def test_an_anthropic_reply_becomes_a_turn_with_its_usage() -> None:
    """The SDK's object and its dict give the same; the thinking knows its model."""
    of_object = turn_from_anthropic(Message.model_validate(ANTHROPIC_REPLY), turn_id="t", created_at=1, run_id="r")
    assert of_object == turn_from_anthropic(ANTHROPIC_REPLY, turn_id="t", created_at=1, run_id="r")
    assert of_object.usage == {
        "input": 10,
        "output": 5,
        "cacheRead": 7,
        "cacheCreation": 3,
        "provider": "anthropic",
        "model": "claude-opus-4-8",
    }
    assert of_object.content[0]["model"] == "claude-opus-4-8"  # type: ignore[typeddict-item]
    assert to_anthropic(of_object) == {"role": "assistant", "content": ANTHROPIC_REPLY["content"]}


def test_a_chat_reply_becomes_a_turn_with_its_usage() -> None:
    """`input` is what was not cached."""
    of_object = turn_from_openai(ChatCompletion.model_validate(CHAT_REPLY), turn_id="t", created_at=1)
    assert of_object == turn_from_openai(CHAT_REPLY, turn_id="t", created_at=1)
    assert of_object.usage == {
        "input": 12,
        "output": 5,
        "cacheRead": 8,
        "reasoning": 2,
        "provider": "openai",
        "model": "gpt-4o",
    }


def test_a_response_becomes_one_turn_of_all_its_items() -> None:
    """Reasoning and message in order, with their ids."""
    of_object = turn_from_openai_responses(Response.model_validate(RESPONSE), turn_id="t", created_at=1)
    assert of_object == turn_from_openai_responses(RESPONSE, turn_id="t", created_at=1)
    assert [block["type"] for block in of_object.content] == ["thinking", "text"]
    assert of_object.usage is not None
    assert (of_object.usage["input"], of_object.usage["cacheCreation"]) == (10, 2)


def test_sdk_objects_may_stand_within_dicts() -> None:
    """`{"role": "assistant", "content": reply.content}` is how hosts append a reply."""
    reply = Message.model_validate(ANTHROPIC_REPLY)
    message: MessageParam = {"role": "assistant", "content": reply.content}
    assert to_anthropic(from_anthropic(message)) == {"role": "assistant", "content": ANTHROPIC_REPLY["content"]}


def test_what_parse_helpers_add_is_not_stored() -> None:
    """The APIs refuse it."""

    class Parsed:
        def model_dump(self) -> dict[str, Any]:
            call = {"id": "a", "function": {"name": "f", "arguments": "{}", "parsed_arguments": {}}, "type": "function"}
            return {"role": "assistant", "content": "x", "parsed": {"y": 1}, "tool_calls": [call]}

    read = from_openai(Parsed())
    assert "parsed" not in str(read)


def test_a_user_turn_is_made_of_a_prompt_or_of_blocks() -> None:
    """Ids and times are given, or new."""
    assert user_turn("hi", turn_id="t", created_at=1).content == [t("hi")]
    assert user_turn([PNG], run_id="r").content == [PNG]  # type: ignore[list-item]  # a test's plain dict
    assert user_turn("a").id != user_turn("a").id


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ({"role": "tool", "tool_call_id": "a", "content": "x"}, "tool_result"),
        ({"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f"}}], "content": None}, "tool_call"),
        ({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "u"}}]}, "image"),
        ({"role": "user", "content": [{"type": "input_text", "text": "x"}]}, "text"),
        ({"type": "function_call_output", "call_id": "a", "output": "x"}, "tool_result"),
        ({"type": "reasoning", "id": "rs", "summary": []}, "thinking"),
        ({"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]}, "tool_call"),
        ({"role": "user", "content": "x"}, "text"),
        (Message.model_validate(ANTHROPIC_REPLY), "thinking"),
    ],
)
def test_the_format_of_a_message_is_told_from_its_keys_and_parts(message: Any, kind: str) -> None:
    """Anthropic's where nothing speaks for OpenAI."""
    assert auto_detect_and_convert(message).content[0]["type"] == kind


def test_leading_system_messages_are_given_apart() -> None:
    """For the `system` argument; what comes later stays where it is."""
    blocks, rest = split_system([S(t("a")), S(t("b")), U(t()), S(t("c"))])
    assert blocks == [t("a"), t("b")]
    assert [message.role for message in rest] == ["user", "system"]
    read = from_anthropic_messages([{"role": "user", "content": "x"}], system="Be kind.")
    assert split_system(read)[0] == [t("Be kind.")]


def test_a_provider_is_an_entry_of_the_table() -> None:
    """Third parties register theirs, or hand one in; names are unique."""
    mine = ProviderTraits(name="tests-own", call_id_max=12, echo_reasoning=True)
    register_provider(mine)
    register_provider(mine)
    assert "tests-own" in known_providers()
    with pytest.raises(ValueError, match="registered already"):
        register_provider(msgspec.structs.replace(mine, call_id_max=13))
    with pytest.raises(ValueError, match="did you mean 'anthropic'"):
        provider_traits("antropic")
    sent: Any = to_openai_messages(wire(A(c("x" * 30)), U(r("x" * 30))), provider="tests-own")
    assert len(sent[0]["tool_calls"][0]["id"]) == 12
    short: Any = to_openai_messages(wire(A(c("call_1")), U(r("call_1"))), provider="mistral")
    assert len(short[0]["tool_calls"][0]["id"]) == 9


def test_models_are_told_apart_but_for_their_snapshots() -> None:
    """What is unknown is taken to agree."""
    assert same_model("gpt-5", "gpt-5-2026-01-02")
    assert same_model(None, "gpt-5")
    assert not same_model("gpt-5", "gpt-5-mini")
    anthropic = provider_traits("anthropic")
    assert takes_system(anthropic, "claude-opus-4-8")
    assert takes_system(anthropic, None)
    for old in (
        "claude-3-5-sonnet-latest",
        "claude-sonnet-4-5-20250929",
        "claude-opus-4-20250514",
        "claude-sonnet-4-0",
    ):
        assert not takes_system(anthropic, old)


async def test_content_references_are_resolved_on_the_wire_only() -> None:
    """Also within results, by a sync or an async function; `None` leaves the block out."""
    reference = {"type": "image", "source": {"kind": "ref", "ref": "sha-1"}}
    history = [U(t(), reference), A(c("a")), U(r("a", [reference]))]

    async def resolve(ref: str, block: Any) -> Any:
        return PNG["source"]

    resolved = await to_wire_messages(history, resolve_content_ref=resolve)
    assert resolved[0].content[1] == PNG
    assert resolved[2].content[0]["output"] == [PNG]  # type: ignore[typeddict-item]
    assert history[0].content[1] == reference
    gone = await to_wire_messages(history, resolve_content_ref=lambda ref, block: None)
    assert gone[0].content == [t()]
    unresolved: Any = to_anthropic_messages(await to_wire_messages(history))
    assert "ref" not in str(unresolved)


async def test_system_and_command_turns_do_not_reach_the_model() -> None:
    """Unless system turns are asked for."""
    history = [S(t("sys")), U(t("hi"))]
    assert [message.role for message in await to_wire_messages(history)] == ["user"]
    assert [message.role for message in await to_wire_messages(history, system="keep")] == ["system", "user"]
    command = msgspec.structs.replace(user_turn("/help"), role="command")
    assert await to_wire_messages([command]) == []


def test_unknown_keys_of_a_message_go_back_to_their_provider() -> None:
    """And to no other."""
    raw = {"role": "system", "content": [t("x")], "clear_at": "never"}
    read = from_anthropic(raw)
    assert isinstance(read, SessionMessage)
    assert to_anthropic(read) == raw
    sent: Any = to_openai_messages([read])
    assert sent == [{"role": "system", "content": "x"}]
