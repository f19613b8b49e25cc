"""The other process: `python -m zidane_core.conformance.worker` opens the target and does one job on it.

It reads one line of JSON (what to open, the job, its arguments), says `ready`, waits for a second line, works, and says
one line of JSON for each thing that it has to tell. What it has said is flushed, so a parent that kills it knows what
it was told.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from zidane_core.store import SessionStore

from .jobs import JOBS
from .target import resolve


def say(message: object) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


async def work(request: dict[str, Any], wait: Callable[[], object]) -> None:
    opening = resolve(request["target"]).open()
    store = await opening.__aenter__()
    say("ready")
    wait()
    await JOBS[request["job"]](store, say, **request["arguments"])
    await _leave(opening, store, request["leave"])


async def _leave(opening: AbstractAsyncContextManager[SessionStore], store: SessionStore, how: str) -> None:
    """Close the store, or forget to."""
    if how == "close":
        await opening.__aexit__(None, None, None)
        return
    forgotten.append(opening)
    forgotten.append(store)
    if how == "raise":
        raise ForgottenError("an error before the store was closed")


class ForgottenError(Exception):
    """What a program dies of that forgets to close its store."""


forgotten: list[object] = []
"""Held until the interpreter ends, as a global of a program would be."""


def main() -> None:
    line = sys.stdin.readline()
    if not line:  # a spare that was not needed
        return
    request = json.loads(line)
    try:
        asyncio.run(work(request, sys.stdin.readline))
    except ForgottenError:
        raise
    except Exception as error:  # noqa: BLE001 -- the parent is told
        say({"error": type(error).__name__, "text": str(error)})
        sys.exit(3)
    say("done")


if __name__ == "__main__":
    main()
