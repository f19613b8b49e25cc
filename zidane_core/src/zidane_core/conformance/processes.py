"""Worker processes, seen from the check that starts them."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator, Awaitable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, cast

from .expectations import BrokenRuleError
from .jobs import JOBS
from .kit import Kit

EXIT_SECONDS = 15.0
"""How long a process may take to end once its work is done."""


class Worker:
    """One worker process."""

    def __init__(self, process: asyncio.subprocess.Process, name: str) -> None:
        self._process, self._name = process, name
        self.told: list[dict[str, Any]] = []
        """What it has said so far."""

    async def start(self, request: dict[str, Any]) -> None:
        """Hand it its job, and wait until its store is open."""
        await self._write(request)
        await self._next()

    async def go(self) -> None:
        await self._write("go")

    async def listen(self, lines: int | None = None) -> None:
        """Take in what it says: so many lines, or until it is done."""
        while lines is None or lines > 0:
            message = await self._next()
            if message == "done":
                return
            self._take(message)
            lines = None if lines is None else lines - 1

    async def kill(self) -> None:
        """SIGKILL, and take in what it had said."""
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()
        while line := await self._out().readline():
            if line.endswith(b"\n"):  # the last one may be cut off
                self._take(json.loads(line))

    async def exit_code(self) -> int:
        """Wait for its end. Raises BrokenRuleError when it does not come."""
        try:
            async with asyncio.timeout(EXIT_SECONDS):
                return await self._process.wait()
        except TimeoutError as error:
            expected = f"its end within {EXIT_SECONDS:g} s"
            raise BrokenRuleError(f"{self._name}, its work done", expected=expected, found="it goes on") from error

    async def discard(self) -> None:
        """Leave nothing of it behind."""
        if self._process.returncode is None:
            self._process.kill()
        await self._process.communicate()

    def _take(self, message: object) -> None:
        if isinstance(message, dict):
            self.told.append(cast("dict[str, Any]", message))

    async def _next(self) -> object:
        line = await self._out().readline()
        if not line:
            errors = (await self._err().read()).decode(errors="replace")[-800:]
            raise BrokenRuleError(self._name, expected="that it goes on", found=f"it ended: {errors}")
        message: Any = json.loads(line)
        if "error" in message:
            raise BrokenRuleError(self._name, expected="no error", found=f"{message['error']}: {message['text']}")
        return message

    async def _write(self, message: object) -> None:
        stdin = self._process.stdin
        assert stdin is not None  # noqa: S101 -- it was piped
        stdin.write(json.dumps(message).encode() + b"\n")
        await stdin.drain()

    def _out(self) -> asyncio.StreamReader:
        assert self._process.stdout is not None  # noqa: S101 -- it was piped
        return self._process.stdout

    def _err(self) -> asyncio.StreamReader:
        assert self._process.stderr is not None  # noqa: S101 -- it was piped
        return self._process.stderr


@asynccontextmanager
async def workers(
    kit: Kit, job: str, arguments: list[dict[str, Any]], *, leave: str = "close"
) -> AsyncGenerator[list[Worker]]:
    """Processes that have the target open and wait for `go`, one for each set of arguments."""
    async with AsyncExitStack() as stack:
        started: list[Worker] = []
        for number in range(1, len(arguments) + 1):
            worker = Worker(await _spawn(), f"worker {number} ({job})")
            stack.push_async_callback(worker.discard)
            started.append(worker)
        requests = [
            {"target": kit.target.reference, "job": job, "arguments": each, "leave": leave} for each in arguments
        ]
        await together(*(worker.start(request) for worker, request in zip(started, requests, strict=True)))
        for number, each in enumerate(arguments, 1):
            kit.transcript.note(f"worker {number}: {job} {each}", "started")
        yield started


async def run_workers(kit: Kit, job: str, arguments: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Let several processes do the job at once, this one among them (the first arguments); what each of them told."""
    told: list[dict[str, Any]] = []
    here = await kit.open()
    async with workers(kit, job, arguments[1:]) as started:
        await together(*(worker.go() for worker in started))
        await together(JOBS[job](here, told.append, **arguments[0]), *(worker.listen() for worker in started))
        codes = await together(*(worker.exit_code() for worker in started))
        if any(codes):
            raise BrokenRuleError(f"the exit codes of the {job} workers", expected="0 each", found=f"{codes}")
        return [told, *(worker.told for worker in started)]


async def together(*calls: Awaitable[Any]) -> list[Any]:
    """All of their answers; when one fails the others are ended before its error goes on."""
    tasks = [asyncio.ensure_future(call) for call in calls]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _spawn() -> asyncio.subprocess.Process:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*filter(None, sys.path), str(Path.cwd())])}
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-W",
        "ignore::DeprecationWarning",
        "-m",
        "zidane_core.conformance.worker",
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        env=environment,
    )
