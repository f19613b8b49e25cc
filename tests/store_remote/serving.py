"""Servers for these tests, on real sockets: an app in a thread of this process, or a store in a process of its own."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

import uvicorn


class _Ready(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets=sockets)
        self.ready.set()


@contextmanager
def served(app: Callable[..., Any], port: int = 0) -> Iterator[str]:
    """The URL at which an ASGI app is served from a thread."""
    config = uvicorn.Config(app, port=port, log_level="error", lifespan="on", timeout_graceful_shutdown=5)
    server = _Ready(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    assert server.ready.wait(20), "the server did not start"
    host, bound = server.servers[0].sockets[0].getsockname()[:2]
    try:
        yield f"http://{host}:{bound}"
    finally:
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive(), "the server did not stop"


class ServerProcess:
    """`python -m zidane_store_remote` in a process of its own, which can be killed and started again at its port."""

    def __init__(self, store_url: str, *options: str) -> None:
        self._store_url, self._options = store_url, options
        self._process: subprocess.Popen[str] | None = None
        self.url = ""

    def start(self) -> str:
        port = self.url.rpartition(":")[2] or "0"
        command = [sys.executable, "-m", "zidane_store_remote", self._store_url, "--port", port, *self._options]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        said = self._process.stdout.readline()
        assert said, f"the server did not start: {self._process.wait()}"
        self.url = said.split(" at ")[1].strip()
        return self.url

    def kill(self) -> None:
        """SIGKILL: nothing is finished, nothing closed."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """SIGTERM, and its exit status."""
        return self._end(signal.SIGTERM)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def send_signal(self, number: int) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def wait(self) -> int:
        assert self._process is not None
        return self._process.wait(30)

    def _end(self, number: int) -> int:
        process, self._process = self._process, None
        if process is None:
            return 0
        process.send_signal(number)
        status = process.wait(30)
        assert process.stdout is not None
        process.stdout.close()
        return status

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


def until(condition: Callable[[], bool], seconds: float = 20) -> None:
    """Wait for something that another thread or process does."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.005)
