"""Whether the process that holds a run still lives."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from zidane_core import current_run_owner, is_run_owner_dead
from zidane_core.codec import from_json_object, to_json_object
from zidane_core.records import RunOwner
from zidane_core.run_owner import is_run_owner_holding, liveness_of

on_linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux's /proc")


@pytest.fixture
def child() -> Any:
    with subprocess.Popen(
        [sys.executable, "-c", "import time; print(flush=True); time.sleep(60)"], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def owner_of(pid: int) -> RunOwner:
    """An owner as the process itself would write it, without its token."""
    ticks = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    return replace(current_run_owner(), pid=pid, token="its own", start_ticks=ticks, started_at=None)


def test_this_process_lives_and_is_the_same_owner_throughout() -> None:
    owner = current_run_owner()
    assert owner == current_run_owner()
    assert (owner.pid, liveness_of(owner)) == (os.getpid(), "alive")
    assert is_run_owner_holding(owner)
    assert not is_run_owner_dead(owner)


def test_an_earlier_process_with_this_pid_is_dead() -> None:
    assert liveness_of(replace(current_run_owner(), token="earlier")) == "dead"


def test_of_another_host_and_of_nobody_nothing_is_known() -> None:
    for owner in (None, replace(current_run_owner(), host_id="elsewhere"), RunOwner(host_id="", pid=1, token="t")):
        assert liveness_of(owner) == "unknown"
        assert not is_run_owner_dead(owner)
        assert not is_run_owner_holding(owner)


@on_linux
def test_a_child_lives_until_it_is_killed_and_is_dead_as_a_zombie(child: Any) -> None:
    """A zombie answers signals, but writes nothing any more."""
    owner = owner_of(child.pid)
    assert liveness_of(owner) == "alive"
    os.kill(child.pid, signal.SIGKILL)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert Path(f"/proc/{child.pid}/stat").exists()
    assert liveness_of(owner) == "dead"
    child.wait()
    assert liveness_of(owner) == "dead"


@on_linux
def test_a_stopped_process_is_alive(child: Any) -> None:
    """It may go on at any time."""
    owner = owner_of(child.pid)
    os.kill(child.pid, signal.SIGSTOP)
    assert liveness_of(owner) == "alive"


@on_linux
def test_a_later_process_that_got_the_pid_is_told_by_its_start(child: Any) -> None:
    """By the ticks since boot; by the wall clock, with some tolerance, where older code wrote only that."""
    owner = owner_of(child.pid)
    assert owner.start_ticks is not None
    assert liveness_of(replace(owner, start_ticks=owner.start_ticks - 1)) == "dead"
    only_wall_clock = replace(owner, start_ticks=None)
    started_at = current_run_owner().started_at
    assert started_at is not None
    assert liveness_of(only_wall_clock) == "alive"
    assert liveness_of(replace(only_wall_clock, started_at=started_at - 3_600_000)) == "dead"


@on_linux
def test_a_clock_that_is_set_changes_nothing_for_an_owner_with_ticks(child: Any) -> None:
    assert liveness_of(replace(owner_of(child.pid), started_at=1)) == "alive"


@pytest.mark.parametrize("pid", [2**22 + 1, 2**40, 2**70])
def test_a_pid_that_cannot_be_is_dead(pid: int) -> None:
    """As a damaged or foreign record may hold one."""
    assert liveness_of(replace(current_run_owner(), pid=pid)) == "dead"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_is_another_owner_and_sees_that_its_parent_lives() -> None:
    """And the parent sees when the fork is dead."""
    script = """
import json, os, sys
from zidane_core import current_run_owner
from zidane_core.codec import to_json_object
from zidane_core.run_owner import Holding, liveness_of
holding = Holding()
parent = current_run_owner()
out, into = os.pipe()
pid = os.fork()
if pid == 0:
    mine = current_run_owner()
    facts = [mine.token != parent.token, mine.pid != parent.pid, liveness_of(parent), liveness_of(holding.owner)]
    os.write(into, json.dumps([facts, to_json_object(mine)]).encode())
    os._exit(0)
os.close(into)
answer = b"".join(iter(lambda: os.read(out, 65536), b""))
os.waitpid(pid, 0)
print(answer.decode())
"""

    answer = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, check=True)
    facts, owner = json.loads(answer.stdout)
    assert facts == [True, True, "alive", "alive"]
    assert is_run_owner_dead(from_json_object(RunOwner, owner))


def test_an_owner_survives_its_way_through_a_store() -> None:
    owner = current_run_owner()
    assert from_json_object(RunOwner, to_json_object(owner)) == owner
