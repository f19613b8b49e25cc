"""Who holds a run, and whether that process still lives.

Judged by the client that claims, never by a server for it. Only a process on the same host (boot, pid and time
namespace) can be known to be dead; of any other, only its silence tells.
Source: proc(5) for `/proc/<pid>/stat` (field 22, start time in clock ticks since boot) and the namespace links.
"""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Literal, TypeAlias
from uuid import uuid4

from msgspec.structs import replace

from .records import RunOwner

Liveness: TypeAlias = Literal["alive", "dead", "unknown"]

_PROC = Path("/proc")
_START_TOLERANCE_MS = 2_000
"""`started_at` is derived from the wall clock, which moves when it is set."""


def current_run_owner() -> RunOwner:
    """This process, as the owner of a run. A fork is another owner."""
    pid = os.getpid()
    return _owners.get(pid) or _owners.setdefault(pid, _owner_of(pid))


class Holding:
    """This process as the owner of one claim: once `end` is called that owner is dead, though the process lives on.

    So a claim that could not be given back, because the store failed or nobody saw its answer, blocks nobody here.
    """

    def __init__(self) -> None:
        self.owner = replace(current_run_owner(), token=uuid4().hex)
        _held.add(self.owner.token)

    def end(self) -> None:
        """Say that nothing holds the claim any more."""
        _held.discard(self.owner.token)


def liveness_of(owner: RunOwner | None) -> Liveness:
    """Whether the owner's process lives. `unknown` for another host, and where there is no owner."""
    if owner is None or owner.host_id != current_run_owner().host_id:
        return "unknown"
    if owner.pid == os.getpid():
        return "alive" if owner.token in _held or owner.token == current_run_owner().token else "dead"
    return "alive" if _is_running(owner.pid) and _started_as_recorded(owner) else "dead"


def is_run_owner_dead(owner: RunOwner | None) -> bool:
    """Whether the owner's process is known to be gone: it ran on this host, and its pid is free or another's."""
    return liveness_of(owner) == "dead"


def is_run_owner_holding(owner: RunOwner | None) -> bool:
    """Whether the owner is a process of this host that still runs."""
    return liveness_of(owner) == "alive"


# -- how it is done ---------------------------------------------------------------------------


_owners: dict[int, RunOwner] = {}
"""This process; a fork finds its parent's entry here, and adds its own."""

_held: set[str] = set()
"""The tokens of the claims that this process holds."""


def _owner_of(pid: int) -> RunOwner:
    ticks = _start_ticks(pid)
    return RunOwner(
        host_id=_host_id(),
        pid=pid,
        token=uuid4().hex,
        started_at=None if ticks is None else _started_at(ticks),
        start_ticks=ticks,
    )


@lru_cache(maxsize=1)
def _host_id() -> str:
    """The same for two processes whose pids can be compared; random where that cannot be told."""
    parts = [
        _read(_PROC / "sys/kernel/random/boot_id"),
        _link(_PROC / "self/ns/pid"),
        _link(_PROC / "self/ns/time"),
        _read(Path("/etc/machine-id")),
    ]
    if not (parts[0] and parts[1]):
        parts = [uuid4().hex]
    return blake2b("\n".join(part or "" for part in parts).encode(), digest_size=12).hexdigest()


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # it belongs to another user, so it is there
        return True
    fields = _stat_fields(pid)
    return fields is None or fields[0] not in ("Z", "X")  # a zombie answers signals, and will never write again


def _started_as_recorded(owner: RunOwner) -> bool:
    """Whether the pid is still the owner's; True where that cannot be read."""
    ticks = _start_ticks(owner.pid)
    if ticks is None:
        return True
    if owner.start_ticks is not None:
        return ticks == owner.start_ticks
    started_at = _started_at(ticks)
    if owner.started_at is None or started_at is None:
        return True
    return abs(started_at - owner.started_at) <= _START_TOLERANCE_MS


def _start_ticks(pid: int) -> int | None:
    fields = _stat_fields(pid)
    return None if fields is None else int(fields[19])


def _stat_fields(pid: int) -> list[str] | None:
    """The fields of `/proc/<pid>/stat` behind the process name, from the state letter (field 3) on."""
    if not _proc_is_ours():
        return None
    stat = _read(_PROC / str(pid) / "stat")
    return None if stat is None else stat.rpartition(")")[2].split()


def _proc_is_ours() -> bool:
    """A mounted /proc can be another pid namespace's, where our pids mean others."""
    return sys.platform == "linux" and _link(_PROC / "self") == str(os.getpid())


def _started_at(ticks: int) -> int | None:
    booted = next((line for line in (_read(_PROC / "stat") or "").splitlines() if line.startswith("btime ")), None)
    if booted is None:
        return None
    return int(booted.split()[1]) * 1000 + ticks * 1000 // os.sysconf("SC_CLK_TCK")


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def _link(path: Path) -> str | None:
    try:
        return os.readlink(path)  # noqa: PTH115 -- the link's own text, "pid:[4026531836]", is no path
    except OSError:
        return None
