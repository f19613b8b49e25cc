"""Closing tool calls that a dead process left open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

import msgspec

from zidane_core.blocks import SYNTHETIC_TOOL_RESULT_PLACEHOLDER
from zidane_core.records import SessionTurn

from ._calls import Block, calls_in, item_id, results_in
from .drop import LaneForRun
from .pairing import synthetic_result


def interrupted_tool_result_output(tool_name: str) -> str:
    """The text of the result that closes an interrupted call. It begins with `SYNTHETIC_TOOL_RESULT_PLACEHOLDER`."""
    return (
        f'{SYNTHETIC_TOOL_RESULT_PLACEHOLDER} The process that ran "{tool_name}" ended before it returned: '
        "it may have run in part, wholly, or not at all. Check before running it again."
    )


def close_interrupted_tool_calls(
    turns: Sequence[SessionTurn],
    *,
    lane_for_run: LaneForRun | None = None,
    new_id: Callable[[], str] = lambda: uuid4().hex,
    now_ms: Callable[[], int] | None = None,
) -> Sequence[SessionTurn]:
    """The turns with a synthetic error result for every call that has none.

    The results join the turn that answers the same assistant turn, or a new user turn behind it, with its run id and
    (unless `now_ms` is given) its time. No call open: the same object comes back. Idempotent.

    To be stored, by whoever owns the session: while another process still runs the tool, its real result would come
    second and be dropped.
    """
    exchanges = _exchanges(turns, lane_for_run)
    changed: dict[int, SessionTurn] = {}
    inserted: dict[int, SessionTurn] = {}
    for exchange in exchanges:
        missing = exchange.unanswered()
        if not missing:
            continue
        if exchange.answer_at is not None:
            turn = turns[exchange.answer_at]
            changed[exchange.answer_at] = msgspec.structs.replace(turn, content=[*turn.content, *missing])
        else:
            asked = turns[exchange.asked_at]
            at = now_ms() if now_ms is not None else asked.created_at
            inserted[exchange.asked_at] = SessionTurn(
                id=new_id(), role="user", content=missing, created_at=at, run_id=asked.run_id
            )
    return _edited(turns, changed, inserted) if changed or inserted else turns


class _Exchange:
    """A run of assistant turns in one lane, and what answers it."""

    def __init__(self) -> None:
        self.asked_at = 0
        self.answer_at: int | None = None
        self.calls: list[Block] = []
        self.answered: set[str] = set()
        self.over = False

    def unanswered(self) -> list[Any]:
        return [
            synthetic_result(call["id"], interrupted_tool_result_output(call["name"]))
            for call in self.calls
            if not {call["id"], item_id(call)} & self.answered
        ]


def _exchanges(turns: Sequence[SessionTurn], lane_for_run: LaneForRun | None) -> list[_Exchange]:
    current: dict[str | None, _Exchange] = {}
    found: list[_Exchange] = []
    for index, turn in enumerate(turns):
        lane = lane_for_run(turn.run_id) if lane_for_run else turn.run_id
        exchange = current.get(lane)
        if turn.role == "assistant":
            if exchange is None or exchange.over:
                exchange = current[lane] = _Exchange()
                found.append(exchange)
            exchange.asked_at = index
            exchange.calls += calls_in(turn.content)
        elif turn.role == "user" and exchange is not None:
            exchange.over = True
            results = [result["callId"] for result in results_in(turn.content)]
            exchange.answered.update(results)
            if results and exchange.answer_at is None:
                exchange.answer_at = index
    return found


def _edited(
    turns: Sequence[SessionTurn], changed: dict[int, SessionTurn], inserted: dict[int, SessionTurn]
) -> list[SessionTurn]:
    edited: list[SessionTurn] = []
    for index, turn in enumerate(turns):
        edited.append(changed.get(index, turn))
        if index in inserted:
            edited.append(inserted[index])
    return edited
