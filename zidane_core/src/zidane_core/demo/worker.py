"""The two processes of the demo: one writes and waits to be killed, the other goes on."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from zidane_core import open_store
from zidane_core.messages import (
    PairingRepair,
    message_turn,
    to_anthropic_messages,
    to_openai_messages,
    to_wire_messages,
)
from zidane_core.messages.files import read_history
from zidane_core.records import SessionMessage, SessionTurn
from zidane_core.session import create_session, load_session

from .show import say, show_turns

SESSION_ID = "demo"
RUN_ID = "run-1"


async def write(url: str, turns: Sequence[SessionTurn]) -> None:
    """Store the history up to a tool call, and wait for a result that never comes."""
    cut = interruption(turns)
    async with open_store(url) as store:
        session = await create_session(store, id=SESSION_ID, agent_id="demo", metadata={"title": "The demo"})
        async with session.run(run_id=RUN_ID) as run:
            for turn in turns[:cut]:
                await run.append(turn)
            say(f"process {os.getpid()} stored {cut} turns, each acknowledged; now it runs the tool:")
            show_turns(list(turns[:cut]), last=3)
            print("waiting", flush=True)
            await asyncio.sleep(60)


async def go_on(url: str, turns: Sequence[SessionTurn]) -> None:
    """Load, show what was lost and healed, continue, and send all of it to two providers' formats."""
    cut = interruption(turns)
    async with open_store(url) as store:
        session = await load_session(store, SESSION_ID)
        if session is None or [turn.id for turn in session.turns] != [turn.id for turn in turns[:cut]]:
            raise SystemExit("turns are missing: this is a bug")
        died = session.interrupted
        say(f"process {os.getpid()} loaded {len(session.turns)} turns: all that were acknowledged, in order")
        say(f"its run {died.id if died else '?'} is shown as {died.status if died else '?'}: its process is dead")
        async with session.run("Please go on.") as run:
            say("a new run took over, and closed the call that was left open:")
            show_turns(list(session.turns), last=3)
            await run.append(*rest_of(turns, cut))
        say(f"it went on: {len(session.turns)} turns, session {session.status}; the end of it:")
        show_turns(list(session.turns), last=2)
        await show_requests(session.turns)
    print("\nNothing was lost. Your own agent does the same with open_store(url) and session.run(prompt).")


async def show_requests(turns: Sequence[SessionTurn]) -> None:
    repairs: list[PairingRepair] = []
    messages = await to_wire_messages(turns, on_repair=repairs.append)
    say(
        f"ready to send: {len(to_anthropic_messages(messages))} Anthropic messages, or "
        f"{len(to_openai_messages(messages))} OpenAI ones"
    )
    for kind, count in Counter(repair.kind for repair in repairs).items():
        say(f"on the way out, never in storage, repaired: {kind} ({count})")


def interruption(turns: Sequence[SessionTurn]) -> int:
    """How many turns are stored before the process dies: up to the middle one of those that call a tool."""
    calling = [at for at, turn in enumerate(turns, 1) if any(block["type"] == "tool_call" for block in turn.content)]
    return calling[len(calling) // 2] if calling else (len(turns) + 1) // 2


def rest_of(turns: Sequence[SessionTurn], cut: int) -> list[SessionTurn]:
    """What comes after the interruption, without the result that the dead process never got."""
    rest = list(turns[cut:])
    return rest[1:] if rest and rest[0].role == "user" else rest


def turns_of(messages: Sequence[SessionMessage]) -> list[SessionTurn]:
    """The messages as turns, with ids that both processes agree on."""
    return [message_turn(message, turn_id=f"turn-{at}", created_at=at) for at, message in enumerate(messages, 1)]


def main() -> None:
    job, url, history = sys.argv[1:]
    turns = turns_of(read_history(Path(history).read_text(encoding="utf-8"))[1])
    asyncio.run(write(url, turns) if job == "write" else go_on(url, turns))


if __name__ == "__main__":
    main()
