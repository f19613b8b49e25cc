"""Faults of conversion that were reported in the field, one test for each kind. Those of pairing have their own module.

Rows of the list that cannot arise here:

    LibreChat agents#494   results flattened into assistant text: no writer reads a result for an assistant message
    openai-agents#1061     tested with the orphan calls, for all formats (`test_faults_pairing`)
"""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import Any

import pytest

from zidane_core import codec
from zidane_core.messages import (
    ConversionDrop,
    from_anthropic,
    from_anthropic_messages,
    from_openai,
    from_openai_messages,
    from_openai_responses,
    to_anthropic,
    to_anthropic_messages,
    to_openai,
    to_openai_messages,
    to_openai_responses,
    turn_from_openai,
)
from zidane_core.records import SessionMessage, SessionTurn

from .notation import PDF, PNG, A, S, U, c, r, reasoning, t, think, turns, wire
from .sdk_types import refusals
from .validity import problems


def anthropic(*messages: SessionMessage, **options: Any) -> list[Any]:
    written: list[Any] = to_anthropic_messages(wire(*messages), **options)
    assert problems("anthropic", written) == []
    assert refusals("anthropic", written) == []
    return written


def chat(*messages: SessionMessage, **options: Any) -> list[Any]:
    written: list[Any] = to_openai_messages(wire(*messages), **options)
    assert problems("openai_chat", written) == []
    return written


def responses(*messages: SessionMessage, **options: Any) -> list[Any]:
    written: list[Any] = to_openai_responses(wire(*messages), **options)
    assert problems("openai_responses", written) == []
    assert refusals("openai_responses", written) == []
    return written


def kinds(message: Any) -> list[str]:
    return [block["type"] for block in message["content"]]


# -- ids ------------------------------------------------------------------------------------------


def test_an_empty_call_id_is_replaced_when_it_is_read() -> None:
    """claux#40: the call and its result get one id, the same on every reading."""
    raw = [
        {"role": "assistant", "tool_calls": [{"id": "", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "", "content": "ok"},
    ]
    first, second = from_openai_messages(raw)
    assert first.content[0]["id"] == second.content[0]["callId"] != ""  # type: ignore[typeddict-item]
    assert from_openai_messages(raw) == [first, second]


def test_a_missing_call_id_of_an_item_is_its_item_id() -> None:
    """DeepSeek-Reasonix#8359: a relay left it out."""
    read = from_openai_responses([{"type": "function_call", "id": "fc_1", "name": "f", "arguments": "{}"}])
    assert read[0].content[0]["id"] == "fc_1"  # type: ignore[typeddict-item]


def test_ids_with_refused_characters_are_rewritten_alike_in_call_and_result() -> None:
    """nanobot#4356, langchain#37756."""
    written = anthropic(U(t()), A(c("functions.x:0")), U(r("functions.x:0")))
    call_id = written[1]["content"][0]["id"]
    assert call_id.startswith("functions_x_0_")
    assert written[2]["content"][0]["tool_use_id"] == call_id


def test_ids_that_differ_only_in_refused_characters_stay_apart() -> None:
    """archestra#6423."""
    written = anthropic(U(t()), A(c("call.0"), c("call:0")), U(r("call.0"), r("call:0")))
    assert len({block["id"] for block in written[1]["content"]}) == 2


def test_a_rewritten_id_never_takes_an_id_that_is_there_already() -> None:
    """The digest is no proof: a history that holds the rewritten form itself gets another."""
    taken = anthropic(U(t()), A(c("x.y")), U(r("x.y")))[1]["content"][0]["id"]
    written = anthropic(U(t()), A(c(taken), c("x.y")), U(r(taken), r("x.y")))
    assert written[1]["content"][0]["id"] == taken
    assert written[1]["content"][1]["id"] != taken


def test_a_long_id_with_a_newline_is_shortened() -> None:
    """llm-rosetta#596."""
    long_id = "a" * 60 + "\n" + "b" * 24
    for written in (chat(A(c(long_id)), U(r(long_id))), chat(A(c(long_id)), U(r(long_id)))):
        assert len(written[0]["tool_calls"][0]["id"]) <= 40
        assert written[0]["tool_calls"][0]["id"] == written[1]["tool_call_id"]
    assert len(responses(A(c(long_id)), U(r(long_id)))[0]["call_id"]) <= 64


def test_a_tool_name_that_openai_refuses_is_rewritten() -> None:
    """Dots, spaces and great length: names have a pattern too."""
    names = [call["function"]["name"] for call in chat(A(c("a", "mcp.x y"), c("b", "n" * 90)))[0]["tool_calls"]]
    assert names[0].startswith("mcp_x_y_")
    assert len(names[1]) == 64


# -- the order of Chat's tool messages ----------------------------------------------------------------


def test_content_between_parallel_results_goes_behind_the_batch() -> None:
    """pydantic-ai#2360, agentscope#2612: the tool messages are one run, then one user message."""
    written = chat(A(c("1"), c("2"), c("3")), U(r("1"), PNG, r("2"), r("3")))
    assert [message["role"] for message in written] == ["assistant", "tool", "tool", "tool", "user"]


def test_images_within_results_follow_the_batch_in_one_user_message() -> None:
    """sglang#19233, llama.cpp#22536, cc-haha#1278, and litellm#34462: never as text of the tool message."""
    written = chat(A(c("1"), c("2")), U(r("1", [t("seen"), PNG]), r("2", [PNG])))
    assert [message["role"] for message in written] == ["assistant", "tool", "tool", "user"]
    assert written[1]["content"] == [{"type": "text", "text": "seen"}]
    assert "base64" not in json.dumps(written[1:3])
    assert kinds(written[3]).count("image_url") == 2
    assert refusals("openai_chat", written) == []


# -- thinking --------------------------------------------------------------------------------------


def test_thinking_keeps_its_place_before_the_call() -> None:
    """openai-agents-python#1704, llama_index#18834, vercel/ai#7750: with text and without."""
    assert kinds(anthropic(U(t()), A(think(), c("a")))[1]) == ["thinking", "tool_use"]
    assert kinds(anthropic(U(t()), A(t(), think(), c("a")))[1]) == ["text", "thinking", "tool_use"]


def test_unsigned_thinking_is_never_sent_to_anthropic() -> None:
    """hermes-agent#24435, opencode#25005: also where a signature is missing from a block of Anthropic's own."""
    read = from_openai({"role": "assistant", "content": "hi", "reasoning_content": "hm"})
    assert read.content[0]["text"] == "hm"  # type: ignore[typeddict-item]
    assert kinds(anthropic(U(t()), read)[1]) == ["text"]
    drops: list[ConversionDrop] = []
    unsigned = {"type": "thinking", "text": "hm", "provider": "anthropic"}
    assert kinds(anthropic(U(t()), A(unsigned, t()), on_drop=drops.append)[1]) == ["text"]
    assert [(drop.kind, drop.index) for drop in drops] == [("unsigned-thinking", 1)]


def test_thinking_of_another_model_is_not_sent() -> None:
    """llxprt-code#2335: a signature is bound to its model; a dated snapshot is that model."""
    history = (U(t()), A(think(model="claude-opus-4-8-20260101"), t()))
    assert kinds(anthropic(*history, model="claude-fable-5")[1]) == ["text"]
    assert kinds(anthropic(*history, model="claude-opus-4-8")[1]) == ["thinking", "text"]
    assert kinds(anthropic(*history)[1]) == ["thinking", "text"]


def test_thinkings_of_consecutive_messages_are_not_spliced() -> None:
    """vscode#328157: the messages stay apart."""
    assert len(anthropic(U(t()), A(think("1"), t("a")), A(think("2"), t("b")))) == 3


def test_signatures_survive_storage_byte_for_byte() -> None:
    """anthropic-sdk-python#1598: unicode, empty thinking, redacted data."""
    raw = {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "", "signature": "Ω\u0000/+=="},
            {"type": "redacted_thinking", "data": "ZW\u2028"},
            {"type": "text", "text": "x"},
        ],
    }
    turn = codec.decode(SessionTurn, codec.encode(turns(from_anthropic(raw))[0]))
    assert to_anthropic(turn) == raw


def test_reasoning_text_is_echoed_where_the_provider_wants_it() -> None:
    """langchain#39370, OpenHands#14177, SillyTavern#5545: the stored text, and only to that provider."""
    raw = {
        "role": "assistant",
        "reasoning_content": "hm",
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    }
    read = from_openai(raw, provider="deepseek", model="deepseek-chat")
    assert to_openai(read, provider="deepseek", model="deepseek-chat") == raw
    assert "reasoning_content" not in to_openai(read)


def test_reasoning_that_led_to_nothing_is_not_sent() -> None:
    """langgraph#7229: an aborted stream; the same before a message without id."""
    assert responses(U(t()), A(reasoning()), U(t())) == [{"role": "user", "content": "text"}] * 2
    sent = responses(U(t()), A(t("first"), reasoning()), U(t()))
    assert [item.get("type") for item in sent] == [None, None, None]
    assert [item.get("type") for item in responses(U(t()), A(reasoning(), t("easy")))] == [None, None]


def test_reasoning_without_payload_is_left_out_where_nothing_is_stored() -> None:
    """vercel/ai#7543 and opencode#45032: `store=False` decides, absent and null are kept apart in storage."""
    raw: list[Any] = [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": None},
        {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "ok"},
    ]
    read = from_openai_responses(raw)
    assert to_openai_responses(read) == raw
    del raw[0]["encrypted_content"]
    assert to_openai_responses(from_openai_responses(raw)) == raw
    unstored = responses(*read, store=False)
    assert [item["type"] for item in unstored] == ["function_call", "function_call_output"]


def test_item_ids_stay_behind_with_their_reasoning() -> None:
    """omnigent#5066: both or neither."""
    history = from_openai_responses(
        [
            {"role": "user", "content": "go"},
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ZW5j"},
            {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "f", "arguments": "{}"},
            {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": "x", "annotations": []}],
            },
        ],
        model="gpt-5",
    )
    foreign = responses(*history, model="gpt-4.1")
    assert not any("id" in item for item in foreign)
    own = responses(*history, model="gpt-5")
    assert [item.get("id") for item in own] == [None, "rs_1", "fc_1", "msg_1", None]


def test_an_empty_summary_is_always_sent() -> None:
    """Agora#141."""
    assert responses(U(t()), A(reasoning(), c("a")))[1]["summary"] == []


# -- emptiness ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("output", ["", [], [t("")], [t(" ")]])
def test_an_empty_result_keeps_its_pair(output: Any) -> None:
    """dirge#757: a silent command."""
    history = (U(t()), A(c("a")), U(r("a", output)))
    assert anthropic(*history)[2]["content"] == [{"type": "tool_result", "tool_use_id": "a"}]
    assert chat(*history)[2]["role"] == "tool"
    assert responses(*history)[2]["type"] == "function_call_output"


def test_a_user_message_of_empty_texts_is_sent_as_a_marker() -> None:
    """nanobot#949: never an empty list."""
    for written in (anthropic(U(t(""), t(" "))), chat(U(t(""), t(" "))), responses(U(t(""), t(" ")))):
        assert len(written) == 1
        assert written[0]["content"]


def test_trailing_whitespace_is_cut_from_the_last_assistant_text_only() -> None:
    """langchain#35073, langchain-aws#599: on the wire."""
    written = anthropic(U(t("a  ")), A(t("b  ")), U(t("c  ")), A(t("done  ")))
    assert [message["content"][0]["text"] for message in written] == ["a  ", "b  ", "c  ", "done"]


def test_an_empty_list_of_calls_is_neither_read_nor_written() -> None:
    """openai-python#2061, openai-node#1341."""
    read = from_openai({"role": "assistant", "content": "hi", "tool_calls": []})
    assert to_openai(read) == {"role": "assistant", "content": "hi"}


def test_cache_control_leaves_with_an_empty_text() -> None:
    """stakpak/agent#511, hermes-agent#1216."""
    cached = {"type": "text", "text": "", "cacheControl": {"type": "ephemeral"}}
    assert anthropic(U(cached, t("x")))[0]["content"] == [{"type": "text", "text": "x"}]


# -- media --------------------------------------------------------------------------------------------


def test_an_image_of_a_failed_tool_goes_behind_the_results() -> None:
    """vellum#18387, copilot-api#196: an error result holds text only."""
    history = (U(t()), A(c("a"), c("b")), U(r("a", [t("no"), PNG], isError=True), r("b")))
    assert kinds(anthropic(*history)[2]) == ["tool_result", "tool_result", "image"]


def test_a_failed_tool_is_marked_on_every_format() -> None:
    """autogen#7428: a flag, or a text that reads back as the flag."""
    for output in ("no", [t("no")], "", []):
        history = [U(t()), A(c("a")), U(r("a", output, isError=True))]
        assert anthropic(*history)[2]["content"][0]["is_error"] is True
        assert from_openai_messages(chat(*history))[2].content[0]["isError"] is True  # type: ignore[typeddict-item]
        assert from_openai_responses(responses(*history))[2].content[0]["isError"] is True  # type: ignore[typeddict-item]
    back = from_openai_messages(chat(*history[:2], U(r("a", "no", isError=True))))[2]
    assert back.content[0]["output"] == "no"  # type: ignore[typeddict-item]


def test_a_pdf_reaches_every_provider_also_from_within_a_result() -> None:
    """llms#68, vscode#325672, vscode#324960: as a file, never as an image."""
    history = (U(PDF), A(c("a")), U(r("a", [PDF])))
    assert anthropic(*history)[0]["content"][0]["source"]["media_type"] == "application/pdf"
    assert anthropic(*history)[2]["content"][0]["content"][0]["type"] == "document"
    written = chat(*history)
    assert (kinds(written[0]), kinds(written[3])) == (["file"], ["text", "file"])
    items = responses(*history)
    assert (items[0]["content"][0]["type"], items[2]["output"][0]["type"]) == ("input_file", "input_file")


def test_audio_that_a_format_cannot_carry_is_reported() -> None:
    """It is left out with an event, and the message stays."""
    audio = {"type": "audio", "source": {"kind": "base64", "format": "wav", "data": "AAAA"}}
    drops: list[ConversionDrop] = []
    assert len(anthropic(U(audio), on_drop=drops.append)) == 1
    assert [(drop.kind, drop.block_type) for drop in drops] == [("unsupported-block", "audio")]
    assert kinds(chat(U(audio))[0]) == ["input_audio"]


# -- arguments ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", ['{"a":"x', "[1,2]", '"text"', "null", "NaN", '{"a":1e999}', '{"a":NaN}'])
def test_arguments_that_are_no_json_object_are_kept_as_they_came(arguments: str) -> None:
    """codegraff#752: Chat gets them back, Anthropic an object that holds them."""
    raw = {
        "role": "assistant",
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": arguments}}],
    }
    read = from_openai(raw)
    assert to_openai(read) == raw
    assert anthropic(U(t()), read)[1]["content"][0]["input"] == {"input": arguments}


@pytest.mark.parametrize("arguments", ["", None, " "])
def test_missing_arguments_are_an_empty_object(arguments: Any) -> None:
    """ag-ui#2681, ai-agent-book#102, autogen#5667: nothing raises."""
    read = from_openai({"role": "assistant", "tool_calls": [{"id": "a", "function": {"arguments": arguments}}]})
    assert read.content[0]["input"] == {}  # type: ignore[typeddict-item]
    assert "rawInput" not in read.content[0]


# -- roles and places ---------------------------------------------------------------------------------------


def test_a_call_in_a_user_message_is_not_sent_as_a_call() -> None:
    """dsh-plugin-subscriptions#22: left out, and reported."""
    drops: list[ConversionDrop] = []
    written = anthropic(U(c("a"), t("hi")), on_drop=drops.append)
    assert kinds(written[0]) == ["text"]
    assert [drop.kind for drop in drops] == ["misplaced-block"]
    assert "tool_calls" not in chat(U(c("a"), t("hi")))[0]


def test_a_system_message_within_the_list_keeps_its_place() -> None:
    """langchain#40622, free-claude-code#1125: as it is where the model takes it, else as user text in place."""
    history = (U(t("1")), S(t("aside")), A(t("2")), U(t("3")))
    assert [m["role"] for m in anthropic(*history)] == ["user", "system", "assistant", "user"]
    old = anthropic(*history, model="claude-sonnet-4-5")
    assert [(m["role"], m["content"][0]["text"]) for m in old][1] == ("user", "aside")
    assert [m["role"] for m in chat(*history)] == ["user", "system", "assistant", "user"]


def test_the_results_of_one_batch_become_one_user_message() -> None:
    """joplin#15881: grouped, with their flags."""
    raw = [
        {"role": "assistant", "tool_calls": [{"id": x, "function": {"name": "f", "arguments": "{}"}} for x in "ab"]},
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        {"role": "tool", "tool_call_id": "b", "content": "2"},
    ]
    read = from_openai_messages(raw)
    assert [len(message.content) for message in read] == [2, 2]


def test_server_tool_blocks_are_stored_whole() -> None:
    """oh-my-pi#6496, tapes#218: encrypted content included."""
    block = {
        "type": "web_search_tool_result",
        "tool_use_id": "s",
        "content": [{"type": "web_search_result", "encrypted_content": "ZW5j", "title": "t", "url": "u"}],
    }
    read = from_anthropic({"role": "assistant", "content": [block]})
    assert read.content == [{"type": "opaque", "provider": "anthropic", "raw": block}]


def test_no_converter_changes_its_input() -> None:
    """langchain#37894, #40001, #36567: a frozen input is accepted, and equal before and after."""
    frozen: Any = MappingProxyType(
        {
            "role": "user",
            "content": (
                MappingProxyType({"type": "tool_result", "tool_use_id": "a", "content": (MappingProxyType(t()),)}),
            ),
        }
    )
    (read,) = from_anthropic_messages([frozen])
    assert codec.decode(SessionTurn, codec.encode(turns(read)[0])).content == read.content
    history = [U(t("a  ")), A(think(), c("x.y")), U(r("x.y", [t(), PNG], isError=True)), A(t("end  "))]
    before = codec.encode(turns(*history)[3]), json.dumps([message.content for message in history])
    for write in (to_anthropic_messages, to_openai_messages, to_openai_responses):
        write(history)
    assert (codec.encode(turns(*history)[3]), json.dumps([message.content for message in history])) == before


def test_a_written_message_can_be_changed_without_touching_the_stored_one() -> None:
    """Hosts add cache marks to what they send; the block in the store is another object."""
    stored = A({"type": "opaque", "provider": "anthropic", "raw": {"type": "compaction", "content": "x"}}, t())
    written: Any = to_anthropic(stored)
    for block in written["content"]:
        block["cache_control"] = {"type": "ephemeral"}
    assert "cache_control" not in json.dumps([*stored.content])


def test_a_lone_surrogate_is_replaced_on_the_wire_only() -> None:
    """All APIs refuse it; the store keeps it."""
    history = (U(t("a\ud800b")), A(c("x", "tool", input={"k\udfff": "\ud800"})), U(r("x")))
    assert anthropic(*history)[0]["content"][0]["text"] == "a\ufffdb"
    assert chat(*history)[0]["content"] == "a\ufffdb"
    assert responses(*history)[0]["content"] == "a\ufffdb"
    assert anthropic(U(t("é 🎉 \ud800")))[0]["content"][0]["text"] == "é 🎉 \ufffd"


def test_a_reply_without_choices_is_an_empty_turn() -> None:
    """Converters never raise on what an API really returned."""
    assert turn_from_openai({"choices": [], "model": "m"}).content == []
