"""A judge of requests that shares nothing with the converters: what the types cannot see and the APIs refuse.

Order, pairing, ids, emptiness. Each function returns what is wrong, in words; nothing wrong is an empty list.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

Problems = list[str]


def problems(format_name: str, messages: list[Any]) -> Problems:
    judge = {"anthropic": anthropic, "openai_chat": openai_chat, "openai_responses": openai_responses}[format_name]
    return [*judge(messages), *surrogates(messages)]


def surrogates(value: Any) -> Problems:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return ["a lone surrogate"]
    return []


# -- Anthropic ---------------------------------------------------------------------------------------


def anthropic(messages: list[Any]) -> Problems:
    found: Problems = []
    for at, message in enumerate(messages):
        found += [f"[{at}] {problem}" for problem in _anthropic_message(message)]
    found += _anthropic_pairs(messages)
    found += _anthropic_server_tools(messages)
    found += _anthropic_system(messages)
    if messages and messages[-1]["role"] == "assistant":
        last = messages[-1]["content"][-1] if messages[-1]["content"] else {}
        if last.get("type") == "text" and last["text"] != last["text"].rstrip():
            found.append("the last text ends in whitespace")
    return found


def _anthropic_message(message: Any) -> Iterator[str]:
    role, content = message["role"], message["content"]
    if not content:
        yield "empty"
        return
    if role == "assistant" and all(b["type"] in ("thinking", "redacted_thinking") for b in content):
        yield "nothing but thinking"
    for block in content:
        kind = block["type"]
        if kind == "text" and not block["text"].strip():
            yield "empty text"
        elif kind == "tool_use":
            if role != "assistant":
                yield "tool_use outside an assistant message"
            if not re.fullmatch(r"[a-zA-Z0-9_-]+", block["id"]):
                yield f"refused id {block['id']!r}"
        elif kind == "tool_result":
            if role != "user":
                yield "tool_result outside a user message"
            inner = block.get("content")
            inner = inner if isinstance(inner, list) else []
            if block.get("is_error") and any(b["type"] != "text" for b in inner):
                yield "an error result that holds more than text"
            if any(b["type"] == "text" and not b["text"].strip() for b in inner):
                yield "empty text in a result"
        elif kind in ("thinking", "redacted_thinking"):
            if role != "assistant":
                yield "thinking outside an assistant message"
            if kind == "thinking" and not block.get("signature"):
                yield "unsigned thinking"


def _anthropic_pairs(messages: list[Any]) -> Problems:
    """The API merges neighbours of one role, so a run of assistant messages is answered as one."""
    found: Problems = []
    at = 0
    while at < len(messages):
        calls: list[str] = []
        while at < len(messages) and messages[at]["role"] == "assistant":
            calls += [b["id"] for b in messages[at]["content"] if b["type"] == "tool_use"]
            at += 1
        if len(calls) != len(set(calls)):
            found.append(f"[{at}] duplicate call ids")
        window: list[Any] = []
        first = at
        while at < len(messages) and messages[at]["role"] != "assistant":
            window.append(messages[at])
            at += 1
        leading: list[str] = []
        if window and window[0]["role"] == "user":
            for block in window[0]["content"]:
                if block["type"] != "tool_result":
                    break
                leading.append(block["tool_use_id"])
        results = [b["tool_use_id"] for m in window for b in m["content"] if b["type"] == "tool_result"]
        if results != leading:
            found.append(f"[{first}] results that do not lead the next user message")
        if len(results) != len(set(results)):
            found.append(f"[{first}] duplicate results")
        if set(calls) - set(leading):
            found.append(f"[{first}] unanswered calls {sorted(set(calls) - set(leading))}")
        if set(leading) - set(calls):
            found.append(f"[{first}] results of no call {sorted(set(leading) - set(calls))}")
    return found


def _anthropic_server_tools(messages: list[Any]) -> Problems:
    found: Problems = []
    for at, message in enumerate(messages):
        asked: set[str] = set()
        for block in message["content"]:
            kind = block["type"]
            if kind in ("server_tool_use", "mcp_tool_use"):
                asked.add(block["id"])
            elif kind.endswith("_tool_result") and kind != "tool_result":
                if block["tool_use_id"] not in asked:
                    found.append(f"[{at}] a server tool's result without its call")
                asked.discard(block["tool_use_id"])
        later = [m for m in messages[at + 1 :] if m["role"] != "system"]
        goes_on = not later or all(b["type"] == "tool_result" for b in later[0]["content"])
        if asked and not goes_on:
            found.append(f"[{at}] a server tool's call without its result")
    return found


def _anthropic_system(messages: list[Any]) -> Problems:
    found: Problems = []
    for at, message in enumerate(messages):
        if message["role"] != "system":
            if any(b["type"] in ("tool_addition", "tool_removal") for b in message["content"]):
                found.append(f"[{at}] a tool change outside a system message")
            continue
        before = messages[at - 1]["role"] if at else None
        after = messages[at + 1]["role"] if at + 1 < len(messages) else None
        if before not in ("user", "system") or after == "user":
            found.append(f"[{at}] a system message between {before} and {after}")
    return found


# -- OpenAI Chat ---------------------------------------------------------------------------------------


def openai_chat(messages: list[Any]) -> Problems:
    found: Problems = []
    waiting: list[str] = []
    for at, message in enumerate(messages):
        role = message["role"]
        if role == "tool":
            if message["tool_call_id"] in waiting:
                waiting.remove(message["tool_call_id"])
            else:
                found.append(f"[{at}] a tool message of no open call")
        elif waiting:
            found.append(f"[{at}] calls not answered at once: {waiting}")
            waiting = []
        found += [f"[{at}] {problem}" for problem in _chat_message(message)]
        if role == "assistant":
            waiting = [call["id"] for call in message.get("tool_calls", ())]
    if waiting:
        found.append(f"unanswered calls at the end: {waiting}")
    return found


def _chat_message(message: Any) -> Iterator[str]:
    content = message.get("content")
    if isinstance(content, list):
        if not content:
            yield "an empty list of parts"
        if any(part["type"] == "text" and not part["text"].strip() for part in content):
            yield "an empty text part"
    if message["role"] != "assistant":
        if not content and message["role"] != "tool":
            yield "empty"
        return
    calls = message.get("tool_calls")
    if calls == []:
        yield "tool_calls: []"
    if not (content or calls or message.get("refusal") or message.get("audio")):
        yield "an assistant message of nothing"
    ids = [call["id"] for call in calls or ()]
    if len(ids) != len(set(ids)):
        yield "duplicate call ids"
    for call in calls or ():
        if not 0 < len(call["id"]) <= 64:
            yield f"refused id {call['id']!r}"
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", call[call["type"]]["name"]):
            yield f"refused name {call[call['type']]['name']!r}"


# -- OpenAI Responses ------------------------------------------------------------------------------------

_CLIENT_CALLS = {
    "computer_call": "computer_call_output",
    "shell_call": "shell_call_output",
    "local_shell_call": "local_shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
    "tool_search_call": "tool_search_output",
}


def openai_responses(items: list[Any]) -> Problems:
    found: Problems = []
    open_calls: set[str] = set()
    for at, item in enumerate(items):
        kind = item.get("type", "message")
        call_id = item.get("call_id")
        is_server = item.get("execution") == "server"
        if kind == "reasoning":
            found += [f"[{at}] {problem}" for problem in _reasoning(items, at)]
        elif kind in ("function_call", "custom_tool_call") or (kind in _CLIENT_CALLS and call_id and not is_server):
            if not call_id or len(call_id) > 64:
                found.append(f"[{at}] refused id {call_id!r}")
            if call_id in open_calls:
                found.append(f"[{at}] duplicate call id")
            open_calls.add(call_id)
        elif kind in ("function_call_output", "custom_tool_call_output") or (
            kind in _CLIENT_CALLS.values() and call_id and not is_server
        ):
            if call_id not in open_calls:
                found.append(f"[{at}] an output of no open call")
            open_calls.discard(call_id)
        elif kind == "tool_search_output" and (at == 0 or items[at - 1].get("type") != "tool_search_call"):
            found.append(f"[{at}] a server's search output without its search")
        elif kind == "message" and item["content"] == []:
            found.append(f"[{at}] an empty message")
    if open_calls:
        found.append(f"calls without output: {sorted(open_calls)}")
    return found


def _reasoning(items: list[Any], at: int) -> Iterator[str]:
    if "summary" not in items[at]:
        yield "reasoning without summary"
    later = [item for item in items[at + 1 :] if item.get("type") != "reasoning"]
    follows = later[0] if later else {"role": "user"}
    if follows.get("role") in ("user", "system", "developer") or str(follows.get("type")).endswith("_output"):
        yield "reasoning without the item that it led to"
    elif follows.get("role") == "assistant" and "id" not in follows:
        yield "reasoning before a message without id"
