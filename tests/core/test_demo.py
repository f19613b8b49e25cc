"""The demo does what it says: it loses a process and no turn."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.messages.transcripts import FOLDER, needs_transcripts


def demo(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "zidane_core.demo", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)


def shows_the_main_job(shown: str) -> None:
    stored, writer = re.search(r"process (\d+) stored (\d+) turns", shown), re.search(r"process (\d+) is dead", shown)
    loaded = re.search(r"process (\d+) loaded (\d+) turns", shown)
    assert stored is not None
    assert writer is not None
    assert loaded is not None
    assert stored[1] == writer[1] != loaded[1]
    assert stored[2] == loaded[2]
    assert "its run run-1 is shown as aborted" in shown
    assert "session completed" in shown
    assert "Nothing was lost." in shown


def test_the_demo_kills_its_writer_and_goes_on_with_all_turns() -> None:
    """In two processes, and the call that was left open is closed with an error."""
    done = demo()
    assert (done.returncode, done.stderr) == (0, "")
    shows_the_main_job(done.stdout)
    assert "✗" in done.stdout


@needs_transcripts
@pytest.mark.parametrize(
    "name",
    [
        "simonw_sample_session.jsonl",
        "pydanticai_openai_chat_accepted.json",
        "miniswe_github_issue.traj.json",
    ],
)
def test_the_demo_takes_any_real_history(name: str) -> None:
    done = demo(FOLDER / name)
    assert (done.returncode, done.stderr) == (0, "")
    shows_the_main_job(done.stdout)


def test_the_demo_takes_a_history_without_tools(tmp_path: Path) -> None:
    path = tmp_path / "plain.json"
    path.write_text('[{"role": "user", "content": "hello"}]')
    done = demo(path)
    assert done.returncode == 0
    assert "its run run-1 is shown as aborted" in done.stdout


@pytest.mark.parametrize("content", [None, "no JSON", "[]", b"\xff\xfe"])
def test_a_file_that_holds_no_history_is_an_error_in_one_line(tmp_path: Path, content: str | bytes | None) -> None:
    path = tmp_path / "history.json"
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    done = demo(path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"cannot read {path}: ")
    assert done.stderr.count("\n") == 1


def test_an_unknown_option_is_refused_with_the_usage() -> None:
    done = demo("--speed", "fast")
    assert done.returncode == 2
    assert "usage: python -m zidane_core.demo" in done.stderr
