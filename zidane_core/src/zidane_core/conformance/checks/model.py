"""Random walks beside the memory store: whatever is done in whatever order, the answers agree."""

from __future__ import annotations

import time
from random import Random

from zidane_core.conformance.check import CORE, Collector
from zidane_core.conformance.expectations import BrokenRuleError
from zidane_core.conformance.kit import Kit
from zidane_core.conformance.walk import OPS, OTHER_HANDLE, REOPENED, Op, Walk

check = Collector(layer="model")

STEPS = 30
SHORTENING_SECONDS = 10.0

SHARE = 0.5
"""Of the check's time limit: a slow store is walked on less often."""

_STRANGE = ("x", "y", "", "\0", "\ud83d", "\U0001f600")
"""Texts that meet again, and that backends are known to spoil."""


@check("model.walk", sessions=1)
async def walk(kit: Kit) -> None:
    """Any sequence of calls, reopening and other handles among them, gets the answers that the memory store gives."""
    sessions = 3 if kit.capabilities.max_sessions is None else 1
    names, deadline = _allowed(kit), time.monotonic() + kit.profile.timeout * SHARE
    for _ in range(kit.count(60)):
        if time.monotonic() > deadline:
            return
        steps = _drawn(kit.random, names, sessions)
        error = await _failure_of(kit, sessions, steps)
        if error is not None:
            raise await _shortened(kit, sessions, steps, error)


def _allowed(kit: Kit) -> list[str]:
    """The steps that the store's declarations allow."""
    names = [name for name, (needed, _) in OPS.items() if needed == CORE or kit.declares(needed)]
    names += [OTHER_HANDLE] if kit.capabilities.shared != "instance" else []
    return names + ([REOPENED] if kit.capabilities.durable != "no" else [])


def _drawn(random: Random, names: list[str], sessions: int) -> list[Op]:
    """A walk. Most leave some operations out, so that the others meet more often than they would among all."""
    chosen = random.sample(names, random.randint(len(names) // 4, len(names)))
    return [
        Op(
            name=random.choice(["append", *chosen]),
            session=random.randrange(sessions),
            a=random.randrange(5),
            b=random.randrange(4),
            text=random.choice(_STRANGE) if random.random() < 0.7 else _text(random),
            guard=random.randrange(4),
        )
        for _ in range(STEPS)
    ]


def _text(random: Random) -> str:
    """Up to five characters, from any plane and also no character at all."""
    return "".join(
        chr(random.randrange(random.choice((0x80, 0x800, 0x10000, 0x110000)))) for _ in range(random.randrange(6))
    )


async def _failure_of(kit: Kit, sessions: int, steps: list[Op]) -> BrokenRuleError | None:
    """How a walk of just these steps fails."""
    walk = Walk(kit, sessions)
    await walk.begin()
    try:
        for op in steps:
            await walk.step(op)
    except BrokenRuleError as error:
        return error
    finally:
        await walk.end()
    return None


async def _shortened(kit: Kit, sessions: int, steps: list[Op], error: BrokenRuleError) -> BrokenRuleError:
    """The failure of a shorter walk, so that the transcript tells little more than what matters."""
    deadline, size = time.monotonic() + SHORTENING_SECONDS, len(steps) // 2
    while size and time.monotonic() < deadline:
        for at in range(0, len(steps), size):
            shorter = steps[:at] + steps[at + size :]
            if await _failure_of(kit, sessions, shorter) is not None:
                steps = shorter
                break
        else:
            size //= 2
    return await _failure_of(kit, sessions, steps) or error
