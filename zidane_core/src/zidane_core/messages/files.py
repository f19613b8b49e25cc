"""Conversations out of files that other tools wrote: JSON and JSONL of Anthropic and OpenAI messages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, cast

from zidane_core.records import SessionMessage

from ._plain import plain
from .anthropic.reading import from_anthropic_messages
from .detect import MessageFormat, detect_format
from .openai_chat.reading import from_openai_messages
from .openai_responses.reading import from_openai_responses

_READERS: dict[MessageFormat, Callable[[Iterable[object]], list[SessionMessage]]] = {
    "anthropic": from_anthropic_messages,
    "openai": from_openai_messages,
    "openai-responses": from_openai_responses,
}


def read_history(text: str) -> tuple[MessageFormat, list[SessionMessage]]:
    """The longest conversation in a file's text, and the format that it was in.

    Understands a plain list of messages, documents that hold such lists anywhere (request logs, trajectories), and
    JSONL logs with a message in each line.

    Raises:
        ValueError: the text is no JSON, or holds no conversation.
    """
    conversations = sorted(_conversations(_documents(text)), key=len)
    if not conversations:
        raise ValueError("there is no conversation in it: a list of objects with a role, as providers take them")
    messages = [_with_one_call_id(message) for message in conversations[-1]]
    found = detect_format(messages)
    return found, _READERS[found](messages)


def _documents(text: str) -> Any:
    text = text.removeprefix("\ufeff")
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    except json.JSONDecodeError as whole:
        lines = [line for line in text.split("\n") if line.strip()]  # `splitlines` also cuts at U+2028 within strings
        try:
            return [_logged(json.loads(line)) for line in lines]
        except json.JSONDecodeError as error:
            raise ValueError(f"it is neither JSON ({whole}) nor JSON in each line ({error})") from error


def _logged(line: Any) -> Any:
    """The message in a line of a log, or the line itself."""
    logged = plain(line)
    return logged["message"] if isinstance(logged.get("message"), dict) else line


def _conversations(document: Any) -> Iterator[list[Mapping[str, Any]]]:
    if isinstance(document, list):
        items = cast("list[object]", document)
        messages = [plain(item) for item in items if _is_message(plain(item))]
        if messages:
            yield messages
        else:
            for item in items:
                yield from _conversations(item)
    elif isinstance(document, dict):
        for value in plain(cast("object", document)).values():
            yield from _conversations(value)


def _is_message(item: Mapping[str, Any]) -> bool:
    return "role" in item or item.get("type") in _ITEM_TYPES


_ITEM_TYPES = frozenset({"function_call", "function_call_output", "reasoning"})


def _with_one_call_id(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Some agents log the one call that a tool message answers as a list."""
    call_ids = message.get("tool_call_ids")
    if message.get("role") != "tool" or not isinstance(call_ids, list) or not call_ids:
        return message
    return {"role": "tool", "tool_call_id": call_ids[0], "content": message.get("content")}
