"""How long converting a history takes, as a ratio to `json.dumps` of the same turns, all measured in one run.

    python benchmarks/conversion.py [--turns 10000] [--rounds 7]

The history is a coding agent's: prompts, thinking, calls with arguments, results of a few lines. Rounds are interleaved
and the best of each is taken, so that another program's noise falls on all alike.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

from zidane_core.messages import (
    from_anthropic_messages,
    from_openai_messages,
    message_turn,
    to_anthropic_messages,
    to_openai_messages,
    to_openai_responses,
    to_wire_messages_sync,
)
from zidane_core.records import SessionMessage, SessionTurn

LIMIT = 3.0


def history(turns: int) -> list[SessionTurn]:
    """`turns` turns, four to an exchange."""
    made: list[SessionTurn] = []
    for number in range(turns // 4):
        made += [
            message_turn(message, turn_id=f"{len(made) + at}", created_at=at)
            for at, message in enumerate(_exchange(number))
        ]
    return made


def _exchange(number: int) -> list[SessionMessage]:
    call = f"toolu_{number:024d}"
    output = "\n".join(f"{line}: some line of the file that was read, number {number}" for line in range(6))
    return [
        SessionMessage(role="user", content=[{"type": "text", "text": f"Look at file {number} and say what it does."}]),
        SessionMessage(
            role="assistant",
            content=[
                {
                    "type": "thinking",
                    "text": "The user wants the file.",
                    "signature": "c2ln" * 40,
                    "provider": "anthropic",
                },
                {"type": "text", "text": "I will read it first, and then tell what it does."},
                {
                    "type": "tool_call",
                    "id": call,
                    "name": "read_file",
                    "input": {"path": f"/srv/project/src/module_{number}.py", "offset": 0, "limit": 200},
                },
            ],
        ),
        SessionMessage(role="user", content=[{"type": "tool_result", "callId": call, "output": output}]),
        SessionMessage(
            role="assistant", content=[{"type": "text", "text": f"File {number} reads records and sums them up."}]
        ),
    ]


def dumped(turns: list[SessionTurn]) -> None:
    for turn in turns:
        json.dumps({"id": turn.id, "role": turn.role, "createdAt": turn.created_at, "content": turn.content})


def works(turns: list[SessionTurn]) -> dict[str, Callable[[], Any]]:
    wired = to_wire_messages_sync(turns)
    anthropic: Any = to_anthropic_messages(wired)
    chat: Any = to_openai_messages(wired)
    return {
        "json.dumps": lambda: dumped(turns),
        "to_anthropic_messages": lambda: to_anthropic_messages(turns),
        "to_openai_messages": lambda: to_openai_messages(turns),
        "to_openai_responses": lambda: to_openai_responses(turns),
        "to_wire_messages": lambda: to_wire_messages_sync(turns),
        "from_anthropic_messages": lambda: from_anthropic_messages(anthropic),
        "from_openai_messages": lambda: from_openai_messages(chat),
    }


def measured(turns: list[SessionTurn], rounds: int) -> dict[str, float]:
    """Best seconds of each work."""
    best: dict[str, float] = {}
    for _ in range(rounds):
        for name, work in works(turns).items():
            start = time.perf_counter()
            work()
            best[name] = min(best.get(name, float("inf")), time.perf_counter() - start)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    turns = history(options.turns)
    best = measured(turns, options.rounds)
    for name, seconds in best.items():
        ratio = seconds / best["json.dumps"]
        print(f"{name:24} {seconds / len(turns) * 1e6:8.2f} µs a turn   {ratio:5.2f} times json.dumps")
    for name in ("to_anthropic_messages", "to_openai_messages"):
        verdict = "ok" if best[name] <= LIMIT * best["json.dumps"] else "TOO SLOW"
        print(f"{name}: {verdict} (limit {LIMIT:g})")


if __name__ == "__main__":
    main()
