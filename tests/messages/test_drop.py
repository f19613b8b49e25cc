"""What a load may delete from a stored history for good."""

from __future__ import annotations

from typing import Any

import msgspec

from zidane_core.messages import drop_invalid_tool_pairings, lane_for_runs
from zidane_core.records import SessionRun, SessionTurn

from .notation import A, U, c, r, shape, t, think, turns


def dropped(history: list[SessionTurn], **options: Any) -> tuple[list[str], list[tuple[str, int, str | None]]]:
    found: list[Any] = []
    left = drop_invalid_tool_pairings(history, on_drop=found.append, **options)
    return shape(left), [(drop.kind, drop.index, drop.call_id) for drop in found]  # type: ignore[arg-type]  # turns have roles too


def in_runs(history: list[SessionTurn], *run_ids: str | None) -> list[SessionTurn]:
    return [msgspec.structs.replace(turn, run_id=run_id) for turn, run_id in zip(history, run_ids, strict=True)]


def test_a_valid_history_comes_back_as_the_same_object() -> None:
    """And with something wrong, the untouched turns are the same objects."""
    history = turns(U(t()), A(c("a")), U(r("a")), A(c("b")))
    assert drop_invalid_tool_pairings(history) is history
    broken = [*history, *turns(U(r("a")))]
    left = drop_invalid_tool_pairings(broken)
    assert all(one is other for one, other in zip(left, history, strict=True))


def test_a_call_without_result_stays() -> None:
    """It is what the model said; the wire answers it."""
    history = turns(A(c("a")), U(t()), A(t()))
    assert drop_invalid_tool_pairings(history) is history


def test_a_duplicate_call_goes_with_its_result_and_its_turn() -> None:
    """Deletions cascade, and each is reported."""
    history = turns(A(c("a")), U(r("a")), A(think(), c("a")), U(r("a")), A(t("end")))
    assert dropped(history) == (
        ["A:a", "U:a=", "A:end"],
        [
            ("duplicate-tool-call", 2, "a"),
            ("empty-turn", 2, None),
            ("orphan-tool-result", 3, "a"),
            ("empty-turn", 3, None),
        ],
    )


def test_a_reused_id_stays_when_its_first_call_was_answered() -> None:
    """As loading has it: the id is the provider's, and the call another one."""
    history = turns(A(c("a")), U(r("a")), A(c("a")), U(r("a")))
    assert drop_invalid_tool_pairings(history, reused_call_ids="keep") is history
    unanswered = turns(A(c("a")), U(t()), A(c("a"), t("x")), U(t()))
    assert dropped(unanswered, reused_call_ids="keep")[1] == [("duplicate-tool-call", 2, "a")]


def test_the_later_of_two_calls_or_results_in_a_turn_goes() -> None:
    """Within one turn no mode keeps both."""
    for mode in ("drop", "keep"):
        left, drops = dropped(turns(A(c("a"), c("a")), U(r("a"), r("a"))), reused_call_ids=mode)
        assert left == ["A:a", "U:a="]
        assert drops == [("duplicate-tool-call", 0, "a"), ("duplicate-tool-result", 1, "a")]


def test_results_split_over_two_turns_stay_and_a_repeated_one_goes() -> None:
    """The answer window is all turns up to the next assistant turn."""
    history = turns(A(c("a"), c("b")), U(r("a")), U(r("b")), U(r("a"), t("x")))
    assert dropped(history) == (["A:a b", "U:a=", "U:b=", "U:x"], [("orphan-tool-result", 3, "a")])


def test_two_assistant_turns_in_a_row_may_be_answered_together() -> None:
    """Providers take them so, and the first result is no orphan."""
    history = turns(A(c("a")), A(c("b")), U(r("a"), r("b")))
    assert drop_invalid_tool_pairings(history) is history


def test_a_turn_that_was_empty_before_stays() -> None:
    """Nothing was dropped from it."""
    history = turns(A(), U(t()), A(think()))
    assert drop_invalid_tool_pairings(history) is history


def test_system_and_command_turns_are_passed_over() -> None:
    """They end no answer window, and nothing in them is judged."""
    command = SessionTurn(id="x", role="command", content=[r("zzz")], created_at=0)  # type: ignore[list-item]
    call, answer = turns(A(c("a")), U(r("a")))
    history = [call, command, msgspec.structs.replace(command, id="y", role="system"), answer]
    assert drop_invalid_tool_pairings(history) is history


def test_lanes_do_not_see_each_other() -> None:
    """A subagent's counter ids may equal its parent's; its turns may stand between a call and its result."""
    history = in_runs(turns(A(c("0")), A(c("0")), U(r("0")), U(r("0"))), None, "child", "child", None)
    assert drop_invalid_tool_pairings(history) is history


def test_a_resumed_run_shares_the_lane_of_its_root() -> None:
    """What reaches one request is judged together."""
    runs = [
        SessionRun(id="child", status="aborted", prompt="", started_at=0, depth=1),
        SessionRun(id="again", status="completed", prompt="", started_at=0, depth=1, resumed_from_run_id="child"),
    ]
    history = in_runs(turns(A(c("0")), U(r("0"))), "child", "again")
    assert drop_invalid_tool_pairings(history, lane_for_run=lane_for_runs(runs)) is history
    assert dropped(history)[1] == [("orphan-tool-result", 1, "0"), ("empty-turn", 1, None)]
