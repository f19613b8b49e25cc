"""Runs one check: on an event loop of its own, in bounded time, and with an eye on what it leaves behind."""

from __future__ import annotations

import asyncio
import time
import traceback
from dataclasses import dataclass

from zidane_core.store import Capabilities

from .check import Check
from .expectations import BrokenRuleError
from .kit import CanaryError, Kit
from .profile import Profile
from .results import Failure, Result, State
from .surroundings import LoopWatch, Surroundings
from .target import Target
from .watchdog import BlockedLoopError, watchdog

CLOSING_SECONDS = 20.0
"""For cleaning up and closing after a check."""


class LeftBehindError(Exception):
    """Something is still there after every handle was closed."""


_JUDGED: tuple[tuple[type[Exception], str, str], ...] = (
    (LeftBehindError, "what is left once every handle is closed", "nothing"),
    (BlockedLoopError, "the event loop", "a store that lets other tasks run"),
    (AssertionError, "an assertion of the check", "that it holds"),
)


@dataclass(frozen=True, kw_only=True)
class CheckRunner:
    """Runs checks on one target."""

    target: Target
    capabilities: Capabilities
    profile: Profile
    seed: int

    def run(self, check: Check) -> Result:
        """Run the check, which applies; whatever happens becomes its result."""
        kit = Kit(self.target, self.capabilities, self.profile, f"{self.seed}:{check.id}")
        began = time.perf_counter()
        try:
            self._run_watched(check, kit)
        except Exception as error:  # noqa: BLE001 -- every error is a result
            state, failure = self._judged(check, kit, error)
            return Result(check=check, state=state, failure=failure, seconds=time.perf_counter() - began)
        return Result(check=check, state=State.PASS, seconds=time.perf_counter() - began)

    def _run_watched(self, check: Check, kit: Kit) -> None:
        before = Surroundings()
        with watchdog(self.profile.timeout + CLOSING_SECONDS + 5):
            with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
                runner.run(self._perform(check, kit))
            left = before.left_behind()
        if left:
            raise LeftBehindError(", ".join(left))

    async def _perform(self, check: Check, kit: Kit) -> None:
        watch = LoopWatch(asyncio.get_running_loop())
        passed = False
        try:
            async with asyncio.timeout(self.profile.timeout):
                await kit.begin(with_canary=self._has_room(check))
                await check.fn(kit)
            passed = True
        finally:
            await self._finish(kit, passed=passed)
        left = watch.left_behind()
        if left:
            raise LeftBehindError(", ".join(left))

    async def _finish(self, kit: Kit, *, passed: bool) -> None:
        """Clean up. After a failure its own errors say nothing new."""
        try:
            async with asyncio.timeout(CLOSING_SECONDS):
                await kit.end(passed=passed)
        except Exception:
            if passed:
                raise

    def _has_room(self, check: Check) -> bool:
        return self.capabilities.max_sessions is None or self.capabilities.max_sessions > check.sessions

    def _judged(self, check: Check, kit: Kit, error: Exception) -> tuple[State, Failure]:
        state, what, expected, found = _seen(error, kit, self.profile)
        failure = Failure(
            what=what,
            expected=expected,
            found=found,
            seed=self.seed,
            calls=kit.transcript.lines,
            reproduce=self.reproduce(check),
            surroundings=isinstance(error, CanaryError | LeftBehindError),
            traceback="".join(traceback.format_exception(error)) if state is State.KIT_ERROR else "",
        )
        return state, failure

    def reproduce(self, check: Check) -> str:
        """The command that runs just this check again."""
        return f"zidane check {self.target.shown} --only {check.id} --profile {self.profile.name} --seed {self.seed}"


def _seen(error: Exception, kit: Kit, profile: Profile) -> tuple[State, str, str, str]:
    """The state, what was looked at, expected and found."""
    if isinstance(error, CanaryError):
        error = error.broken
    if isinstance(error, BrokenRuleError):
        return State.FAIL, error.what, error.expected, error.found
    told = f"{type(error).__name__}: {error}"
    if kit.transcript.came_from_store(error):
        return State.FAIL, "a call that should succeed", "no error", told
    for kind, what, expected in _JUDGED:
        if isinstance(error, kind):
            return State.FAIL, what, expected, told
    if isinstance(error, TimeoutError):
        return State.FAIL, "the time that the check took", f"less than {profile.timeout:g} s", "it was still waiting"
    return State.KIT_ERROR, "the kit itself", "no error", told
