"""Worker processes, seen from the check that starts them."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import AsyncGenerator, Awaitable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import IO, Any, cast

from .expectations import BrokenRuleError
from .jobs import JOBS
from .kit import Kit
from .spares import take

EXIT_SECONDS = 15.0
"""How long a process may take to end once its work is done."""


class Worker:
    """One worker process."""

    def __init__(self, process: subprocess.Popen[bytes], name: str) -> None:
        self._process, self._name = process, name
        self._transports: list[asyncio.BaseTransport] = []
        self.told: list[dict[str, Any]] = []
        """What it has said so far."""

    async def start(self, request: dict[str, Any]) -> None:
        """Hand it its job, and wait until its store is open."""
        self._out, self._err = [await self._reader(pipe) for pipe in (self._process.stdout, self._process.stderr)]
        self._write(request)
        await self._next()

    def go(self) -> None:
        self._write("go")

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
        self._process.kill()
        await self._ended()
        while line := await self._out.readline():
            if line.endswith(b"\n"):  # the last one may be cut off
                self._take(json.loads(line))

    async def exit_code(self) -> int:
        """Wait for its end. Raises BrokenRuleError when it does not come."""
        try:
            async with asyncio.timeout(EXIT_SECONDS):
                return await self._ended()
        except TimeoutError as error:
            expected = f"its end within {EXIT_SECONDS:g} s"
            raise BrokenRuleError(f"{self._name}, its work done", expected=expected, found="it goes on") from error

    async def discard(self) -> None:
        """Leave nothing of it behind."""
        self._process.kill()
        await self._ended()
        for transport in self._transports:
            transport.close()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()

    async def _ended(self) -> int:
        while (code := self._process.poll()) is None:  # noqa: ASYNC110 -- not every system tells a loop of an end
            await asyncio.sleep(0.002)
        return code

    async def _reader(self, pipe: IO[bytes] | None) -> asyncio.StreamReader:
        reader = asyncio.StreamReader()
        connecting = asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
        self._transports.append((await connecting)[0])
        return reader

    def _take(self, message: object) -> None:
        if isinstance(message, dict):
            self.told.append(cast("dict[str, Any]", message))

    async def _next(self) -> object:
        line = await self._out.readline()
        if not line:
            errors = (await self._err.read()).decode(errors="replace")[-800:]
            raise BrokenRuleError(self._name, expected="that it goes on", found=f"it ended: {errors}")
        message: Any = json.loads(line)
        if "error" in message:
            raise BrokenRuleError(self._name, expected="no error", found=f"{message['error']}: {message['text']}")
        return message

    def _write(self, message: object) -> None:
        assert self._process.stdin is not None  # noqa: S101 -- it was piped
        with suppress(BrokenPipeError):  # reading tells why it ended
            self._process.stdin.write(json.dumps(message).encode() + b"\n")


@asynccontextmanager
async def workers(
    kit: Kit, job: str, arguments: list[dict[str, Any]], *, leave: str = "close"
) -> AsyncGenerator[list[Worker]]:
    """Processes that have the target open and wait for `go`, one for each set of arguments."""
    async with AsyncExitStack() as stack:
        started: list[Worker] = []
        for number in range(1, len(arguments) + 1):
            worker = Worker(take(), f"worker {number} ({job})")
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
        for worker in started:
            worker.go()
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
