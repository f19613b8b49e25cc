"""A proxy that misbehaves on request: one HTTP exchange a connection, each with the next fault of a list."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

FAULTS_AFTER = ("drop", "cut", "cut in the head", "stall", "502 after", "html after", "flip", "empty")
"""The server has done what it was asked; the client does not learn it."""

FAULTS_BEFORE = ("refuse", "garbage", "500", "502", "503", "429", "html 404", "bare 404", "bare 200")
"""The server never hears of it."""

_STATUS = {
    "500": b"500 Internal Server Error\r\n",
    "502": b"502 Bad Gateway\r\n",
    "502 after": b"502 Bad Gateway\r\n",
    "503": b"503 Service Unavailable\r\nretry-after: 0\r\n",
    "429": b"429 Too Many Requests\r\nretry-after: 0\r\n",
    "html 404": b"404 Not Found\r\ncontent-type: text/html\r\n",
    "html after": b"200 OK\r\ncontent-type: text/html\r\n",
    "401": b"401 Unauthorized\r\nwww-authenticate: Basic\r\n",
    "bare 404": b"404 Not Found\r\n",
    "bare 200": b"200 OK\r\n",
}


class FaultProxy:
    """Forwards to `upstream`; `faults` is eaten from its front, and without one an exchange goes through."""

    def __init__(self, upstream: str) -> None:
        parts = urlsplit(upstream)
        self._host, self._port = parts.hostname, parts.port
        self.faults: list[str] = []
        self.seen: list[str] = []
        self.url = ""

    def plan(self, faults: Iterable[str]) -> None:
        self.faults, self.seen = list(faults), []

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            request = await _read_request(reader)
            fault = self.faults.pop(0) if self.faults else "none"
            self.seen.append(fault)
            answer = b"" if fault in FAULTS_BEFORE or fault == "401" else await self._forward(request)
            await self._misbehave(fault, answer, writer)
        writer.close()

    async def _forward(self, request: bytes) -> bytes:
        reader, writer = await asyncio.open_connection(self._host, self._port)
        head, _, rest = request.partition(b"\r\n")
        writer.write(head + b"\r\nconnection: close\r\n" + rest)
        answer = await reader.read()
        writer.close()
        return answer

    async def _misbehave(self, fault: str, answer: bytes, writer: asyncio.StreamWriter) -> None:
        head_length = answer.find(b"\r\n\r\n") + 4
        match fault:
            case "none":
                writer.write(answer)
            case "cut":
                writer.write(answer[: head_length + (len(answer) - head_length) // 2])
            case "cut in the head":
                writer.write(answer[: head_length // 2])
            case "flip":
                writer.write(answer[:head_length] + b"!" * (len(answer) - head_length))
            case "empty":
                writer.write(answer.partition(b"\r\n")[0] + b"\r\ncontent-length: 0\r\n\r\n")
            case "stall":
                await asyncio.sleep(20)  # longer than any client here waits; it is cancelled with the proxy
            case "garbage":
                writer.write(random.Random(7).randbytes(300))
            case "drop" | "refuse":
                pass
            case _:
                body = b"<html>no zidane here</html>" if "html" in fault else b""
                writer.write(b"HTTP/1.1 %bcontent-length: %d\r\n\r\n%b" % (_STATUS[fault], len(body), body))
        await writer.drain()


async def _read_request(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    lengths = [line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    return head + await reader.readexactly(int(lengths[0]) if lengths else 0)


@asynccontextmanager
async def faulty(upstream: str) -> AsyncIterator[FaultProxy]:
    proxy = FaultProxy(upstream)
    tasks: set[asyncio.Task[None]] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        with suppress(asyncio.CancelledError):
            await proxy.handle(reader, writer)
        writer.close()
        tasks.discard(task)

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    proxy.url = "http://{}:{}".format(*server.sockets[0].getsockname())
    try:
        yield proxy
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
