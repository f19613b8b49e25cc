"""The main job, on the embedded store: write a conversation, lose the process, load, heal, go on."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from zidane_core.messages.files import read_history

from .show import say, step

EXAMPLE = Path(__file__).with_name("conversation.json")


def main() -> int:
    arguments = _parser().parse_args()
    try:
        message_format, messages = read_history(arguments.history.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        print(f"cannot read {arguments.history}: {error}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="zidane-demo-") as folder:
        url = f"sqlite:///{folder}/sessions.db"
        step(1, "A process writes a conversation, and is killed in the middle of a run")
        say(f"history: {arguments.history.name}, {len(messages)} messages in the {message_format} format")
        say(f"store:   {url}")
        _write_and_kill(url, arguments.history)
        step(2, "Another process opens the store, and goes on")
        return _worker("go-on", url, arguments.history).wait()


def _write_and_kill(url: str, history: Path) -> None:
    """Kill the writer with SIGKILL as soon as it says that it waits for a tool."""
    writer = _worker("write", url, history, stdout=subprocess.PIPE)
    assert writer.stdout is not None  # noqa: S101 -- it is a pipe
    for line in writer.stdout:
        if line == "waiting\n":
            writer.kill()
        else:
            print(line, end="")
    if writer.wait() >= 0:
        raise SystemExit("the writing process failed")
    say(f"process {writer.pid} is dead: killed while the tool ran")


def _worker(job: str, url: str, history: Path, stdout: int | None = None) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "zidane_core.demo.worker", job, url, str(history)]
    sys.stdout.flush()
    return subprocess.Popen(command, stdout=stdout, text=True, encoding="utf-8")  # noqa: S603 -- ourselves


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m zidane_core.demo",
        description="Shows that a conversation outlives its process: one process writes it and is killed, "
        "another loads it, heals it and goes on.",
    )
    parser.add_argument(
        "history",
        nargs="?",
        type=Path,
        default=EXAMPLE,
        help="a JSON or JSONL file with Anthropic or OpenAI messages (default: a short example)",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
