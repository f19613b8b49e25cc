"""The kit itself: what is a pass, what cannot be skipped, what is left alone and what is told."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.conformance import targets
from tests.conformance.mutants.base import MutantStore
from zidane_core.conformance import Baseline, Check, Kit, Report, State, Target, all_checks, run_conformance
from zidane_core.conformance.conformance import Conformance
from zidane_core.conformance.profile import PROFILES
from zidane_core.conformance.requirements import required_ids, required_sets
from zidane_core.memory import MEMORY_CAPABILITIES, MemoryStore
from zidane_core.store import Capabilities, SessionStore


def run(*only: str, target: object = MemoryStore) -> Report:
    return run_conformance(target, profile="quick", only=only, seed=1)  # type: ignore[arg-type]


def states(report: Report) -> dict[str, State]:
    return {result.check.id: result.state for result in report.results}


def result_of(fn: object, target: object = MemoryStore) -> object:
    """Run one check that is made here."""
    check = Check(id="made.here", doc="A rule.", fn=fn)  # type: ignore[arg-type]
    given = target if isinstance(target, Target) else Target(open=target, shown="here")  # type: ignore[arg-type]
    return Conformance(given, PROFILES["quick"], seed=1, checks=[check]).result(check)


class CoreOnly(MutantStore):
    declared = Capabilities()


def test_undeclared_capabilities_are_not_applicable_once_refusal_is_verified() -> None:
    """A store with the core alone passes, and is told what was not looked at."""
    found = states(run("capability.meta", "meta.*", "append.order", target=CoreOnly))
    assert found.pop("capability.meta") is found.pop("append.order") is State.PASS
    assert set(found.values()) == {State.NOT_APPLICABLE}


def test_an_undeclared_capability_that_works_fails_all_of_its_checks() -> None:
    """Nothing is not applicable by being called so."""

    class Unchecked(CoreOnly):
        def _require(self, capability: str, what: str) -> None:
            return

    found = states(run("capability.meta", "meta.patch", target=Unchecked))
    assert set(found.values()) == {State.FAIL}


def test_declared_but_untestable_is_a_failure() -> None:
    """A store that declares to be shared by processes has to be importable."""

    class Shared(MutantStore):
        declared = replace(MEMORY_CAPABILITIES, shared="host")

    report = run("append.concurrent-processes", target=Shared)
    assert set(states(report).values()) == {State.FAIL}
    assert "module:opener" in report.results[0].reason


def test_a_hook_that_a_target_lacks_is_told_as_not_run() -> None:
    """Damage and faults are looked at where the target allows it."""
    assert set(states(run("damage.*", "fault.*")).values()) == {State.NOT_RUN}


def test_an_error_of_the_kit_is_no_failure_of_the_store() -> None:
    """It has a traceback, and the run does not pass."""

    async def broken(kit: Kit) -> None:
        raise ZeroDivisionError

    found = result_of(broken)
    assert found.state is State.KIT_ERROR  # type: ignore[attr-defined]
    assert "ZeroDivisionError" in found.failure.traceback  # type: ignore[attr-defined]


def test_a_store_that_blocks_the_event_loop_is_told() -> None:
    """No asyncio timeout could interrupt it."""
    script = (
        "import time; from zidane_core.conformance.watchdog import BlockedLoopError, watchdog\n"
        "try:\n"
        "    with watchdog(0.05): time.sleep(30)\n"
        "except BlockedLoopError: print('told')"
    )  # in a process of its own, since pytest-timeout has the alarm here
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (ended.stdout, ended.stderr) == ("told\n", "")


def test_a_touched_canary_is_a_failure() -> None:
    """A session that the check never named must not change."""

    class Touching(MutantStore):
        async def get_turns(self, *args: object, **kwargs: object) -> object:  # type: ignore[override]
            for session_id in await self.list_ids():
                await self.patch_meta(session_id, {"touched": True})
            return await super().get_turns(*args, **kwargs)  # type: ignore[arg-type]

    async def reads(kit: Kit) -> None:
        await kit.store.get_turns(await kit.session(1))

    found = result_of(reads, Touching)
    assert found.failure.what == "a session that the check never touched"  # type: ignore[attr-defined]
    assert found.failure.surroundings  # type: ignore[attr-defined]


def test_a_task_that_is_left_behind_is_a_failure() -> None:
    """Also when the rule itself held."""

    async def leaving(kit: Kit) -> None:
        kit.left = asyncio.create_task(asyncio.sleep(60), name="left")  # type: ignore[attr-defined]

    found = result_of(leaving)
    assert (found.state, "the task left" in found.failure.found) == (State.FAIL, True)  # type: ignore[attr-defined]


def test_nothing_that_was_there_is_touched_and_nothing_is_left(tmp_path: Path) -> None:
    """A run removes the sessions that it made, and no other."""
    from zidane_core.conformance import samples
    from zidane_core.opening import open_store

    url = f"sqlite:///{tmp_path / 'mine.db'}"

    async def mine(make: bool) -> object:
        async with open_store(url) as store:
            if make:
                await store.append_turns("mine", samples.turns(0, 2), create=samples.header("c"))
            return await store.load("mine"), await store.list_ids(), await store.list_schedules()

    before = asyncio.run(mine(True))
    assert run("append.*", "schedule.*", "id.apart", "list.*", "scope.*", target=url).passed
    assert asyncio.run(mine(False)) == before


def test_a_seed_repeats_a_run() -> None:
    """Choices are drawn from it; names are not, or a second run would meet what the store remembers of the first."""
    seen: list[float] = []

    async def noting(kit: Kit) -> None:
        seen.append(kit.random.random())

    result_of(noting)
    result_of(noting)
    assert seen[0] == seen[1]


def test_the_frozen_requirements_name_all_checks_of_their_version() -> None:
    """A check that comes to demand something else gets a new id, and so the list never changes."""
    assert required_sets() == ["1.0"]
    assert required_ids("1.0") == {check.id for check in all_checks() if check.since == "1.0"}


def test_every_check_has_a_rule_and_an_id_of_its_form() -> None:
    """The rule is a sentence; the id is `topic.words-with-hyphens`."""
    import re

    for check in all_checks():
        assert check.doc.endswith("."), check.id
        assert re.fullmatch(r"[a-z]+\.[a-z0-9]+(-[a-z0-9]+)*", check.id), check.id


def test_a_baseline_with_an_unknown_id_is_an_error() -> None:
    """Or it would hide a check that was renamed."""
    with pytest.raises(ValueError, match=r"no\.such"):
        Conformance(Target(open=MemoryStore), PROFILES["quick"], 1, Baseline({"no.such": ""}))


def test_the_kit_needs_no_pytest() -> None:
    """Running checks imports neither pytest nor Typer."""
    script = (
        "import sys; from zidane_core.conformance import run_conformance; from zidane_core.memory import MemoryStore\n"
        "assert run_conformance(MemoryStore, profile='quick', only=['append.*']).passed\n"
        "assert not {'pytest', 'typer', 'rich'} & sys.modules.keys()"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_targets_with_hooks_are_resolved_in_worker_processes() -> None:
    """A reference leads to the same data."""
    assert targets.sqlite.reference == "tests.conformance.targets:open_sqlite"
    store: SessionStore = targets.open_sqlite()
    assert store.scope == ""


def test_the_coverage_page_names_checks_that_exist() -> None:
    """A check that is renamed is renamed there too."""
    import re

    page = Path(__file__).parents[2] / "docs" / "conformance-coverage.md"
    named = set(re.findall(r"`([a-z]+\.[a-z]+(?:-[a-z]+)*)`", page.read_text(encoding="utf-8")))
    assert sorted(named - {check.id for check in all_checks()}) == []
