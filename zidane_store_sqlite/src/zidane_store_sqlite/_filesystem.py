"""Whether a file system can share memory between processes, which SQLite's write-ahead log is built on."""

from __future__ import annotations

import os
import re
from pathlib import Path

from zidane_core.errors import StoreUnavailableError

_MOUNTS = Path("/proc/self/mountinfo")
_ESCAPE = re.compile(r"\\([0-7]{3})")
"""How white space and backslashes stand in the list of mounts."""

_REMOTE = frozenset({
    "9p", "afs", "ceph", "cifs", "fakeowner", "glusterfs", "grpcfuse", "lustre", "ncpfs", "nfs", "nfs4", "prl_fs",
    "smb2", "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs",
})  # fmt: skip


def refuse_remote_file_system(path: str) -> None:
    """Return for a file system of this host, or where that cannot be told. Raises StoreUnavailableError."""
    kind = file_system_of(path)
    if kind is not None and (kind in _REMOTE or kind.startswith("fuse")):
        raise StoreUnavailableError(
            f"{path} is on a {kind} file system, where SQLite's write-ahead log corrupts databases: keep the file on "
            "a local disk, or pass any_file_system=True if you know that this one is safe",
            retryable=False,
        )


def file_system_of(path: str) -> str | None:
    """The type of the file system that a path is on, as Linux names it; None where that cannot be told."""
    try:
        mounts = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return None
    real = os.path.realpath(path)
    best, kind = "", None
    for line in mounts:
        before, _, behind = line.partition(" - ")
        point = _ESCAPE.sub(lambda octal: chr(int(octal[1], 8)), before.split(" ")[4])
        if len(point) >= len(best) and (real + "/").startswith(point.rstrip("/") + "/"):
            best, kind = point, behind.split(" ")[0]
    return kind
