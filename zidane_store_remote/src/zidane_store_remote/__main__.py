"""`python -m zidane_store_remote URL`: serve the store that a URL names."""

from __future__ import annotations

import argparse
import asyncio
import ipaddress
import signal
import socket
import sys
from pathlib import Path

import uvicorn

from zidane_core.errors import ZidaneError
from zidane_core.opening import StoreURL, open_store

from .server import create_app, read_token_file
from .server.app import MAX_BODY_BYTES, MAX_CONCURRENT, MAX_PAGE, READ_TIMEOUT_SECONDS

KEEP_ALIVE_SECONDS = 30
"""An idle connection's life: far longer than that of our clients, so that they are the ones who close it."""


class _Server(uvicorn.Server):
    """Says where it listens, once it does."""

    def __init__(self, config: uvicorn.Config, served: str) -> None:
        super().__init__(config)
        self._served = served

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        for each in (each for server in getattr(self, "servers", ()) for each in server.sockets):
            host, port = each.getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            sys.stdout.write(f"serving {self._served} at http://{shown}:{port}\n")
        sys.stdout.flush()


async def serve(arguments: argparse.Namespace) -> None:
    """Serve until a signal asks to stop; then finish what was begun, and close the store."""
    tokens = None if arguments.token_file is None else read_token_file(arguments.token_file)
    async with open_store(arguments.url) as store:
        app = create_app(
            store,
            tokens=tokens,
            max_body_bytes=arguments.max_body_bytes,
            max_page=arguments.max_page,
            max_concurrent=arguments.max_concurrent,
            read_timeout=arguments.read_timeout,
        )
        config = uvicorn.Config(
            app,
            host=arguments.host,
            port=arguments.port,
            log_level=arguments.log_level,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=arguments.grace,
            server_header=False,
        )
        for each in (signal.SIGINT, signal.SIGTERM):  # uvicorn raises them again when it is done, before we are
            signal.signal(each, _nothing_more)
        await _Server(config, str(StoreURL(arguments.url))).serve()


def _nothing_more(number: int, frame: object) -> None:
    """The signal has been obeyed."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m zidane_store_remote", description=__doc__)
    parser.add_argument("url", metavar="URL", help="the store to serve, as open_store takes it")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8750, help="0 takes a free one")
    parser.add_argument("--token-file", type=Path, help="a line for each token: SECRET [expires=] [scope=] [read-only]")
    parser.add_argument("--max-body-bytes", type=int, default=MAX_BODY_BYTES)
    parser.add_argument("--max-page", type=int, default=MAX_PAGE)
    parser.add_argument("--max-concurrent", type=int, default=MAX_CONCURRENT)
    parser.add_argument("--read-timeout", type=float, default=READ_TIMEOUT_SECONDS, metavar="SECONDS")
    parser.add_argument("--grace", type=int, default=30, metavar="SECONDS", help="for requests begun, when stopping")
    parser.add_argument("--log-level", default="warning")
    return parser


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def main() -> None:
    parser = _parser()
    arguments = parser.parse_args()
    if arguments.token_file is None and not _is_loopback(arguments.host):
        parser.error("--host is not this machine alone, so --token-file is required: anyone could read the sessions")
    try:
        asyncio.run(serve(arguments))
    except (ZidaneError, OSError, ValueError) as error:
        parser.exit(1, f"{parser.prog}: {error}\n")


if __name__ == "__main__":
    main()
