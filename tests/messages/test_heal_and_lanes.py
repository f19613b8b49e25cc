"""Closing interrupted calls, and which turns belong together."""

from __future__ import annotations

import msgspec

from zidane_core.blocks import SYNTHETIC_TOOL_RESULT_PLACEHOLDER
from zidane_core.messages import (
    MAIN_LANE,
    close_interrupted_tool_calls,
    interrupted_tool_result_output,
    lane_for_runs,
    resume_chain_run_ids,
    turns_of_lane,
)
from zidane_core.records import SessionRun, SessionTurn

from .notation import A, U, c, r, shape, t, turns


def healed(history: list[SessionTurn]) -> list[SessionTurn]:
    return list(close_interrupted_tool_calls(history, new_id=lambda: "new"))


def test_an_interrupted_call_gets_a_result_turn_of_its_run() -> None:
    """Right behind the call, with its run id and its time; the text names the tool."""
    history = turns(U(t()), A(c("a", "deploy")), run_id="r1")
    last = healed(history)[-1]
    assert (last.id, last.role, last.run_id, last.created_at) == ("new", "user", "r1", history[-1].created_at)
    assert last.content[0]["output"] == interrupted_tool_result_output("deploy")  # type: ignore[typeddict-item]
    assert interrupted_tool_result_output("deploy").startswith(SYNTHETIC_TOOL_RESULT_PLACEHOLDER)
    assert '"deploy"' in interrupted_tool_result_output("deploy")


def test_missing_results_join_the_turn_that_answers_the_others() -> None:
    """No second result turn."""
    history = turns(A(c("a"), c("b")), U(r("b")), A(t()))
    assert shape(healed(history)) == ["A:a b", "U:b= a!", "A:text"]  # type: ignore[arg-type]  # turns have roles too


def test_a_users_text_is_not_taken_for_the_result_turn() -> None:
    """The results go in front of it, in a turn of their own."""
    history = turns(A(c("a")), U(t("and now?")))
    assert shape(healed(history)) == ["A:a", "U:a!", "U:and now?"]  # type: ignore[arg-type]  # turns have roles too


def test_nothing_to_close_gives_the_same_object() -> None:
    """Healing twice is healing once."""
    history = turns(A(c("a")), U(r("a")), A(c("b")))
    once = close_interrupted_tool_calls(history)
    assert close_interrupted_tool_calls(once) is once
    assert close_interrupted_tool_calls(history[:2]) is not history
    assert close_interrupted_tool_calls(complete := history[:2]) is complete


def run(run_id: str, **fields: object) -> SessionRun:
    return msgspec.convert({"id": run_id, "status": "completed", "prompt": "", "startedAt": 0, **fields}, SessionRun)


RUNS = [
    run("top"),
    run("top2", depth=0, resumedFromRunId="top"),
    run("child", depth=1),
    run("child2", depth=1, resumedFromRunId="child"),
    run("child3", depth=1, resumedFromRunId="child2"),
    run("x", depth=1, resumedFromRunId="y"),
    run("y", depth=1, resumedFromRunId="x"),
]


def test_runs_of_depth_zero_are_the_main_lane_and_resumed_ones_their_roots() -> None:
    """A run without a record is a lane of its own."""
    lane = lane_for_runs(RUNS)
    assert {run_id: lane(run_id) for run_id in (None, "top", "top2", "child", "child2", "child3", "unknown")} == {
        None: MAIN_LANE,
        "top": MAIN_LANE,
        "top2": MAIN_LANE,
        "child": "child",
        "child2": "child",
        "child3": "child",
        "unknown": "unknown",
    }


def test_a_cycle_of_resumed_runs_ends_and_is_one_lane() -> None:
    """A malformed chain terminates."""
    lane = lane_for_runs(RUNS)
    assert lane("x") == lane("y")
    assert resume_chain_run_ids(RUNS, "x") == {"x", "y"}
    assert resume_chain_run_ids(RUNS, "child3") == {"child", "child2", "child3"}
    assert resume_chain_run_ids(RUNS, "nobody") == {"nobody"}


def test_the_turns_of_a_lane_keep_their_order() -> None:
    """The main lane takes in turns of unrecorded runs: a host may stamp ids and record no run."""
    history = [
        msgspec.structs.replace(turn, run_id=run_id)
        for turn, run_id in zip(
            turns(*[U(t(str(n))) for n in range(6)]), [None, "child", "top2", "child3", "unknown", "top"], strict=True
        )
    ]
    assert [turn.id for turn in turns_of_lane(history, RUNS)] == ["t0", "t2", "t4", "t5"]
    assert [turn.id for turn in turns_of_lane(history, RUNS, "child2")] == ["t1", "t3"]
    assert [turn.id for turn in turns_of_lane(history, RUNS, "top")] == ["t0", "t2", "t4", "t5"]
    assert [turn.id for turn in turns_of_lane(history, RUNS, "unknown")] == ["t4"]
