"""Random histories: valid or not, with few ids, so that they collide."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from zidane_core.records import SessionMessage, SessionTurn

from .notation import PDF, PNG, reasoning, think

IDS = st.sampled_from(["a", "b", "c", "call:0", "call.0", "x" * 70, "a_r2"])
TEXTS = st.sampled_from(["hi", "two  ", "", " ", "é\ud800"])
FLAGS = st.sampled_from([{}, {"isError": True}, {"isError": False}])


def texts() -> st.SearchStrategy[Any]:
    return TEXTS.map(lambda text: {"type": "text", "text": text})


def opaques() -> st.SearchStrategy[Any]:
    raws = [
        ("anthropic", {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}),
        ("anthropic", {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}),
        ("openai", {"type": "tool_search_call", "call_id": "ts", "execution": "client", "arguments": {}}),
        ("openai", {"type": "tool_search_output", "call_id": "ts", "execution": "client", "tools": []}),
        ("openai", {"type": "web_search_call", "id": "ws", "status": "completed", "action": {"type": "search"}}),
    ]
    return st.sampled_from([{"type": "opaque", "provider": provider, "raw": raw} for provider, raw in raws])


def calls() -> st.SearchStrategy[Any]:
    item = st.sampled_from([{}, {"providerMeta": {"openai": {"id": "fc_1"}}}, {"rawInput": "[1"}])
    return st.builds(
        lambda call_id, name, extra: {"type": "tool_call", "id": call_id, "name": name, "input": {"k": 1}, **extra},
        IDS,
        st.sampled_from(["one", "t.wo"]),
        item,
    )


def results() -> st.SearchStrategy[Any]:
    outputs = TEXTS | st.lists(texts() | st.just(PNG) | st.just(PDF), max_size=2)
    return st.builds(
        lambda call_id, output, flag: {"type": "tool_result", "callId": call_id, "output": output, **flag},
        IDS | st.just("fc_1"),
        outputs,
        FLAGS,
    )


def thoughts() -> st.SearchStrategy[Any]:
    return st.sampled_from(
        [think(), think(signature=""), reasoning(), reasoning("rs_2", encrypted=None), think(model="other")]
    )


def messages() -> st.SearchStrategy[SessionMessage]:
    spoken = st.lists(calls() | texts() | thoughts() | opaques(), max_size=4)
    heard = st.lists(results() | texts() | st.just(PNG) | opaques() | calls(), max_size=4)
    told = st.lists(texts(), max_size=2)
    return st.one_of(
        spoken.map(lambda content: SessionMessage(role="assistant", content=content)),
        heard.map(lambda content: SessionMessage(role="user", content=content)),
        told.map(lambda content: SessionMessage(role="system", content=content)),
    )


def histories() -> st.SearchStrategy[list[SessionMessage]]:
    return st.lists(messages(), max_size=8)


def turn_lists() -> st.SearchStrategy[list[SessionTurn]]:
    """Turns of up to two lanes, with command turns between them."""
    turn = st.builds(
        lambda message, run_id, command: SessionTurn(
            id="",
            role="command" if command else message.role,
            content=message.content,
            created_at=0,
            run_id=run_id,
        ),
        messages(),
        st.sampled_from([None, None, "run"]),
        st.sampled_from([False] * 7 + [True]),
    )
    return st.lists(turn, max_size=9)
