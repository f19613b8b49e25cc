"""What a check must leave as it found it: tasks, threads, open files and connections, the event loop's peace."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

GRACE_SECONDS = 2.0
"""How long threads may take to end and files to close once everything is closed."""

COLLECTED_AFTER_SECONDS = 0.02
"""When garbage is collected, which may be what holds them."""

_FDS = Path("/proc/self/fd")


class Surroundings:
    """Threads and open files at one moment, and what has been added since."""

    def __init__(self) -> None:
        self._threads = set(threading.enumerate())
        self._files = _open_files()

    def left_behind(self) -> list[str]:
        """What is there now and was not then, once it has had the time to go."""
        for pause in _pauses():
            if not self._added():
                return []
            time.sleep(pause)
        return self._added()

    async def left_behind_soon(self) -> list[str]:
        """The same, while the event loop goes on."""
        for pause in _pauses():
            if not self._added():
                return []
            await asyncio.sleep(pause)
        return self._added()

    def _added(self) -> list[str]:
        others = set(threading.enumerate()) - self._threads - {threading.current_thread()}
        threads = [f"the thread {each.name!r}" for each in others if each.is_alive()]
        files = [f"the open file {shown}" for number, shown in _open_files().items() - self._files.items() if number]
        return sorted(threads) + sorted(files)


def _pauses() -> Iterator[float]:
    """Seconds to wait for what ends by itself, and then also for what ends when it is collected, which takes longer."""
    began = time.monotonic()
    while (waited := time.monotonic() - began) < GRACE_SECONDS:
        if waited > COLLECTED_AFTER_SECONDS:
            gc.collect()
        yield max(0.001, waited / 4)


class LoopWatch:
    """Errors that nobody awaited, and tasks still running, on one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._errors: list[str] = []
        loop.set_exception_handler(self._note)

    def left_behind(self) -> list[str]:
        """Tasks of the running loop other than this one, and errors that were only logged."""
        others = asyncio.all_tasks() - {asyncio.current_task()}
        return [f"the task {task.get_name()} ({task.get_coro()})" for task in others] + self._errors

    def _note(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        told = context.get("message", "an error") if error is None else f"{type(error).__name__}: {error}"
        self._errors.append(f"an error that nobody awaited ({told})")


def _open_files() -> dict[int, str]:
    """File descriptors and what they are; empty where the system does not tell."""
    found: dict[int, str] = {}
    try:
        numbers = [int(each) for each in os.listdir(_FDS)]  # noqa: PTH208 -- only the names
    except OSError:
        return found
    for number in numbers:
        try:
            found[number] = os.readlink(_FDS / str(number))  # noqa: PTH115 -- as above
        except OSError:  # the one that listed the folder
            continue
    return found
