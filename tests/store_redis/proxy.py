"""A proxy between client and server that does to replies what networks do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Literal

Fault = Literal["none", "drop", "half", "refuse", "swallow"] | bytes
"""drop: executed, the reply is lost with the connection. half: the same after half of the reply. refuse: lost before
the server got it. swallow: executed, and never answered. bytes: answered with this, not executed."""


class Proxy:
    """Counts the calls of scripts, and asks `plan` what happens to each."""

    def __init__(self, host: str, port: int) -> None:
        self._server_address = (host, port)
        self.plan: Callable[[int], Fault] = lambda _: "none"
        self.calls = 0
        self.port = 0
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        upstream_reader, upstream = await asyncio.open_connection(*self._server_address)
        try:
            while request := await reader.read(1 << 20):
                fault: Fault = "none"
                if b"EVAL" in request[:40]:
                    self.calls += 1
                    fault = self.plan(self.calls)
                if not await self._pass(request, fault, upstream_reader, upstream, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self._tasks.discard(task)
            for each in (writer, upstream):
                each.close()
                with suppress(ConnectionError):
                    await each.wait_closed()

    async def _pass(
        self,
        request: bytes,
        fault: Fault,
        upstream_reader: asyncio.StreamReader,
        upstream: asyncio.StreamWriter,
        writer: asyncio.StreamWriter,
    ) -> bool:
        """Pass one request on, and its reply back. Whether the connection goes on."""
        if fault == "refuse":
            return False
        if isinstance(fault, bytes):
            writer.write(fault)
            return True
        upstream.write(request)
        reply = await upstream_reader.read(1 << 20)
        if fault == "drop":
            return False
        if fault == "half":
            writer.write(reply[: max(1, len(reply) // 2)])
            await writer.drain()
            return False
        if fault != "swallow":
            writer.write(reply)
            await writer.drain()
        return True

    async def stop(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@asynccontextmanager
async def proxied(port: int) -> AsyncIterator[Proxy]:
    """A proxy in front of the server at a port of this machine."""
    proxy = Proxy("127.0.0.1", port)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        await proxy.stop()
        await server.wait_closed()
