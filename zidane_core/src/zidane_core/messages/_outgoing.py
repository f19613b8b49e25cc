"""What every writer needs: the target, the wire names of one history, and where to report what is left out."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import msgspec

from zidane_core.records import SessionMessage, SessionTurn

from ._plain import Json, is_list, is_mapping
from ._wire_names import WireNames, call_ids, tool_names
from .events import ConversionDrop, ConversionDropKind, OnConversionDrop
from .traits import ProviderTraits, provider_traits, same_model

EMPTY_MESSAGE = "[Nothing to show.]"
"""What stands for a user message of which the provider takes nothing."""

NO_OUTPUT = "[No output.]"
"""What stands for a tool's empty output where a text is demanded."""

FILE_NAME = "document.pdf"
"""The name of a file without one: OpenAI wants a name beside inline data."""


class Outgoing:
    """One conversion of a history to one provider and model."""

    def __init__(self, provider: str | ProviderTraits, model: str | None, on_drop: OnConversionDrop | None) -> None:
        self.traits = provider_traits(provider)
        self.model = model
        self.call_id: WireNames = call_ids(self.traits)
        self.tool_name: WireNames = tool_names(self.traits)
        self.index = 0
        """Of the message that is being written."""
        self.has_server_tools = False
        """A provider's own block was written: those come in pairs too."""
        self._on_drop = on_drop

    def drop(self, kind: ConversionDropKind, block: Mapping[str, Any]) -> None:
        if self._on_drop is not None:
            self._on_drop(ConversionDrop(kind=kind, index=self.index, block_type=str(block.get("type"))))

    def may_think(self, block: Mapping[str, Any], provider: str) -> bool:
        """Whether reasoning may go to the target: it is valid for who made it only."""
        if block.get("provider") == provider and same_model(block.get("model"), self.model):
            return True
        self.drop("foreign-thinking", block)
        return False


def readable_text(block: Mapping[str, Any]) -> str | None:
    """The text of a text block; `None` where an API would refuse it as empty."""
    text = block["text"]
    return text if text and not text.isspace() else None


def decoded_text(source: Mapping[str, Any]) -> str | None:
    """The text within a base64 source of a text type; `None` where it is no text."""
    if not str(source.get("mediaType", "")).startswith("text/"):
        return None
    try:
        return base64.b64decode(source["data"]).decode()
    except ValueError:
        return None


def described(block: Mapping[str, Any], body: str) -> str:
    """A document as text: its title and context above its body."""
    return "\n".join([part for part in (block.get("title"), block.get("context"), body) if part])


def flattened(blocks: Iterable[Any]) -> Iterator[Mapping[str, Any]]:
    """The blocks with documents made of blocks replaced by those."""
    for block in blocks:
        source = cast("Mapping[str, Any]", block.get("source") or {})
        if source.get("kind") == "blocks":
            title = described(block, "")
            if title:
                yield {"type": "text", "text": title}
            yield from flattened(source["content"])
        else:
            yield cast("Mapping[str, Any]", block)


def without_lone_surrogates(
    messages: Sequence[SessionMessage | SessionTurn], write: Callable[[], list[Json]]
) -> list[Json]:
    """What `write` gives, with U+FFFD for each lone surrogate: no API takes them. Text free of them costs one look."""
    try:
        msgspec.json.encode(messages)
    except (UnicodeEncodeError, TypeError, OverflowError, RecursionError):
        return [_scrubbed(item) for item in write()]
    return write()


def _scrubbed(value: Json) -> Json:
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if is_mapping(value):
        return {_scrubbed(key): _scrubbed(item) for key, item in value.items()}
    return [_scrubbed(item) for item in value] if is_list(value) else value
