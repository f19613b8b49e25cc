"""The system's words, which providers want in different places."""

from __future__ import annotations

from collections.abc import Sequence

from zidane_core.blocks import ContentBlock
from zidane_core.records import SessionMessage


def split_system(messages: Sequence[SessionMessage]) -> tuple[list[ContentBlock], list[SessionMessage]]:
    """The blocks of the leading system messages, and the messages after them.

    For Anthropic, whose request has them as an argument: `to_anthropic(SessionMessage(role="system",
    content=blocks))["content"]`.
    """
    leading = 0
    while leading < len(messages) and messages[leading].role == "system":
        leading += 1
    return [block for message in messages[:leading] for block in message.content], list(messages[leading:])
