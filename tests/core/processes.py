"""Real processes that do a step of a test and are killed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from textwrap import dedent, indent

_FRAME = """
import asyncio, os, sys
from zidane_core import *
from zidane_store_sqlite import SqliteStore

def say(*words):
    print(*words, flush=True)

async def wait():
    say("waiting")
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)

async def main(path):
    async with SqliteStore(path, synchronous="normal") as store:
{body}

asyncio.run(main(sys.argv[1]))
"""


@contextmanager
def waiting_process(path: object, body: str) -> Iterator[subprocess.Popen[str]]:
    """A process with `store` open on the file, that ran `body` up to its first `await wait()`.

    It goes on when a line is written to it, and is killed at the end.
    """
    source = _FRAME.format(body=indent(dedent(body).strip(), " " * 8))
    command = [sys.executable, "-c", source, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "waiting\n"
            yield process
        finally:
            process.kill()


def kill(process: subprocess.Popen[str]) -> None:
    """SIGKILL it and wait for its death."""
    process.kill()
    process.wait()
