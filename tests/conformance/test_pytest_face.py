"""The pytest face passes under every configuration of the asyncio plugins, and without them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SUITE = """
from zidane_core.conformance import StoreConformance
from zidane_core.memory import MemoryStore


class TestMine(StoreConformance):
    target = MemoryStore
"""

OWN_ASYNC_TEST = """

async def test_of_the_hosts_own():
    import asyncio
    await asyncio.sleep(0)
"""

NO_ASYNCIO, NO_ANYIO = ("-p", "no:asyncio"), ("-p", "no:anyio")
CONFIGURATIONS = {
    "no plugin": (*NO_ASYNCIO, *NO_ANYIO),
    "anyio only": NO_ASYNCIO,
    "pytest-asyncio strict": (*NO_ANYIO, "-o", "asyncio_mode=strict"),
    "pytest-asyncio auto": (*NO_ANYIO, "-o", "asyncio_mode=auto"),
    "strict, anyio too": ("-o", "asyncio_mode=strict"),
    "auto, anyio too": ("-o", "asyncio_mode=auto"),
    "auto, loop of the session": (
        "-o",
        "asyncio_mode=auto",
        "-o",
        "asyncio_default_test_loop_scope=session",
        "-o",
        "asyncio_default_fixture_loop_scope=session",
    ),
    "warnings are errors": (
        "-W",
        "error",
        "-o",
        "asyncio_mode=auto",
        "-o",
        "asyncio_default_fixture_loop_scope=function",
    ),
    "importlib mode": ("--import-mode=importlib", "-o", "asyncio_mode=auto"),
}


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_the_face_passes_under_every_configuration(configuration: str, tmp_path: Path) -> None:
    """Trio is installed; a host's own async test runs beside the checks where a plugin runs such tests."""
    pytest.importorskip("trio")
    own = OWN_ASYNC_TEST if "auto" in configuration else ""
    (tmp_path / "test_mine.py").write_text(SUITE + own, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    chosen = "append.order or turns or one-winner or cancel.queued or model or of_the_hosts_own"
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-k", chosen, *CONFIGURATIONS[configuration], "-p", "no:cacheprovider"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert " failed" not in ended.stdout


def test_a_failing_check_fails_its_test_with_the_whole_message(tmp_path: Path) -> None:
    """No traceback of the kit is in the way."""
    broken = SUITE.replace(
        "target = MemoryStore",
        "class target(MemoryStore):\n        async def get_turns(self, *args, **kwargs):\n            return []",
    )
    (tmp_path / "test_mine.py").write_text(broken, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-k", "append.order", "-p", "no:cacheprovider"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    for part in ("rule       Turns come back in the order", "looked at  the history", "again      zidane check"):
        assert part in ended.stdout
