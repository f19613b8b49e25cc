"""The items of one assistant message: reasoning stays with what it led to, ids with the reasoning they belong to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from zidane_core.messages._arguments import arguments_text
from zidane_core.messages._meta import meta_of
from zidane_core.messages._opaque import responses_link
from zidane_core.messages._outgoing import Outgoing
from zidane_core.messages._plain import JsonDict, is_mapping

from .reading import PROVIDER

Block: TypeAlias = Mapping[str, Any]

_PART_KEYS = frozenset({"annotations", "logprobs"})
_EASY_KEYS = frozenset({"phase"})


class Speech:
    """One assistant message on its way out."""

    def __init__(self, out: Outgoing, store: bool) -> None:
        self._out = out
        self._store = store
        self._items: list[JsonDict] = []
        self._reasoning: list[JsonDict] = []
        """Reasoning that waits for the item that it led to."""
        self._unbound = False
        """The reasoning before these items stays behind, so their ids must."""

    def items(self, blocks: Sequence[Block]) -> list[JsonDict]:
        for block in blocks:
            match block.get("type"):
                case "thinking":
                    self._think(block)
                case "text" | "refusal":
                    self._say(block)
                case "tool_call":
                    self._add(self._call(block))
                case "opaque":
                    self._pass_on(block)
                case _:
                    self._out.drop("unsupported-block", block)
        return self._items

    def _add(self, item: JsonDict) -> None:
        self._items += self._reasoning
        self._reasoning = []
        self._items.append(item)

    def _pass_on(self, block: Block) -> None:
        """An item of the provider's own, where it is one and may stand here."""
        raw = block.get("raw")
        if block.get("provider") != PROVIDER or not is_mapping(raw):
            self._out.drop("foreign-block", block)
        elif not self._may_stand(raw):
            self._out.drop("unpaired-block", block)
        elif _is_answer(raw):
            self._reasoning = []  # reasoning leads to a call or a message, never to an answer
            self._items.append(dict(raw))
        else:
            self._add(dict(raw))

    def _may_stand(self, raw: Mapping[str, Any]) -> bool:
        if _is_answer(raw):
            return True
        if raw.get("type") == "tool_search_output":  # the server's own: behind its search or nowhere
            return bool(self._items) and not self._reasoning and self._items[-1].get("type") == "tool_search_call"
        return not self._unbound

    def _think(self, block: Block) -> None:
        if not (self._out.may_think(block, PROVIDER) and block.get("itemId")):
            self._unbound = True
        elif not self._store and not block.get("encrypted"):
            self._out.drop("unsigned-thinking", block)
            self._unbound = True
        else:
            self._unbound = False
            item: JsonDict = {"type": "reasoning", "id": block["itemId"], "summary": block.get("summary") or []}
            if "encrypted" in block:
                item["encrypted_content"] = block["encrypted"]
            self._reasoning.append({**meta_of(block, PROVIDER), **item} if "providerMeta" in block else item)

    def _call(self, block: Block) -> JsonDict:
        custom = block.get("callKind") == "custom"
        item = {
            "type": "custom_tool_call" if custom else "function_call",
            "call_id": self._out.call_id(block["id"]),
            "name": self._out.tool_name(block["name"]),
            "input" if custom else "arguments": arguments_text(block),
        }
        meta = meta_of(block, PROVIDER)
        if self._unbound and "id" in meta:
            meta = {key: value for key, value in meta.items() if key != "id"}
        return {**meta, **item} if meta else item

    def _say(self, block: Block) -> None:
        is_text = block["type"] == "text"
        meta = meta_of(block, PROVIDER)
        if "id" not in meta or self._unbound:
            self._say_easily(block["text" if is_text else "refusal"], meta)
            return
        item_keys = {key: value for key, value in meta.items() if key not in _PART_KEYS}
        if is_text:
            part: JsonDict = {
                "type": "output_text",
                "text": block["text"],
                "annotations": meta.get("annotations") or [],
            }
            if "logprobs" in meta:
                part["logprobs"] = meta["logprobs"]
        else:
            part = {"type": "refusal", "refusal": block["refusal"]}
        last = self._items[-1] if self._items and not self._reasoning else {}
        if last.get("type") == "message" and last.get("id") == meta["id"]:
            last["content"].append(part)
        else:
            item: JsonDict = {
                "status": "completed",
                **item_keys,
                "type": "message",
                "role": "assistant",
                "content": [part],
            }
            self._add(item)

    def _say_easily(self, text: str, meta: Mapping[str, Any]) -> None:
        """A message without an id. Reasoning may not lead to one, so what waits stays behind."""
        self._reasoning = []
        kept = {key: value for key, value in meta.items() if key in _EASY_KEYS}
        self._items.append({"role": "assistant", "content": text, **kept})


def _is_answer(raw: Mapping[str, Any]) -> bool:
    link = responses_link(raw)
    return link is not None and link[0] == "answer"
