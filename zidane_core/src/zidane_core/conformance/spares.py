"""Worker processes that are started ahead, between checks: starting Python takes longer than most checks do."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
from collections import deque
from pathlib import Path
from typing import NamedTuple

MOST = 8
"""Each holds some 25 MB."""


class _Spare(NamedTuple):
    process: subprocess.Popen[bytes]
    surroundings: tuple[Path, dict[str, str]]
    """The working folder and the environment that it was started with."""


_spares: deque[_Spare] = deque()


def keep_spares() -> None:
    """Start as many as are missing. Their pipes are open from now on, so this is not for the middle of a check."""
    while len(_spares) < MOST:
        _spares.append(_started(_surroundings()))


def take() -> subprocess.Popen[bytes]:
    """A worker that waits for its job: a spare one, or where there is none that fits, a new one."""
    wanted = _surroundings()
    while _spares:
        spare = _spares.popleft()
        if spare.surroundings == wanted and spare.process.poll() is None:
            return spare.process
        _discard(spare)
    return _started(wanted).process


def _surroundings() -> tuple[Path, dict[str, str]]:
    folder = Path.cwd()
    return folder, {**os.environ, "PYTHONPATH": os.pathsep.join([*filter(None, sys.path), str(folder)])}


def _started(surroundings: tuple[Path, dict[str, str]]) -> _Spare:
    folder, environment = surroundings
    command = (sys.executable, "-W", "ignore::DeprecationWarning", "-m", "zidane_core.conformance.worker")
    pipe = subprocess.PIPE
    process = subprocess.Popen(  # noqa: S603 -- this very interpreter, on a module of ours
        command, bufsize=0, stdin=pipe, stdout=pipe, stderr=pipe, cwd=folder, env=environment
    )
    return _Spare(process, surroundings)


def _discard(spare: _Spare) -> None:
    spare.process.kill()
    spare.process.communicate()


@atexit.register
def _discard_all() -> None:
    while _spares:
        _discard(_spares.popleft())
