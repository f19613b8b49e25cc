"""What may be deleted from a stored history for good: tool blocks that no reading of it can make valid."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias, cast

import msgspec

from zidane_core.records import SessionTurn

from ._calls import Block, item_id, says_nothing
from .events import OnPairingDrop, PairingDrop, PairingDropKind

LaneForRun: TypeAlias = Callable[[str | None], str | None]
"""The lane of a turn, by its run id: turns of one lane reach a model together."""


def drop_invalid_tool_pairings(
    turns: Sequence[SessionTurn],
    *,
    lane_for_run: LaneForRun | None = None,
    reused_call_ids: Literal["drop", "keep"] = "drop",
    on_drop: OnPairingDrop | None = None,
) -> Sequence[SessionTurn]:
    """The turns without duplicate calls, duplicate results, results of no call, and turns that this emptied.

    Only ever deletes, so the result may be stored. Nothing wrong: the same object comes back; untouched turns are the
    same objects. Idempotent: each block is judged against what survived before it in its lane. A call without a result
    stays, because it is what the model said. System and command turns are passed over.

    With `reused_call_ids="keep"` a call whose id was used, and answered, earlier in the lane is another call and stays.
    `lane_for_run` is the raw run id by default.
    """
    lanes: dict[str | None, _Lane] = {}
    kept: list[SessionTurn] = []
    changed = False
    for index, turn in enumerate(turns):
        lane_id = lane_for_run(turn.run_id) if lane_for_run else turn.run_id
        lane = lanes.setdefault(lane_id, _Lane(keep_reused=reused_call_ids == "keep"))
        judged, drops = lane.judge(turn)
        if judged is not None:
            kept.append(judged)
        if drops:
            changed = True
            _report(drops, index, on_drop)
    return kept if changed else turns


_Drops: TypeAlias = list[tuple[PairingDropKind, str | None]]


def _report(drops: _Drops, index: int, on_drop: OnPairingDrop | None) -> None:
    if on_drop is not None:
        for kind, call_id in drops:
            on_drop(PairingDrop(kind=kind, index=index, call_id=call_id))


class _Lane:
    """What has survived of one lane: the ids seen, the calls that may be answered, and those that were."""

    def __init__(self, *, keep_reused: bool) -> None:
        self._keep_reused = keep_reused
        self._seen: set[str] = set()
        self._answered: set[str] = set()
        self._open: dict[str, str] = {}
        """Ids that a result may carry → the call's id."""
        self._speaking = False
        """The last surviving turn was the assistant's: another one adds to the open calls."""

    def judge(self, turn: SessionTurn) -> tuple[SessionTurn | None, _Drops]:
        """The turn as it survives, and what was dropped from it."""
        if turn.role == "assistant":
            content, drops, calls = self._judge_calls(turn.content)
            survivor = _survivor(turn, content, drops)
            if survivor is not None:
                self._open_calls(calls)
        elif turn.role == "user":
            content, drops, answered = self._judge_results(turn.content)
            survivor = _survivor(turn, content, drops)
            if survivor is not None:
                self._answered |= answered
                self._speaking = False
        else:
            survivor, drops = turn, []
        return survivor, drops

    def _judge_calls(self, blocks: Sequence[Any]) -> tuple[list[Any], _Drops, dict[str, str]]:
        content: list[Any] = []
        drops: _Drops = []
        calls: dict[str, str] = {}
        for block in blocks:
            if block.get("type") == "tool_call":
                call = cast("Block", block)
                call_id = call["id"]
                if call_id in calls or not self._is_new(call_id):
                    drops.append(("duplicate-tool-call", call_id))
                    continue
                calls[call_id] = call_id
                calls.setdefault(item_id(call) or call_id, call_id)
            content.append(block)
        return content, drops, calls

    def _is_new(self, call_id: str) -> bool:
        return call_id not in self._seen or (self._keep_reused and call_id in self._answered)

    def _open_calls(self, calls: dict[str, str]) -> None:
        if not self._speaking:
            self._open = {}
        self._open |= calls
        self._seen.update(calls.values())
        self._answered.difference_update(calls.values())
        self._speaking = True

    def _judge_results(self, blocks: Sequence[Any]) -> tuple[list[Any], _Drops, set[str]]:
        content: list[Any] = []
        drops: _Drops = []
        in_turn: set[str] = set()
        for block in blocks:
            if block.get("type") == "tool_result":
                call_id = cast("Block", block)["callId"]
                owner = self._open.get(call_id)
                if owner in in_turn:
                    drops.append(("duplicate-tool-result", call_id))
                    continue
                if owner is None or owner in self._answered:
                    drops.append(("orphan-tool-result", call_id))
                    continue
                in_turn.add(owner)
            content.append(block)
        return content, drops, in_turn


def _survivor(turn: SessionTurn, content: list[Any], drops: _Drops) -> SessionTurn | None:
    """The turn with the content that is left; `None`, and one more drop, when nothing worth keeping is."""
    if not drops:
        return turn
    if says_nothing(content):
        drops.append(("empty-turn", None))
        return None
    return msgspec.structs.replace(turn, content=content)
