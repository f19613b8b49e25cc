"""A process that appends: `python appender.py URL PREFIX NAME COUNT SESSIONS`. Prints nothing; its exit code tells."""

from __future__ import annotations

import asyncio
import sys

from zidane_core.opening import StoreURL
from zidane_core.records import SessionTurn
from zidane_store_redis import RedisOptions, RedisStore


async def append(url: str, prefix: str, name: str, count: int, sessions: int) -> None:
    async with RedisStore(StoreURL(url), RedisOptions(prefix=prefix)) as store:
        for number in range(count):
            content = [{"type": "text", "text": f"{name} says {number}"}]
            turn = SessionTurn(id=f"{name}-{number}", role="user", content=content, created_at=1)
            written = await store.append_turns(f"s{number % sessions}", [turn])
            if written.added != 1:
                raise RuntimeError(f"{turn.id} was stored before")


if __name__ == "__main__":
    asyncio.run(append(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])))
