"""Whatever is called in whatever order, a remote store answers as the memory store that it stands for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from zidane_core.memory import MemoryStore
from zidane_core.records import SessionHeader, SessionRun, SessionTurn
from zidane_store_remote import RemoteStore
from zidane_store_remote.server import create_app

from .serving import served
from .steps import SESSIONS, Outcome, Step, outcome_of, resolved, steps


class Twins:
    """A memory store and a remote store over another one, with one clock."""

    def __init__(self) -> None:
        self.now = 1_000
        self.app: Any = None
        self.runner = asyncio.Runner()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """An ASGI app that another one can take the place of, so that all examples share a server."""
        await self.app(scope, receive, send)

    def begin(self) -> tuple[MemoryStore, MemoryStore]:
        twins = (MemoryStore(clock=lambda: self.now), MemoryStore(clock=lambda: self.now))
        self.app = create_app(twins[1], tokens=None, max_page=3)
        return twins


@pytest.fixture(scope="module")
def twins() -> Iterator[Twins]:
    twins = Twins()
    twins.begin()
    with served(twins) as url, twins.runner:
        store = RemoteStore(url)
        twins.runner.run(store.__aenter__())
        twins.remote = store  # type: ignore[attr-defined] # only of use while it is served
        yield twins
        twins.runner.run(store.aclose())


async def walk(twins: Twins, walked: list[Step]) -> None:
    here, there = twins.begin()
    remote: RemoteStore = twins.remote  # type: ignore[attr-defined] # set by the fixture
    async with here, there:
        for step in [*BEGINNING, *walked]:
            twins.now += 10
            now = await resolved(step, here)
            expected, found = await outcome_of(here, now), await outcome_of(remote, now)
            assert found == expected, now
        for step in final_looks():
            expected, found = await outcome_of(here, step), await outcome_of(remote, step)
            assert found == expected, step


BEGINNING = [
    Step(
        "append_turns",
        (each, [SessionTurn(id=f"t{at}", role="user", content=[], created_at=1) for at in range(1, 3)]),
        {"create": SessionHeader(creation_id="c1", created_at=1), "run": run},
    )
    for each in SESSIONS[:2]
    for run in [SessionRun(id="r1", status="running", prompt="p", started_at=1)]
]
"""Two sessions to begin with, so that most steps have something to work on."""


def final_looks() -> list[Step]:
    names = ("list_ids", "list_meta", "list_artifacts", "list_schedules")
    return [Step("load", (each,), {}) for each in SESSIONS] + [Step(name, (), {}) for name in names]


@given(walked=st.lists(steps, max_size=12))
@settings(max_examples=50, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_call_answers_as_the_memory_store_does(twins: Twins, walked: list[Step]) -> None:
    """Values, errors with their facts, order of judgement, what is stored in the end: all as in the reference."""
    twins.runner.run(walk(twins, walked))


@pytest.mark.thorough
@given(walked=st.lists(steps, max_size=40))
@settings(max_examples=1_500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_call_answers_as_the_memory_store_does_in_long_walks(twins: Twins, walked: list[Step]) -> None:
    """The same with longer walks, and with other ones every time."""
    twins.runner.run(walk(twins, walked))


def test_outcomes_tell_different_answers_apart() -> None:
    """The comparison that the walks rest on sees a difference in type, value and facts."""
    assert Outcome(1) != Outcome(2)
    assert Outcome(error=ValueError, facts={"a": 1}) != Outcome(error=ValueError, facts={"a": 2})
