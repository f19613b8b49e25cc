"""From stored turns to messages that a provider accepts. What comes out is sent, and never stored."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from inspect import isawaitable
from typing import Any, Literal, TypeAlias, cast

import msgspec

from zidane_core.records import SessionMessage, SessionTurn

from ._plain import is_list, is_mapping
from .events import OnRepair
from .pairing import ReusedCallIds, ensure_tool_result_pairing
from .traits import ProviderTraits, provider_traits

DEFAULT_USER_TAIL_DIRECTIVE = "Continue."
"""What is said for the user where a provider does not let the assistant speak last."""

Source: TypeAlias = Mapping[str, Any]
ResolveContentRef: TypeAlias = Callable[[str, Mapping[str, Any]], Source | Awaitable[Source | None] | None]
"""Given the `ref` of a source and its block: the source to send instead, `None` to leave it out. May be async."""


async def to_wire_messages(
    turns: Sequence[SessionTurn | SessionMessage],
    *,
    system: Literal["drop", "keep"] = "drop",
    provider: str | ProviderTraits | None = None,
    user_tail_directive: str | None = None,
    resolve_content_ref: ResolveContentRef | None = None,
    reused_call_ids: ReusedCallIds = "rename",
    on_repair: OnRepair | None = None,
) -> list[SessionMessage]:
    """The turns of one lane as messages that any provider takes, once converted to its format.

    Command turns are left out, system turns too unless `system="keep"`. Then content references are resolved, calls
    and results paired (`ensure_tool_result_pairing`), and, where a provider is named, the user has the last word
    (`ensure_ends_with_user_message`). Pure and idempotent. Feeding the result back into a session would store
    synthetic results as if they had happened.
    """
    messages = _messages(turns, system)
    if resolve_content_ref is not None:
        messages = [await _resolved(message, resolve_content_ref) for message in messages]
    return _projected(messages, provider, user_tail_directive, reused_call_ids, on_repair)


def to_wire_messages_sync(
    turns: Sequence[SessionTurn | SessionMessage],
    *,
    system: Literal["drop", "keep"] = "drop",
    provider: str | ProviderTraits | None = None,
    user_tail_directive: str | None = None,
    reused_call_ids: ReusedCallIds = "rename",
    on_repair: OnRepair | None = None,
) -> list[SessionMessage]:
    """`to_wire_messages` where no content reference is to be resolved."""
    return _projected(_messages(turns, system), provider, user_tail_directive, reused_call_ids, on_repair)


def ensure_ends_with_user_message(
    messages: Sequence[SessionMessage],
    provider: str | ProviderTraits,
    *,
    directive: str = DEFAULT_USER_TAIL_DIRECTIVE,
) -> Sequence[SessionMessage]:
    """The messages, with a user message added where the assistant has the last word and the provider minds.

    The same object when nothing is added. An assistant message that ends in a server tool still at work is left: the
    provider continues it.
    """
    if not messages or messages[-1].role != "assistant" or provider_traits(provider).prefill:
        return messages
    if _awaits_server(messages[-1]):
        return messages
    return [*messages, SessionMessage(role="user", content=[{"type": "text", "text": directive}])]


def _messages(turns: Sequence[SessionTurn | SessionMessage], system: Literal["drop", "keep"]) -> list[SessionMessage]:
    roles = ("user", "assistant", "system") if system == "keep" else ("user", "assistant")
    return [
        turn
        if isinstance(turn, SessionMessage)
        else SessionMessage(role=cast("Any", turn.role), content=turn.content, extra=turn.extra)
        for turn in turns
        if turn.role in roles
    ]


def _projected(
    messages: list[SessionMessage],
    provider: str | ProviderTraits | None,
    directive: str | None,
    reused_call_ids: ReusedCallIds,
    on_repair: OnRepair | None,
) -> list[SessionMessage]:
    paired = ensure_tool_result_pairing(messages, reused_call_ids=reused_call_ids, on_repair=on_repair)
    if provider is None:
        return paired
    tail = DEFAULT_USER_TAIL_DIRECTIVE if directive is None else directive
    return list(ensure_ends_with_user_message(paired, provider, directive=tail))


def _awaits_server(message: SessionMessage) -> bool:
    last = cast("Mapping[str, Any]", message.content[-1])
    raw = last.get("raw") if last.get("type") == "opaque" else None
    return is_mapping(raw) and str(raw.get("type")).endswith("_tool_use")


async def _resolved(message: SessionMessage, resolve: ResolveContentRef) -> SessionMessage:
    content = await _resolved_blocks(message.content, resolve)
    return message if content is message.content else msgspec.structs.replace(message, content=content)


async def _resolved_blocks(blocks: Sequence[Any], resolve: ResolveContentRef) -> Sequence[Any]:
    """The blocks with their references resolved, also within results; the same object when there is none."""
    resolved = [await _resolved_block(block, resolve) for block in blocks]
    if all(one is other for one, other in zip(blocks, resolved, strict=True)):
        return blocks
    return [block for block in resolved if block is not None]


async def _resolved_block(block: Mapping[str, Any], resolve: ResolveContentRef) -> Mapping[str, Any] | None:
    source = block.get("source")
    if is_mapping(source) and source.get("kind") == "ref":
        answer = resolve(source["ref"], block)
        found = await answer if isawaitable(answer) else answer
        return None if found is None else {**block, "source": found}
    output = block.get("output")
    if is_list(output):
        inner = await _resolved_blocks(output, resolve)
        return block if inner is output else {**block, "output": inner}
    return block
