"""A whole run: which checks apply to a store, their results, and the report."""

from __future__ import annotations

import asyncio
import os
import platform
import secrets
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from importlib.metadata import PackageNotFoundError, version

from zidane_core.store import Capabilities

from .baseline import Baseline
from .check import CORE, Check
from .checks import all_checks
from .profile import PROFILES, Profile
from .requirements import required_ids
from .results import Report, Result, State
from .runner import CheckRunner
from .spares import keep_spares
from .target import Opener, Target, resolve

_SHARED_BY_INSTANCES = ("process", "host", "network")
_SHARED_BY_PROCESSES = ("host", "network")


@dataclass
class Conformance:
    """The checks of one target, run one by one or all together."""

    target: Target
    profile: Profile
    seed: int
    baseline: Baseline = field(default_factory=Baseline)
    checks: Sequence[Check] = field(default_factory=all_checks)
    with_spares: bool = False
    """Start worker processes ahead, since many checks will need some."""
    _capabilities: Capabilities | None = None
    _results: dict[str, Result] = field(default_factory=dict[str, Result])

    def __post_init__(self) -> None:
        self.baseline.judge_ids({check.id for check in self.checks})

    @property
    def capabilities(self) -> Capabilities:
        """What the target declares; it is opened once to be asked."""
        if self._capabilities is None:
            with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
                self._capabilities = runner.run(_capabilities_of(self.target))
        return self._capabilities

    def result(self, check: Check) -> Result:
        """Run one check, once; the baseline is applied."""
        if check.id not in self._results:
            self._results[check.id] = self.baseline.applied(self._run(check))
        return self._results[check.id]

    def _run(self, check: Check) -> Result:
        runner = CheckRunner(target=self.target, capabilities=self.capabilities, profile=self.profile, seed=self.seed)
        unfit = self._unfit(check)
        if unfit is None:
            if self.with_spares:
                keep_spares()
            return runner.run(check)
        return replace(unfit, check=check)

    def _unfit(self, check: Check) -> Result | None:
        """The result of a check that is not run, or None."""
        for needed in (check.capability, *check.also):
            if needed != CORE and not getattr(self.capabilities, needed):
                return self._undeclared(check, needed)
        room = self.capabilities.max_sessions
        if room is not None and room < check.sessions:
            return _not_applicable(check, f"it holds {room} session, and refuses more (capability.max-sessions)")
        return _unfit_layer(check, self.capabilities, self.target)

    def _undeclared(self, check: Check, capability: str) -> Result:
        proof = f"capability.{capability.replace('_', '-')}"
        refusal = next((each for each in self.checks if each.id == proof), None)
        if refusal is not None and refusal is not check:
            proven = self.result(refusal)
            if proven.state is not State.PASS:
                told = f"{capability} is undeclared, but not refused: {proof} is {proven.state}"
                return Result(check=check, state=State.FAIL, reason=told)
        return _not_applicable(check, f"{capability} is undeclared, and refused ({proof})")


def _unfit_layer(check: Check, declared: Capabilities, target: Target) -> Result | None:
    layer, shared = check.layer, declared.shared
    if layer == "instances" and shared not in _SHARED_BY_INSTANCES:
        return _not_applicable(check, "it declares shared='instance'")
    if layer == "processes" and shared not in _SHARED_BY_PROCESSES:
        return _not_applicable(check, f"it declares shared={shared!r}")
    if layer in ("reopen", "crash") and declared.durable == "no":
        return _not_applicable(check, "it declares durable='no'")
    if layer in ("processes", "crash") and target.reference is None:
        told = "it is declared, but cannot be tested: give a URL or an importable 'module:opener'"
        return Result(check=check, state=State.FAIL, reason=told)
    for hook in ("damage", "faults"):
        if layer == hook and getattr(target, hook) is None:
            return Result(check=check, state=State.NOT_RUN, reason=f"the target has no `{hook}` hook")
    return None


def _not_applicable(check: Check, reason: str) -> Result:
    return Result(check=check, state=State.NOT_APPLICABLE, reason=reason)


async def _capabilities_of(target: Target) -> Capabilities:
    async with target.open() as store:
        return store.capabilities


def run_conformance(
    target: str | Opener | Target,
    *,
    profile: str = "full",
    seed: int | None = None,
    only: Iterable[str] = (),
    requirements: str | None = None,
    baseline: Baseline | None = None,
    progress: Callable[[Result], None] = lambda result: None,
) -> Report:
    """Check a store. `only` chooses by id or pattern (`append.*`), `requirements` a frozen set such as `1.0`.

    Raises:
        ValueError: no check has such an id, no such profile or set, or the baseline names an unknown check.
        StoreError: the target cannot even be opened.
    """
    if profile not in PROFILES:
        raise ValueError(f"no profile {profile!r}: choose from {', '.join(PROFILES)}")
    run = Conformance(
        resolve(target),
        PROFILES[profile],
        secrets.randbelow(1_000_000) if seed is None else seed,
        baseline or Baseline(),
    )
    chosen = chosen_checks(run.checks, only=tuple(only), requirements=requirements)
    shared = run.capabilities.shared in _SHARED_BY_PROCESSES
    run.with_spares = shared and sum(check.layer in ("processes", "crash") for check in chosen) > 1
    began = time.perf_counter()
    results: list[Result] = []
    for check in chosen:
        results.append(run.result(check))
        progress(results[-1])
    return Report(
        target=run.target.shown,
        capabilities=run.capabilities,
        profile=profile,
        seed=run.seed,
        requirements=requirements or "all",
        versions=versions(),
        results=results,
        complete=not tuple(only),
        seconds=time.perf_counter() - began,
    )


def chosen_checks(checks: Sequence[Check], *, only: tuple[str, ...], requirements: str | None) -> list[Check]:
    required = None if requirements is None else required_ids(requirements)
    chosen = [check for check in checks if required is None or check.id in required]
    for pattern in only:
        if not any(fnmatchcase(check.id, pattern) for check in chosen):
            raise ValueError(f"no check is named {pattern!r}; `zidane check --list` names them all")
    return [check for check in chosen if not only or any(fnmatchcase(check.id, pattern) for pattern in only)]


def versions() -> dict[str, str]:
    """Of everything that a result may depend on."""
    found = {"python": platform.python_version(), "platform": f"{sys.platform} {os.uname().machine}"}
    for distribution in (
        "zidane-core",
        "zidane-store-sqlite",
        "zidane-store-redis",
        "zidane-store-remote",
        "msgspec",
    ):
        try:
            found[distribution] = version(distribution)
        except PackageNotFoundError:
            continue
    return found
