"""Calls and results within blocks: which is which, and which belongs to which."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from ._meta import meta_of

Block: TypeAlias = Mapping[str, Any]


def calls_in(content: Iterable[Any]) -> Iterator[Block]:
    return (block for block in content if block.get("type") == "tool_call")


def results_in(content: Iterable[Any]) -> Iterator[Block]:
    return (block for block in content if block.get("type") == "tool_result")


def item_id(call: Block) -> str | None:
    """The other id of a Responses call: `fc_…` names the item, `call_…` the call. Some hosts answer the wrong one."""
    found = meta_of(call, "openai").get("id")
    return found if isinstance(found, str) else None


def says_nothing(content: Iterable[Any]) -> bool:
    """Whether nothing is left, or reasoning without anything that it led to."""
    return all(block.get("type") == "thinking" for block in content)
