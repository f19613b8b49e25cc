"""A prompt as a turn, and as the one line of text that its run record keeps."""

from __future__ import annotations

from collections.abc import Sequence

from zidane_core.blocks import ContentBlock, text
from zidane_core.records import SessionTurn


def prompt_turn(prompt: str | Sequence[ContentBlock], turn_id: str, created_at: int, run_id: str | None) -> SessionTurn:
    content = [text(prompt)] if isinstance(prompt, str) else list(prompt)
    return SessionTurn(id=turn_id, role="user", content=content, created_at=created_at, run_id=run_id)


def prompt_text(prompt: str | Sequence[ContentBlock] | None) -> str:
    """The text of a prompt, without its images and files."""
    if prompt is None or isinstance(prompt, str):
        return prompt or ""
    return "\n".join(block["text"] for block in prompt if block["type"] == "text")
