"""Many processes at once: every turn is there, once, and each process's own turns are in its order."""

from __future__ import annotations

import asyncio
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from zidane_core.opening import StoreURL
from zidane_store_redis import RedisOptions, RedisStore

from .histories import header
from .servers import Cluster

PROCESSES, APPENDS = 8, 200
APPENDER = Path(__file__).with_name("appender.py")


async def run_appender(url: str, prefix: str, name: str, sessions: int) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(APPENDER), url, prefix, name, str(APPENDS), str(sessions), stderr=asyncio.subprocess.PIPE
    )
    _, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()


async def check_processes(url: str, prefix: str, sessions: int) -> None:
    names = [f"p{number}" for number in range(PROCESSES)]
    async with RedisStore(StoreURL(url), RedisOptions(prefix=prefix)) as store:
        for number in range(sessions):
            await store.append_turns(f"s{number}", [], create=header())
        await asyncio.gather(*(run_appender(url, prefix, name, sessions) for name in names))
        found: dict[str, list[int]] = defaultdict(list)
        for number in range(sessions):
            numbers: dict[str, list[int]] = defaultdict(list)
            for turn in await store.get_turns(f"s{number}"):
                name, _, at = turn.id.partition("-")
                numbers[name].append(int(at))
            for name, own in numbers.items():
                assert own == sorted(own)
                found[name] += own
        assert {name: sorted(own) for name, own in found.items()} == {name: list(range(APPENDS)) for name in names}
        rows = (await store.list_meta()).items
        assert sum(row.turn_count for row in rows) == PROCESSES * APPENDS
        assert len(rows) == sessions


@pytest.mark.parametrize("sessions", [1, pytest.param(200, marks=pytest.mark.thorough)])
async def test_eight_processes_append_two_hundred_times_each_to_one_server(
    server_url: str, prefix: str, sessions: int
) -> None:
    """To one session, and to two hundred."""
    await check_processes(server_url, prefix, sessions)


@pytest.mark.parametrize("sessions", [pytest.param(1, marks=pytest.mark.thorough), 200])
async def test_eight_processes_append_two_hundred_times_each_to_a_cluster(
    cluster: Cluster, prefix: str, sessions: int
) -> None:
    """To one session, and to two hundred."""
    await check_processes(cluster.url, prefix, sessions)
