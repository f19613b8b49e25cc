"""The remote store beside bare HTTP over loopback: `python benchmarks/remote.py`.

The limit of an append is a bare `AsyncClient.post` of the same bytes to a Starlette route that reads the body and
answers with as many bytes; that of a load, a bare GET of the same JSON text and one decoding of it. Servers run in
processes of their own, ours over a memory store, whose own work is part of what is measured. Last, the memory that the
server needs, besides the store's, while it sends a large history.
"""

from __future__ import annotations

import asyncio
import importlib
import itertools
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from _measure import Comparison, compare, report

from zidane_core import codec
from zidane_core.records import SessionData, SessionHeader, SessionTurn
from zidane_store_remote import RemoteStore

ROUNDS = 30
APPENDS = 40
HISTORY_TURNS = 3_000
LARGE_BYTES = 200 * 1024 * 1024

_numbers = itertools.count()


def turns_of_exchange() -> list[SessionTurn]:
    """A question and an answer: 1.3 kB of JSON."""
    number = next(_numbers)
    question = "Where does the build break? " * 15
    answer = [
        {"type": "text", "text": "I will look at the log. " * 20},
        {"type": "tool_call", "id": f"call-{number}", "name": "read", "input": {"path": "a/b.txt", "lines": 40}},
    ]
    return [
        SessionTurn(id=f"{number}-a", role="user", content=[{"type": "text", "text": question}], created_at=number),
        SessionTurn(id=f"{number}-b", role="assistant", content=answer, created_at=number, usage={"input": 1200}),
    ]


def bare_app() -> Any:
    """The bare server: it is what uvicorn imports from this module."""
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    kept = b""

    async def keep(request: Request) -> Response:
        nonlocal kept
        kept = await request.body()
        return Response(b'{"rev":12345,"previous":12344,"added":2}', media_type="application/json")

    async def give(_: Request) -> Response:
        return Response(kept, media_type="application/json")

    return Starlette(routes=[Route("/bare", keep, methods=["POST"]), Route("/bare", give)])


@contextmanager
def process(*command: str, said: str) -> Iterator[tuple[str, int]]:
    """A server's URL, which it says by itself, and its pid."""
    running = subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert running.stdout is not None
    try:
        for line in running.stdout:
            found = re.search(said, line)
            if found:
                yield found[1], running.pid
                break
    finally:
        running.terminate()
        running.wait()


@contextmanager
def servers() -> Iterator[tuple[str, str]]:
    folder = str(Path(__file__).parent)
    uvicorn = ("-m", "uvicorn", "--factory", "remote:bare_app", "--app-dir", folder, "--port", "0", "--no-access-log")
    with (
        process("-m", "zidane_store_remote", "memory://", "--port", "0", said=r"(http://\S+)") as (ours, _),
        process(*uvicorn, said=r"running on (http://\S+)") as (bare, _),
    ):
        yield ours, bare


async def compare_appends(library: str, ours: str, bare: str) -> Comparison:
    client_type = importlib.import_module(library).AsyncClient
    async with RemoteStore(ours, library=library) as store, client_type(trust_env=False) as client:  # type: ignore[arg-type] # one of the two
        await store.append_turns(library, [], create=SessionHeader(creation_id=library, created_at=1))

        async def append() -> None:
            for _ in range(APPENDS):
                await store.append_turns(library, turns_of_exchange())

        async def post() -> None:
            for _ in range(APPENDS):
                texts = b",".join(codec.json_of(codec.encode_own(each)) for each in turns_of_exchange())
                answer = await client.post(f"{bare}/bare", content=b'{"turns":[%b]}' % texts)
                msgspec.json.decode(answer.content)

        return await compare(append, post, units=APPENDS, rounds=ROUNDS)


async def compare_loads(library: str, ours: str, bare: str) -> Comparison:
    client_type = importlib.import_module(library).AsyncClient
    decode = msgspec.json.Decoder(SessionData).decode
    async with RemoteStore(ours, library=library) as store, client_type(trust_env=False) as client:  # type: ignore[arg-type] # one of the two
        name = f"long {library}"
        turns = [turn for _ in range(HISTORY_TURNS // 2) for turn in turns_of_exchange()]
        await store.append_turns(name, turns, create=SessionHeader(creation_id=name, created_at=1))
        session = await store.load(name)
        assert session is not None
        await client.post(f"{bare}/bare", content=codec.json_of(codec.encode(session)))

        async def load() -> None:
            assert await store.load(name) is not None

        async def get() -> None:
            answer = await client.get(f"{bare}/bare")
            assert len(decode(answer.content).turns) == HISTORY_TURNS

        return await compare(load, get, units=1, rounds=ROUNDS)


def memory_of(pid: int, what: str) -> int:
    """Bytes: `VmRSS`, resident now, or `VmHWM`, the most since it was reset."""
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    found = re.search(rf"{what}:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) * 1024


async def measure_memory() -> None:
    """Of the server, while it sends a history of 200 MB in either form."""
    httpx = importlib.import_module("httpx")
    command = ("-m", "zidane_store_remote", "memory://", "--port", "0")
    with process(*command, said=r"(http://\S+)") as (url, pid):
        async with RemoteStore(url, timeout=300) as store:
            turn = {"role": "user", "content": [{"type": "text", "text": "x" * 8_000}], "createdAt": 1}
            header = SessionHeader(creation_id="c", created_at=1)
            await store.append_turns("large", [], create=header)
            count = LARGE_BYTES // 8_080
            for first in range(0, count, 500):
                batch = [{**turn, "id": f"t{at}"} for at in range(first, min(first + 500, count))]
                await store.append_turns("large", [codec.from_json_object(SessionTurn, each) for each in batch])
        for form in ("application/x-ndjson", "application/json"):
            before = memory_of(pid, "VmRSS")
            Path(f"/proc/{pid}/clear_refs").write_text("5", "ascii")
            sent = 0
            async with httpx.AsyncClient(timeout=300, trust_env=False) as client:
                path = f"{url}/v1/sessions/~bGFyZ2U"
                async with client.stream(
                    "GET", path, headers={"accept": form, "accept-encoding": "identity"}
                ) as answer:
                    async for piece in answer.aiter_raw():
                        sent += len(piece)
            more = memory_of(pid, "VmHWM") - before
            print(
                f"sending {sent / 1e6:.0f} MB as {form:<22} the server held {before / 1e6:.0f} MB, "
                f"and {more / 1e6:.0f} MB more at its peak ({more / sent:.2f} of the history)"
            )


async def main() -> bool:
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    holds = True
    with servers() as (ours, bare):
        for library in ("httpx2", "httpx"):
            appends = await compare_appends(library, ours, bare)
            holds &= report(f"{library}: append of 2 turns beside a bare POST", appends, 2.0)
            loads = await compare_loads(library, ours, bare)
            holds &= report(f"{library}: load of {HISTORY_TURNS} turns beside a bare GET", loads, 2.0)
    await measure_memory()
    return holds


if __name__ == "__main__":
    sys.exit(0 if asyncio.run(main()) else 1)
