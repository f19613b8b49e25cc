"""Turns out of what hosts have at hand: a prompt, or a provider's reply with its usage."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, cast
from uuid import uuid4

from zidane_core.blocks import ContentBlock, TurnUsage, text
from zidane_core.records import SessionMessage, SessionTurn

from ._plain import plain, plain_list
from .anthropic.reading import from_anthropic
from .openai_chat.reading import from_openai
from .openai_responses.reading import from_openai_responses


def user_turn(
    content: str | Sequence[ContentBlock],
    *,
    run_id: str | None = None,
    turn_id: str | None = None,
    created_at: int | None = None,
) -> SessionTurn:
    """A user's turn: of a prompt, or of blocks."""
    blocks = [text(content)] if isinstance(content, str) else content
    return _turn("user", blocks, None, {}, run_id, turn_id, created_at)


def turn_from_anthropic(
    reply: object, *, run_id: str | None = None, turn_id: str | None = None, created_at: int | None = None
) -> SessionTurn:
    """The assistant turn of a Messages reply, with its usage. Accepts the SDK's object and its dict."""
    raw = plain(reply)
    message = from_anthropic(raw)
    usage = _anthropic_usage(raw)
    return _turn("assistant", message.content, usage, message.extra, run_id, turn_id, created_at)


def turn_from_openai(
    reply: object, *, run_id: str | None = None, turn_id: str | None = None, created_at: int | None = None
) -> SessionTurn:
    """The assistant turn of a Chat Completions reply (its first choice), with its usage."""
    raw = plain(reply)
    choices = plain_list(raw.get("choices"))
    spoken = plain(choices[0]).get("message") if choices else None
    message = from_openai(spoken or {"role": "assistant", "content": None}, model=raw.get("model"))
    usage = _openai_usage(raw, "prompt_tokens", "completion_tokens")
    return _turn("assistant", message.content, usage, message.extra, run_id, turn_id, created_at)


def turn_from_openai_responses(
    reply: object, *, run_id: str | None = None, turn_id: str | None = None, created_at: int | None = None
) -> SessionTurn:
    """The assistant turn of a Responses reply: all of its output items, with its usage."""
    raw = plain(reply)
    messages = from_openai_responses(plain_list(raw.get("output")), model=raw.get("model"))
    blocks = [block for message in messages for block in message.content]
    usage = _openai_usage(raw, "input_tokens", "output_tokens")
    return _turn("assistant", blocks, usage, {}, run_id, turn_id, created_at)


def _turn(
    role: Any,
    content: Sequence[ContentBlock],
    usage: TurnUsage | None,
    extra: Mapping[str, Any],
    run_id: str | None,
    turn_id: str | None,
    created_at: int | None,
) -> SessionTurn:
    return SessionTurn(
        id=uuid4().hex if turn_id is None else turn_id,
        role=role,
        content=content,
        created_at=time.time_ns() // 1_000_000 if created_at is None else created_at,
        run_id=run_id,
        usage=usage,
        extra=dict(extra),
    )


def _anthropic_usage(raw: Mapping[str, Any]) -> TurnUsage | None:
    found = plain(raw.get("usage"))
    if not found:
        return None
    usage: dict[str, Any] = {"input": found.get("input_tokens") or 0, "output": found.get("output_tokens") or 0}
    _note(usage, "cacheRead", found.get("cache_read_input_tokens"))
    _note(usage, "cacheCreation", found.get("cache_creation_input_tokens"))
    return _with_provenance(usage, raw, "anthropic")


def _openai_usage(raw: Mapping[str, Any], input_key: str, output_key: str) -> TurnUsage | None:
    """OpenAI counts cached and newly cached tokens into its input; here `input` is what remains without them."""
    found = plain(raw.get("usage"))
    if not found:
        return None
    details = plain(found.get(f"{input_key}_details"))
    cached = details.get("cached_tokens") or 0
    written = details.get("cache_write_tokens") or 0
    total = found.get(input_key) or 0
    usage: dict[str, Any] = {"input": max(total - cached - written, 0), "output": found.get(output_key) or 0}
    _note(usage, "cacheRead", cached)
    _note(usage, "cacheCreation", written)
    _note(usage, "reasoning", plain(found.get(f"{output_key}_details")).get("reasoning_tokens"))
    return _with_provenance(usage, raw, "openai")


def _note(usage: dict[str, Any], key: str, count: object) -> None:
    if count:
        usage[key] = count


def _with_provenance(usage: dict[str, Any], raw: Mapping[str, Any], provider: str) -> TurnUsage:
    model = raw.get("model")
    return cast("TurnUsage", {**usage, "provider": provider, **({"model": model} if model else {})})


def message_turn(
    message: SessionMessage,
    *,
    run_id: str | None = None,
    turn_id: str | None = None,
    created_at: int | None = None,
) -> SessionTurn:
    """A turn that stores a converted message."""
    return _turn(message.role, message.content, None, message.extra, run_id, turn_id, created_at)
