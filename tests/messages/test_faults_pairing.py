"""Faults of pairing and repair that were reported in the field, one test for each kind."""

from __future__ import annotations

from zidane_core import codec
from zidane_core.blocks import SYNTHETIC_TOOL_RESULT_PLACEHOLDER
from zidane_core.messages import (
    close_interrupted_tool_calls,
    drop_invalid_tool_pairings,
    from_openai_messages,
    to_anthropic_messages,
    to_openai_messages,
    to_openai_responses,
    to_wire_messages_sync,
)
from zidane_core.messages.pairing import STRIPPED_RESULT_MARKER
from zidane_core.records import SessionTurn

from .notation import PNG, A, S, U, c, r, reasoning, repairs, shape, t, think, turns, wire
from .validity import problems


def test_an_unanswered_call_amid_a_history_is_answered_on_the_wire_only() -> None:
    """copilot-cli#3183, ag-ui and vercel/ai#8520: the next user message gets the missing result, in front."""
    history = (U(t("1")), A(c("a")), U(t("2")))
    assert shape(wire(*history)) == ["U:1", "A:a", "U:a! 2"]
    assert shape(list(history)) == ["U:1", "A:a", "U:2"]
    synthetic = wire(*history)[2].content[0]
    assert synthetic["isError"] is True  # type: ignore[typeddict-item]  # it is a tool result


def test_results_that_were_stored_are_found_after_a_reload() -> None:
    """qwen-code#9573: saving and loading a call and its result needs no repair."""
    stored = [codec.decode(SessionTurn, codec.encode(turn)) for turn in turns(A(c("a")), U(r("a")))]
    found: list[object] = []
    assert shape(to_wire_messages_sync(stored, on_repair=found.append)) == ["A:a", "U:a="]
    assert found == []


def test_an_earlier_answer_does_not_answer_a_later_call_of_the_same_id() -> None:
    """fastagent#26: the call that crashed is seen, although its id was answered before."""
    assert shape(wire(A(c("1")), U(r("1")), A(c("1")))) == ["A:1", "U:1=", "A:1_r2", "U:1_r2!"]


def test_a_trailing_call_with_a_refused_id_is_answered_under_the_same_new_id() -> None:
    """kimi-code#269: `TaskOutput:79` becomes one id that Anthropic takes, in call and result."""
    written = to_anthropic_messages(wire(U(t()), A(c("TaskOutput:79"))))
    assert problems("anthropic", written) == []
    assert written[1]["content"][0]["id"] == written[2]["content"][0]["tool_use_id"]  # type: ignore[index]


def test_many_unanswered_calls_are_answered_in_call_order_behind_the_real_results() -> None:
    """opencode#10616."""
    assert shape(wire(A(c("1"), c("2"), c("3")), U(r("3")))) == ["A:1 2 3", "U:3= 1! 2!"]


def test_healing_survives_a_reload() -> None:
    """huggingface/tau#269: what is healed, stored and loaded needs no further healing."""
    healed = close_interrupted_tool_calls(turns(U(t()), A(c("a"))), new_id=lambda: "new")
    again = [codec.decode(SessionTurn, codec.encode(turn)) for turn in healed]
    assert again == healed
    assert close_interrupted_tool_calls(again) is again


def test_a_call_cut_short_is_paired_and_keeps_its_raw_arguments() -> None:
    """atomic#2130: arguments that end in the middle of JSON."""
    messages = from_openai_messages(
        [{"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": '{"x": [1, '}}]}]
    )
    sent = wire(*messages)
    assert shape(sent) == ["A:a", "U:a!"]
    assert sent[0].content[0]["rawInput"] == '{"x": [1, '  # type: ignore[typeddict-item]  # it is a tool call


def test_a_history_cut_at_a_result_keeps_the_text_beside_it() -> None:
    """vellum-assistant#31035, agent-os#3243: the orphan goes, the user's text stays."""
    history = (U(r("a"), t("hello")), A(t()))
    assert shape(wire(*history)) == ["U:hello", "A:text"]
    assert repairs(*history) == [(6, "leading-result", 0, "a")]
    assert shape(wire(U(t()), A(t()), U(r("a"), t("hello"))))[-1] == "U:hello"


def test_a_message_between_call_and_result_does_not_hide_the_result() -> None:
    """pi#8667: the real result is lifted to the front, and no synthetic one is made."""
    history = (A(c("a")), U(t("summary")), U(r("a")))
    assert shape(wire(*history)) == ["A:a", "U:a= summary"]
    assert repairs(*history) == []
    assert shape(wire(A(c("a")), S(t("aside")), U(r("a")))) == ["A:a", "U:a=", "S:aside"]


def test_an_orphan_call_kept_by_a_compaction_is_answered() -> None:
    """OpenHarness#191, openai-agents-python#1061: on every format."""
    sent = wire(A(c("a")), U(t("compacted")))
    assert problems("anthropic", to_anthropic_messages(sent)) == []
    assert problems("openai_chat", to_openai_messages(sent)) == []
    items = to_openai_responses(sent)
    assert [item.get("type") for item in items] == ["function_call", "function_call_output", None]


def test_a_synthetic_result_that_outlived_its_call_is_stripped() -> None:
    """openclaw#16095."""
    history = (U(t()), A(t("hi")), U(r("a", synthetic=True)))
    assert shape(wire(*history))[-1] == f"U:{STRIPPED_RESULT_MARKER}"
    assert repairs(*history) == [(3, "foreign-result", 2, "a")]


def test_a_server_call_without_result_is_left_out_unless_the_provider_is_to_go_on() -> None:
    """anthropic-sdk-python#1151."""
    server = {
        "type": "opaque",
        "provider": "anthropic",
        "raw": {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
    }
    dropped = to_anthropic_messages(wire(U(t()), A(server, t("so")), U(t("new"))))
    assert [block["type"] for block in dropped[1]["content"]] == ["text"]  # type: ignore[union-attr,index]
    kept = to_anthropic_messages(wire(U(t()), A(server, c("a")), U(r("a"))))
    assert [block["type"] for block in kept[1]["content"]] == ["server_tool_use", "tool_use"]  # type: ignore[union-attr,index]
    assert len(wire(U(t()), A(server), provider="anthropic")) == 2


def test_any_slice_of_a_valid_history_is_valid_on_the_wire() -> None:
    """learn-claude-code#325."""
    history = [U(t("1")), A(c("a"), c("b")), U(r("a"), r("b")), A(c("c")), U(r("c"), t("2")), A(t("3")), U(t("4"))]
    for start in range(len(history)):
        for end in range(start + 1, len(history) + 1):
            sent = wire(*history[start:end])
            assert problems("anthropic", to_anthropic_messages(sent)) == []
            assert problems("openai_chat", to_openai_messages(sent)) == []
            assert problems("openai_responses", to_openai_responses(sent)) == []


def test_a_call_twice_in_one_message_is_sent_once() -> None:
    """claude-code#28515 and #21317, qwen-code#8163."""
    history = (A(c("a"), c("a")), U(r("a")))
    assert shape(wire(*history)) == ["A:a", "U:a="]
    assert repairs(*history) == [(4, "duplicate-call", 0, "a")]


def test_a_reused_id_is_stripped_with_its_result_where_that_is_asked() -> None:
    """qwen-code#5099: mode 4 is reported; parity with the reference."""
    history = (A(c("d")), U(r("d")), A(t("so"), c("d")), U(r("d"), t("end")))
    assert shape(wire(*history, reused_call_ids="strip")) == ["A:d", "U:d=", "A:so", "U:end"]
    assert repairs(*history, reused_call_ids="strip") == [(4, "reused-call-id", 2, "d")]


def test_ids_that_start_anew_with_each_reply_are_renamed_in_pairs() -> None:
    """craft-agents-oss#753: nothing is lost, and every call keeps its own result."""
    history = (A(c("call_0")), U(r("call_0", "x")), A(c("call_0")), U(r("call_0", "y")))
    sent = wire(*history)
    assert shape(sent) == ["A:call_0", "U:call_0=", "A:call_0_r2", "U:call_0_r2="]
    assert sent[3].content[0]["output"] == "y"  # type: ignore[typeddict-item]  # it is a tool result


def test_a_second_result_for_one_call_is_left_out() -> None:
    """Roo-Code#9248 and #10497: the first is kept."""
    history = (A(c("a")), U(r("a", "ok"), r("a", "error", isError=True)))
    assert shape(wire(*history)) == ["A:a", "U:a="]
    assert repairs(*history) == [(5, "duplicate-result", 1, "a")]
    assert wire(*history)[1].content[0]["output"] == "ok"  # type: ignore[typeddict-item]  # it is a tool result


def test_results_with_unknown_ids_are_never_matched_by_position() -> None:
    """Roo-Code#9952."""
    assert shape(wire(A(c("1"), c("2")), U(r("x"), r("x")))) == ["A:1 2", "U:1! 2!"]


def test_two_assistant_messages_in_a_row_get_the_missing_result_between_them() -> None:
    """open_deep_research#164: a handoff that answered nothing."""
    history = (U(t()), A(c("a")), A(t("taken over")))
    assert shape(wire(*history)) == ["U:text", "A:a", "U:a!", "A:taken over"]
    assert repairs(*history) == [(2, "unanswered-call", 1, "a")]


def test_two_assistant_messages_answered_together_are_left_alone() -> None:
    """Recorded traffic: the provider takes them so. Chat has them as one batch."""
    history = (A(c("a")), A(c("b")), U(r("b"), r("a")))
    assert wire(*history) == list(history)
    written = to_openai_messages(wire(*history))
    assert [message["role"] for message in written] == ["assistant", "tool", "tool"]
    assert problems("openai_chat", written) == []


def test_no_result_of_a_batch_is_lost_while_its_call_lives() -> None:
    """dify-official-plugins#2352."""
    history = (A(c("a"), c("b"), c("c")), U(r("c"), PNG), U(r("a"), t()), U(r("b")))
    assert shape(wire(*history)) == ["A:a b c", "U:c= a= b= image", "U:text"]
    assert drop_invalid_tool_pairings(kept := turns(*history)) is kept


def test_a_reasoning_item_leaves_with_the_duplicate_call_that_it_led_to() -> None:
    """openai-agents-js#1280: on the wire, and in storage."""
    history = (A(c("a")), U(r("a")), A(reasoning(), c("a")), U(t("end")))
    assert shape(wire(*history, reused_call_ids="strip")) == ["A:a", "U:a=", "U:end"]
    dropped = drop_invalid_tool_pairings(turns(*history))
    assert [turn.id for turn in dropped] == ["t0", "t1", "t3"]
    split = wire(A(reasoning(), c("a"), reasoning("rs_2"), c("a"), t("end")), U(r("a")))
    assert [block["type"] for block in split[0].content] == ["thinking", "tool_call", "text"]


def test_a_result_keyed_by_the_item_id_finds_its_call() -> None:
    """hermes-agent#93329: `fc_…` in place of `call_…`."""
    call = c("call_1", providerMeta={"openai": {"id": "fc_1"}})
    assert shape(wire(A(call), U(r("fc_1")))) == ["A:call_1", "U:call_1="]
    kept = turns(A(call), U(r("fc_1")))
    assert drop_invalid_tool_pairings(kept) is kept
    assert close_interrupted_tool_calls(kept) is kept


def test_thinking_and_images_are_not_taken_for_emptiness() -> None:
    """fazer-ai/agents#461: nothing dropped, nothing judged empty."""
    history = turns(U(PNG), A(think()), U(t()), A(think(), c("a")), U(r("a", "")))
    assert drop_invalid_tool_pairings(history) is history


def test_a_trailing_call_is_answered_and_not_taken_for_a_prefill() -> None:
    """copilot-api#261: the synthetic result is the last word, and no directive follows."""
    assert shape(wire(U(t()), A(c("a")), provider="anthropic")) == ["U:text", "A:a", "U:a!"]


def test_text_before_a_result_goes_behind_it() -> None:
    """qwen-code#8161, hermes#65369 and #58732, ogx#6367, langchain-aws#389."""
    assert shape(wire(A(c("a")), U(t("hi"), r("a")))) == ["A:a", "U:a= hi"]
    assert shape(wire(A(c("a")), U(t("one")), U(t("two"), r("a")))) == ["A:a", "U:a= one", "U:two"]
    written = to_openai_messages([A(c("a")), U(t("hi"), r("a"))])
    assert [message["role"] for message in written] == ["assistant", "tool", "user"]


def test_placeholders_stay_on_the_wire() -> None:
    """oh-my-openagent#4542: the stored turns are the same objects as before."""
    history = turns(U(t()), A(c("a")))
    before = [codec.encode(turn) for turn in history]
    assert SYNTHETIC_TOOL_RESULT_PLACEHOLDER in str(to_wire_messages_sync(history))
    assert [codec.encode(turn) for turn in history] == before


def test_every_repair_says_what_where_and_which_call() -> None:
    """openclaude#1625: one record for each of the six modes."""
    history = (U(r("z"), t()), A(c("a"), c("a")), U(r("q")), A(c("a"), c("b")), U(r("a"), r("a")), A(c("e")))
    assert repairs(*history) == [
        (6, "leading-result", 0, "z"),
        (4, "duplicate-call", 1, "a"),
        (3, "foreign-result", 2, "q"),
        (1, "missing-result", 1, "a"),
        (4, "reused-call-id", 3, "a"),
        (5, "duplicate-result", 4, "a"),
        (1, "missing-result", 3, "b"),
        (2, "unanswered-call", 5, "e"),
    ]


def test_repairing_twice_is_repairing_once() -> None:
    """litellm#31060: neither results nor the directive pile up."""
    once = wire(U(t()), A(c("a")), U(t()), A(c("a"), t("end")), U(t()), A(t("bye")), provider="anthropic")
    assert wire(*once, provider="anthropic") == once


def test_a_model_without_prefill_gets_a_last_user_message() -> None:
    """llxprt-code#3695."""
    assert shape(wire(U(t()), A(t("bye")), provider="anthropic"))[-1] == "U:Continue."
    assert shape(wire(U(t()), A(t("bye")), provider="anthropic", user_tail_directive="Go."))[-1] == "U:Go."
    assert shape(wire(U(t()), A(t("bye")), provider="openai_chat"))[-1] == "A:bye"
