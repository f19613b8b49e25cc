"""Server tools within opaque blocks: which block asks, which answers, and what of them must not be sent alone."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal, TypeAlias

Link: TypeAlias = tuple[Literal["ask", "answer"], str]

_ASKS = frozenset(
    ["computer_call", "shell_call", "local_shell_call", "apply_patch_call", "tool_search_call", "mcp_approval_request"]
)
_ANSWERS = frozenset({f"{kind}_output" for kind in _ASKS} | {"tool_search_output", "mcp_approval_response"})


def anthropic_link(raw: Mapping[str, Any]) -> Link | None:
    """What a server tool's block asks or answers, by the id that both carry."""
    kind = str(raw.get("type"))
    if kind.endswith("_tool_use") and raw.get("id"):
        return "ask", str(raw["id"])
    if kind.endswith("_tool_result") and raw.get("tool_use_id"):
        return "answer", str(raw["tool_use_id"])
    return None


def responses_link(raw: Mapping[str, Any]) -> Link | None:
    """The same for a Responses item that the client answers with an item of its own."""
    kind = raw.get("type")
    link_id = raw.get("call_id") or raw.get("approval_request_id") or raw.get("id")
    if raw.get("execution") == "server" or not isinstance(link_id, str):
        return None
    if kind in _ASKS:
        return "ask", link_id
    return ("answer", link_id) if kind in _ANSWERS or kind == "function_call_output" else None


class Pairs:
    """A walk over links that says of each whether it may stand: an ask once, an answer once and after its ask."""

    def __init__(self, refused: Collection[str] = ()) -> None:
        self._refused = refused
        self._asked: set[str] = set()
        self._open: set[str] = set()

    def may_stand(self, link: Link) -> bool:
        role, link_id = link
        if role == "answer":
            answers = link_id in self._open
            self._open.discard(link_id)
            return answers
        if link_id in self._asked or link_id in self._refused:
            return False
        self._asked.add(link_id)
        self._open.add(link_id)
        return True


def unanswered(links: Iterable[Link]) -> set[str]:
    """The ids that are asked and not answered."""
    asked: set[str] = set()
    for role, link_id in links:
        if role == "ask":
            asked.add(link_id)
        else:
            asked.discard(link_id)
    return asked
