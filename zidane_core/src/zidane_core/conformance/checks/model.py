"""Random walks beside the memory store: whatever is done in whatever order, the answers agree."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from typing import Any

from zidane_core.conformance.check import CORE, Collector
from zidane_core.conformance.expectations import BrokenRuleError
from zidane_core.conformance.kit import Kit
from zidane_core.conformance.walk import OPS, OTHER_HANDLE, REOPENED, Op, Walk

check = Collector(layer="model")

STEPS = 30
STEP_SECONDS = 20.0
SHORTENING_SECONDS = 10.0


class Walks:
    """Runs walks on the check's event loop for a state machine in another thread: its rules cannot be async."""

    def __init__(self, kit: Kit) -> None:
        self.kit, self._loop = kit, asyncio.get_running_loop()
        self.sessions = 3 if kit.capabilities.max_sessions is None else 1
        self.failed: list[Op] = []

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(STEP_SECONDS)

    def names(self) -> list[str]:
        """The steps that the store's declarations allow."""
        names = [name for name, (needed, _) in OPS.items() if needed == CORE or self.kit.declares(needed)]
        names += [OTHER_HANDLE] if self.kit.capabilities.shared != "instance" else []
        return names + ([REOPENED] if self.kit.capabilities.durable != "no" else [])

    async def fails(self, steps: list[Op]) -> BrokenRuleError | None:
        """How a walk of just these steps fails."""
        walk = Walk(self.kit, self.sessions)
        await walk.begin()
        try:
            for op in steps:
                await walk.step(op)
        except BrokenRuleError as error:
            return error
        finally:
            await walk.end()
        return None


@check("model.walk", sessions=1)
async def walk(kit: Kit) -> None:
    """Any sequence of calls, reopening and other handles among them, gets the answers that the memory store gives."""
    walks = Walks(kit)
    try:
        await asyncio.to_thread(_explore, walks, kit.random.getrandbits(32))
    except BrokenRuleError as error:
        raise await _shortened(walks, error) from error


async def _shortened(walks: Walks, error: BrokenRuleError) -> BrokenRuleError:
    """The failure of a shorter walk, so that the transcript tells little more than what matters."""
    steps, deadline = walks.failed, time.monotonic() + SHORTENING_SECONDS
    size = len(steps) // 2
    while size and time.monotonic() < deadline:
        for at in range(0, len(steps), size):
            shorter = steps[:at] + steps[at + size :]
            if await walks.fails(shorter) is not None:
                steps = shorter
                break
        else:
            size //= 2
    return await walks.fails(steps) or error


def _explore(walks: Walks, seed: int) -> None:
    import hypothesis
    from hypothesis import reporting
    from hypothesis.stateful import run_state_machine_as_test

    settings = hypothesis.settings(
        max_examples=walks.kit.count(60, least=10),
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        phases=[hypothesis.Phase.generate],  # its own shortening has no time limit; `_shortened` has
        suppress_health_check=[hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.data_too_large],
    )
    machine = hypothesis.seed(seed)(_machine(walks))
    with reporting.with_reporter(lambda _: None):  # the transcript tells the walk
        run_state_machine_as_test(machine, settings=settings)


def _machine(walks: Walks) -> Any:
    from hypothesis import strategies as st
    from hypothesis.stateful import RuleBasedStateMachine, rule

    texts = st.sampled_from(["x", "y", "", "\0", "\ud83d", "\U0001f600"]) | st.text(max_size=5)
    ops = st.builds(
        Op,
        st.sampled_from(walks.names()),
        st.integers(0, walks.sessions - 1),
        st.integers(0, 4),
        st.integers(0, 3),
        texts,
        st.integers(0, 3),
    )

    class Machine(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.walk = Walk(walks.kit, walks.sessions)
            self.steps: list[Op] = []
            walks.run(self.walk.begin())

        @rule(op=ops)
        def step(self, op: Op) -> None:
            self.steps.append(op)
            walks.failed = self.steps
            walks.run(self.walk.step(op))

        def teardown(self) -> None:
            walks.run(self.walk.end())

    return Machine
