"""The way of a history through zidane: read, stored, loaded, projected, written; and what may differ at the end."""

from __future__ import annotations

import json
from typing import Any

from zidane_core import codec
from zidane_core.messages import (
    PairingRepair,
    from_anthropic_messages,
    from_openai_messages,
    from_openai_responses,
    message_turn,
    to_anthropic_messages,
    to_openai_messages,
    to_openai_responses,
    to_wire_messages_sync,
)
from zidane_core.records import SessionData, SessionMessage, SessionTurn
from zidane_core.store import SessionStore

from .transcripts import History

FORMATS = ("anthropic", "openai_chat", "openai_responses")
_READ: dict[str, Any] = {
    "anthropic": from_anthropic_messages,
    "openai_chat": from_openai_messages,
    "openai_responses": from_openai_responses,
}
_WRITE: dict[str, Any] = {
    "anthropic": to_anthropic_messages,
    "openai_chat": to_openai_messages,
    "openai_responses": to_openai_responses,
}


def read(history: History) -> list[SessionMessage]:
    messages: list[SessionMessage] = _READ[history.format](history.messages, model=history.model)
    return messages


def as_turns(messages: list[SessionMessage]) -> list[SessionTurn]:
    return [message_turn(message, turn_id=f"t{at}", created_at=at) for at, message in enumerate(messages)]


async def loaded(store: SessionStore, history: History) -> list[SessionTurn]:
    """The history's turns after a save and a load, as a session of its own."""
    turns = as_turns(read(history))
    await store.save(
        SessionData(id=history.name, created_at=0, updated_at=0, status="idle", turns=turns, runs=[], metadata={}),
        create=True,
    )
    session = await store.load(history.name)
    assert session is not None
    return list(session.turns)


def stored(turns: list[SessionTurn]) -> list[SessionTurn]:
    """The turns as any store gives them back: through the one codec that all of them use."""
    return [codec.decode(SessionTurn, codec.encode(turn)) for turn in turns]


def projected(turns: list[SessionTurn], **options: Any) -> tuple[list[SessionMessage], list[PairingRepair]]:
    repairs: list[PairingRepair] = []
    return to_wire_messages_sync(turns, system="keep", on_repair=repairs.append, **options), repairs


def write(format_name: str, messages: list[SessionMessage], model: str | None = None) -> list[Any]:
    written: list[Any] = _WRITE[format_name](messages, model=model)
    return written


def with_reused_ids(written: list[Any], repairs: list[PairingRepair]) -> list[Any]:
    """What was written, with every id that was renamed because it was reused set back."""
    text = json.dumps(written)
    for repair in repairs:
        for number in range(9, 1, -1):
            text = text.replace(f'"{repair.call_id}_r{number}"', f'"{repair.call_id}"')
    restored: list[Any] = json.loads(text)
    return restored


NORMALISATIONS = {
    "a string of content is one text block": "anthropic",
    "the envelope of a reply (id, model, usage, stop_reason, …) is not sent back": "anthropic",
    "trailing whitespace of a final assistant text is cut": "anthropic",
    "an empty tool output is sent without content": "anthropic",
    "an absent content is null": "openai_chat",
    "one plain text part is a string": "openai_chat, openai_responses",
    "a call's arguments are written without spaces, and an empty string as {}": "openai_chat, openai_responses",
    "the name of a tool message is kept, and not sent: the API has no such key": "openai_chat",
    "an empty assistant text is not sent": "anthropic, openai_chat",
}
"""What may differ between a history and its return, by format. Each is done in `normalised` below."""


def normalised(format_name: str, messages: list[Any]) -> list[Any]:
    """A history with what sending it changes by design already changed."""
    copied = json.loads(json.dumps(messages))
    if format_name == "anthropic":
        return _anthropic(copied)
    if format_name == "openai_chat":
        return [normal for message in copied if (normal := _chat(message)) is not None]
    return [_responses(item) for item in copied]


_REPLY = {"id", "type", "model", "stop_reason", "stop_sequence", "usage"}


def _anthropic(messages: list[Any]) -> list[Any]:
    kept = [{key: value for key, value in message.items() if key not in _REPLY} for message in messages]
    for message in kept:
        if isinstance(message["content"], str):
            message["content"] = [{"type": "text", "text": message["content"]}]
        message["content"] = [{"type": "text", "text": b} if isinstance(b, str) else b for b in message["content"]]
    if kept and kept[-1]["role"] == "assistant" and kept[-1]["content"][-1]["type"] == "text":
        kept[-1]["content"][-1]["text"] = kept[-1]["content"][-1]["text"].rstrip()
    return kept


def _chat(message: dict[str, Any]) -> dict[str, Any] | None:
    content = message.get("content")
    if content is None or (message["role"] == "assistant" and content == ""):
        message.pop("content", None)
    else:
        message["content"] = _one_text(content, "text")
    for call in message.get("tool_calls") or ():
        if "function" in call:
            call["function"]["arguments"] = _compact(call["function"]["arguments"])
    if message["role"] == "tool":
        message.pop("name", None)
    return message if message.keys() != {"role"} else None


def _responses(item: dict[str, Any]) -> dict[str, Any]:
    if "content" in item and item.get("type") != "reasoning":
        item["content"] = _one_text(item["content"], "input_text")
    if item.get("type") == "function_call":
        item["arguments"] = _compact(item["arguments"])
    return item


def _one_text(content: Any, kind: str) -> Any:
    if isinstance(content, list) and len(content) == 1 and content[0].keys() == {"type", "text"}:
        return content[0]["text"] if content[0]["type"] == kind else content
    return content


def _compact(arguments: str) -> str:
    return json.dumps(json.loads(arguments or "{}"), separators=(",", ":"), ensure_ascii=False)
