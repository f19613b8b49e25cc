"""The provider-neutral content of a turn: one `TypedDict` for each type of block.

Blocks are a closed union for type checkers and plain dicts at run time, because they belong to providers and must
survive untouched: a key that a block type does not list, and a block of an unlisted type, are kept as they came.
Keys are camelCase, since blocks are what is persisted and sent to other hosts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Required, TypeAlias, TypedDict, TypeGuard

if TYPE_CHECKING:
    JsonValue: TypeAlias = str | int | float | bool | Sequence["JsonValue"] | Mapping[str, "JsonValue"] | None
    """What JSON can hold. Stores accept exactly `str`, `int`, `float`, `bool`, `None`, `list` and `dict`."""
else:
    JsonValue = Any


class _Block(TypedDict, total=False):
    cacheControl: JsonValue
    """A provider's caching mark, verbatim."""
    providerMeta: Mapping[str, Mapping[str, JsonValue]]
    """Keys of one provider that have no neutral meaning, by provider name, verbatim."""


class Base64Source(TypedDict, total=False):
    kind: Required[Literal["base64"]]
    mediaType: str
    data: Required[str]
    format: str
    """Audio only: `wav`, `mp3`."""


class UrlSource(TypedDict):
    kind: Literal["url"]
    url: str


class FileSource(TypedDict):
    kind: Literal["file"]
    fileId: str
    provider: str


class RefSource(TypedDict):
    kind: Literal["ref"]
    ref: str
    """The host's own name for the content; resolved when the message is sent."""


class TextSource(TypedDict):
    kind: Literal["text"]
    data: str


class BlocksSource(TypedDict):
    kind: Literal["blocks"]
    content: Sequence[ContentBlock]


class ProviderAudioSource(TypedDict):
    kind: Literal["providerAudio"]
    id: str


class TextBlock(_Block, total=False):
    type: Required[Literal["text"]]
    text: Required[str]
    citations: JsonValue


class ImageBlock(_Block, total=False):
    type: Required[Literal["image"]]
    source: Required[Base64Source | UrlSource | FileSource | RefSource]
    detail: str


class DocumentBlock(_Block, total=False):
    type: Required[Literal["document"]]
    source: Required[Base64Source | UrlSource | FileSource | RefSource | TextSource | BlocksSource]
    title: str
    context: str
    citationsConfig: JsonValue


class AudioBlock(_Block, total=False):
    type: Required[Literal["audio"]]
    source: Required[Base64Source | ProviderAudioSource | RefSource]


class ToolCallBlock(_Block, total=False):
    type: Required[Literal["tool_call"]]
    id: Required[str]
    name: Required[str]
    input: Required[Mapping[str, JsonValue]]
    rawInput: str
    """The argument string as it came, where it was not a JSON object."""
    callKind: Literal["function", "custom"]


class ToolResultBlock(_Block, total=False):
    type: Required[Literal["tool_result"]]
    callId: Required[str]
    output: Required[str | Sequence[ContentBlock]]
    isError: bool
    synthetic: bool
    """Made by a repair, not by the tool."""
    name: str


class ThinkingBlock(_Block, total=False):
    type: Required[Literal["thinking"]]
    text: Required[str]
    signature: str
    redacted: bool
    data: str
    summary: JsonValue
    encrypted: str | None
    itemId: str
    provider: str
    model: str


class RefusalBlock(_Block, total=False):
    type: Required[Literal["refusal"]]
    refusal: Required[str]


class OpaqueBlock(_Block, total=False):
    type: Required[Literal["opaque"]]
    provider: Required[str]
    raw: Required[JsonValue]
    """A provider's own block, kept verbatim."""


if TYPE_CHECKING:
    ContentBlock: TypeAlias = (
        TextBlock
        | ImageBlock
        | DocumentBlock
        | AudioBlock
        | ToolCallBlock
        | ToolResultBlock
        | ThinkingBlock
        | RefusalBlock
        | OpaqueBlock
    )
else:  # plain dicts at run time: a typed decoder would drop the keys that it does not know
    ContentBlock = dict[str, Any]


class TurnUsage(TypedDict, total=False):
    """Tokens of one model call, as the provider reports them, and whatever else it reports. Open."""

    input: int
    """Input tokens that were not read from a cache."""
    output: int
    cacheRead: int
    cacheCreation: int
    cost: float
    """Estimated cost in USD."""


SYNTHETIC_TOOL_RESULT_PLACEHOLDER = "[No result was recorded for this tool call.]"
"""How every synthetic tool result begins, so that a consumer can tell it from a real one."""


# -- making blocks ------------------------------------------------------------------------------


def text(value: str) -> TextBlock:
    return {"type": "text", "text": value}


def image(data: str, media_type: str) -> ImageBlock:
    """An image of base64 data."""
    return {"type": "image", "source": {"kind": "base64", "mediaType": media_type, "data": data}}


def image_url(url: str) -> ImageBlock:
    return {"type": "image", "source": {"kind": "url", "url": url}}


def document(data: str, media_type: str, *, title: str | None = None) -> DocumentBlock:
    """A document of base64 data. Its title is its file name, where a provider wants one."""
    block: DocumentBlock = {"type": "document", "source": {"kind": "base64", "mediaType": media_type, "data": data}}
    if title is not None:
        block["title"] = title
    return block


def content_ref(kind: Literal["image", "document", "audio"], ref: str) -> ImageBlock | DocumentBlock | AudioBlock:
    """A block whose content the host keeps under `ref`, and gives when the message is sent."""
    source: RefSource = {"kind": "ref", "ref": ref}
    match kind:
        case "image":
            return {"type": "image", "source": source}
        case "document":
            return {"type": "document", "source": source}
        case "audio":
            return {"type": "audio", "source": source}


def tool_call(call_id: str, name: str, arguments: Mapping[str, JsonValue]) -> ToolCallBlock:
    return {"type": "tool_call", "id": call_id, "name": name, "input": arguments}


def tool_result(call_id: str, output: str | Sequence[ContentBlock], *, is_error: bool = False) -> ToolResultBlock:
    block: ToolResultBlock = {"type": "tool_result", "callId": call_id, "output": output}
    if is_error:
        block["isError"] = True
    return block


# -- telling blocks apart -----------------------------------------------------------------------


def is_text(block: ContentBlock) -> TypeGuard[TextBlock]:
    return block["type"] == "text"


def is_image(block: ContentBlock) -> TypeGuard[ImageBlock]:
    return block["type"] == "image"


def is_document(block: ContentBlock) -> TypeGuard[DocumentBlock]:
    return block["type"] == "document"


def is_tool_call(block: ContentBlock) -> TypeGuard[ToolCallBlock]:
    return block["type"] == "tool_call"


def is_tool_result(block: ContentBlock) -> TypeGuard[ToolResultBlock]:
    return block["type"] == "tool_result"


def is_thinking(block: ContentBlock) -> TypeGuard[ThinkingBlock]:
    return block["type"] == "thinking"


def is_opaque(block: ContentBlock) -> TypeGuard[OpaqueBlock]:
    return block["type"] == "opaque"


def text_of(content: Sequence[ContentBlock]) -> str:
    """The text of a message: its text blocks, one below the other."""
    return "\n".join(block["text"] for block in content if is_text(block))
