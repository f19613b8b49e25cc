"""Server tools of Anthropic, in written messages: a call without its result, or the reverse, is refused."""

from __future__ import annotations

from collections.abc import Sequence

from zidane_core.messages._opaque import Pairs, anthropic_link, unanswered
from zidane_core.messages._outgoing import Outgoing
from zidane_core.messages._plain import Json, JsonDict


def without_unpaired(written: list[Json], out: Outgoing) -> list[Json]:
    """The messages without server tool calls that no result answers, results of no call, and what this empties.

    A call may stay open where the provider is to go on with it: in the last message, or where nothing but tool results
    follow it.
    """
    if not out.has_server_tools:
        return written
    kept: list[Json] = []
    for at, message in enumerate(written):
        blocks: list[JsonDict] = message["content"]
        links = [link for block in blocks if (link := anthropic_link(block)) is not None]
        if links:
            refused = set[str]() if _goes_on(written[at + 1 :]) else unanswered(links)
            blocks = _paired(blocks, refused)
            if only_thinking(blocks):
                continue
        kept.append(message if blocks is message["content"] else {**message, "content": blocks})
    return kept


def only_thinking(blocks: Sequence[JsonDict]) -> bool:
    """Whether an assistant message would be refused for saying nothing."""
    return all(block["type"] in ("thinking", "redacted_thinking") for block in blocks)


def _goes_on(later: Sequence[Json]) -> bool:
    return not later or all(block["type"] == "tool_result" for block in later[0]["content"])


def _paired(blocks: list[JsonDict], refused: set[str]) -> list[JsonDict]:
    """The blocks of one message without `refused` calls and without results of calls that do not precede them."""
    pairs = Pairs(refused)
    return [block for block in blocks if (link := anthropic_link(block)) is None or pairs.may_stand(link)]
