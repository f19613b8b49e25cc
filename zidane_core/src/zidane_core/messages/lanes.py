"""Which turns reach a model together: the conversation itself is one lane, each subagent's conversation another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from zidane_core.records import SessionRun, SessionTurn

MAIN_LANE = ""
"""The conversation itself. No run id is empty."""


def resume_chain_run_ids(runs: Sequence[SessionRun], run_id: str) -> set[str]:
    """The run and every run that it continues, back to the first. Ends on a cycle too.

    A resumed run stores its own turns only, so a subagent's whole conversation is the turns of all of these.
    """
    return set(_chain({run.id: run for run in runs}, run_id))


def lane_for_runs(runs: Sequence[SessionRun]) -> Callable[[str | None], str]:
    """A function from a turn's run id to its lane.

    No run, and every run of depth 0 (or of none), is `MAIN_LANE`. A subagent's run is the lane named by the run at the
    root of its resume chain. A run that has no record is a lane of its own.
    """
    by_id = {run.id: run for run in runs}
    lanes: dict[str | None, str] = {None: MAIN_LANE}

    def lane_for_run(run_id: str | None) -> str:
        lane = lanes.get(run_id)
        if lane is None:
            lane = lanes[run_id] = _lane(by_id, run_id or "")
        return lane

    return lane_for_run


def turns_of_lane(
    turns: Sequence[SessionTurn], runs: Sequence[SessionRun], run_id: str | None = None
) -> list[SessionTurn]:
    """The turns of the lane that `run_id` belongs to, in order; of the main lane for `None`.

    The main lane takes in turns whose run has no record: a host that stamps ids without recording runs has but one
    conversation.
    """
    recorded = {run.id for run in runs}
    lane_for_run = lane_for_runs(runs)
    if run_id is not None and (lane := lane_for_run(run_id)) != MAIN_LANE:
        return [turn for turn in turns if lane_for_run(turn.run_id) == lane]
    return [turn for turn in turns if turn.run_id not in recorded or lane_for_run(turn.run_id) == MAIN_LANE]


def _lane(by_id: Mapping[str, SessionRun], run_id: str) -> str:
    run = by_id.get(run_id)
    if run is not None and not run.depth:
        return MAIN_LANE
    chain = _chain(by_id, run_id)
    root = by_id.get(chain[-1])
    if root is not None and root.resumed_from_run_id in chain:
        return min(chain)  # a cycle has no root: any name that all of its runs agree on will do
    return chain[-1]


def _chain(by_id: Mapping[str, SessionRun], run_id: str) -> list[str]:
    chain: dict[str, None] = {}
    at: str | None = run_id
    while at is not None and at not in chain:
        chain[at] = None
        run = by_id.get(at)
        at = run.resumed_from_run_id if run is not None else None
    return list(chain)
