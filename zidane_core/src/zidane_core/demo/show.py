"""What the demo prints."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from zidane_core.blocks import ContentBlock
from zidane_core.records import SessionTurn


def step(number: int, what: str) -> None:
    print(f"\n{number}. {what}", flush=True)


def say(text: str) -> None:
    print(f"   {text}", flush=True)


def show_turns(turns: list[SessionTurn], *, last: int) -> None:
    """The end of a history, a line for each block."""
    if len(turns) > last:
        say(f"… {len(turns) - last} turns before")
    for turn in turns[-last:]:
        for block in turn.content:
            say(f"{turn.role:>9}  {_line(block)}")


def _line(block: ContentBlock) -> str:
    match block["type"]:
        case "text":
            line = block["text"]
        case "tool_call":
            line = f"→ {block['name']}({', '.join(f'{key}={value!r}' for key, value in block['input'].items())})"
        case "tool_result":
            line = f"{'✗' if block.get('isError') else '←'} {_text_of(block['output'])}"
        case "thinking":
            line = f"(thinks) {block['text']}"
        case kind:
            line = f"({kind})"
    return textwrap.shorten(line, width=88, placeholder=" …")


def _text_of(output: str | Sequence[ContentBlock]) -> str:
    if isinstance(output, str):
        return output
    return " ".join(part["text"] if part["type"] == "text" else f"({part['type']})" for part in output)
