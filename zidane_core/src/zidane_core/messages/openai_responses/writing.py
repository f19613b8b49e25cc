"""Neutral messages into OpenAI Responses items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from zidane_core.messages._meta import message_meta
from zidane_core.messages._outgoing import EMPTY_MESSAGE, Outgoing, flattened, without_lone_surrogates
from zidane_core.messages._plain import Json, JsonDict
from zidane_core.messages.events import OnConversionDrop
from zidane_core.messages.traits import ProviderTraits
from zidane_core.records import SessionMessage, SessionTurn

from .parts import message_part, output_item
from .reading import PROVIDER
from .speech import Speech
from .unpaired import unpaired_blocks, without_lone_answers

if TYPE_CHECKING:
    from openai.types.responses import ResponseInputItemParam

Block: TypeAlias = Mapping[str, Any]


def to_openai_responses(
    messages: Sequence[SessionMessage | SessionTurn],
    *,
    model: str | None = None,
    provider: str | ProviderTraits = PROVIDER,
    store: bool = True,
    on_drop: OnConversionDrop | None = None,
) -> list[ResponseInputItemParam]:
    """Paired messages (`to_wire_messages`) as the `input` of a Responses request to `model`.

    Reasoning goes to the model that made it, with the item that it led to or not at all; where it stays behind, the
    ids of the items bound to it stay behind too. With `store=False`, as in the request, the provider keeps no items:
    reasoning without encrypted content then means nothing to it, and is left out. An error is marked in the output's
    text, and reading it gives the flag back. Never mutates.
    """
    out = Outgoing(provider, model, on_drop)
    written = without_lone_surrogates(messages, lambda: _written(messages, out, store))
    return cast("list[ResponseInputItemParam]", written)


def _written(messages: Sequence[SessionMessage | SessionTurn], out: Outgoing, store: bool) -> list[Json]:
    written: list[Json] = []
    unpaired, out.has_server_tools = unpaired_blocks(messages)
    custom: set[str] = set()
    for index, message in enumerate(messages):
        out.index = index
        blocks = [block for at, block in enumerate(message.content) if (index, at) not in unpaired]
        if message.role == "assistant":
            items = Speech(out, store).items(cast("Sequence[Block]", blocks))
            custom.update(item["call_id"] for item in items if item.get("type") == "custom_tool_call")
        elif message.role == "command":
            continue
        else:
            items = _heard(message, blocks, out, custom)
        if not items and index == len(messages) - 1 and message.role == "user":
            items = [_text_message(message.role, EMPTY_MESSAGE)]
        written += items
    return without_lone_answers(written) if out.has_server_tools else written


def _heard(
    message: SessionMessage | SessionTurn, blocks: Sequence[Any], out: Outgoing, custom: set[str]
) -> list[JsonDict]:
    """The items of a user or system message: outputs, then one message of the rest."""
    items: list[JsonDict] = []
    parts: list[JsonDict] = []
    for block in flattened(blocks):
        kind = block.get("type")
        if kind == "tool_result" and message.role == "user":
            items.append(output_item(block, out, custom))
        elif kind == "opaque" and _is_item(block):
            items.append(dict(block["raw"]))
        elif (part := message_part(block, out)) is not None:
            parts.append(part)
    if not parts and not items and not all(block.get("type") in ("opaque", "thinking") for block in blocks):
        parts = [{"type": "input_text", "text": EMPTY_MESSAGE}] if message.role == "user" else []
    if parts:
        items.append(_message(message, parts))
    return items


def _is_item(block: Block) -> bool:
    """Whether an opaque block stands for an item, not for a part of a message."""
    raw = block.get("raw")
    return (
        block.get("provider") == PROVIDER
        and isinstance(raw, Mapping)
        and not str(cast("Block", raw).get("type")).startswith("input_")
    )


def _message(message: SessionMessage | SessionTurn, parts: list[JsonDict]) -> JsonDict:
    content = parts[0]["text"] if len(parts) == 1 and parts[0].keys() == {"type", "text"} else parts
    item = {"role": message.role, "content": content}
    return {**item, **message_meta(message, PROVIDER)} if message.extra else item


def _text_message(role: str, text: str) -> JsonDict:
    return {"role": role, "content": text}
