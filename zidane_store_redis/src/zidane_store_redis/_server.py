"""One server or a cluster behind a redis-py client: running scripts on the connection that serves a key."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, cast

from redis.asyncio import Redis, RedisCluster
from redis.asyncio.sentinel import Sentinel
from redis.exceptions import MovedError, NoScriptError

from ._scripts import Script

Argument = bytes | int | str
Reply = Any

Client = Redis | RedisCluster


class Server:
    """A client of one server."""

    is_cluster = False

    def __init__(self, client: Client, *, owns: bool = True) -> None:
        self.client = client
        self._owns = owns

    async def run(self, script: Script, keys: Sequence[bytes], *arguments: Argument) -> Reply:
        """What the script answers. A server that does not know it (new, restarted, flushed) gets its text."""
        try:
            return await self.call("EVALSHA", script.sha, len(keys), *keys, *arguments)
        except NoScriptError:
            return await self.call("EVAL", script.text, len(keys), *keys, *arguments)

    async def run_and_wait(
        self, script: Script, keys: Sequence[bytes], *arguments: Argument, replicas: int, timeout_ms: int
    ) -> tuple[Reply, int]:
        """What the script answers, and how many replicas have it: WAIT speaks for the connection that it comes on."""
        try:
            call = ("EVALSHA", script.sha, len(keys), *keys, *arguments)
            return await self._call_and_wait(keys[0], call, replicas, timeout_ms)
        except NoScriptError:
            call = ("EVAL", script.text, len(keys), *keys, *arguments)
            return await self._call_and_wait(keys[0], call, replicas, timeout_ms)

    async def call(self, *command: Argument) -> Reply:
        return await cast("Any", self.client).execute_command(*command)

    async def forget_connections(self) -> None:
        """Make the next call connect anew: behind the same name there may be another server now."""
        await cast("Redis", self.client).connection_pool.disconnect(inuse_connections=False)

    async def facts(self, section: str) -> list[dict[str, Any]]:
        """A section of INFO, of every primary."""
        return [cast("dict[str, Any]", await self.call("INFO", section))]

    async def config(self, name: str) -> str:
        """One setting."""
        found: dict[Any, Any] | list[Any] = await self.call("CONFIG GET", name)
        value = (list(found.values()) if isinstance(found, dict) else found)[-1]
        return value.decode() if isinstance(value, bytes) else str(value)

    async def aclose(self) -> None:
        """Close what was made here, not a client that was handed in."""
        if self._owns:
            await to_its_end(self.client.aclose())

    async def _call_and_wait(
        self, key: bytes, call: tuple[Argument, ...], replicas: int, timeout_ms: int
    ) -> tuple[Reply, int]:
        pipeline = cast("Any", self.client).pipeline(transaction=False)
        async with pipeline:
            pipeline.execute_command(*call)
            pipeline.execute_command("WAIT", replicas, timeout_ms)
            reply, confirmed = await pipeline.execute(raise_on_error=False)
        return _unless_failed(reply), _unless_failed(confirmed)


class SentinelServer(Server):
    """A primary that sentinels name; every new connection asks them."""

    def __init__(self, client: Client, sentinel: Sentinel) -> None:
        super().__init__(client)
        self._sentinel = sentinel

    async def aclose(self) -> None:
        try:
            await super().aclose()
        finally:
            for watcher in self._sentinel.sentinels:
                await to_its_end(watcher.aclose())


class ClusterServer(Server):
    """A cluster: redis-py follows MOVED and ASK, which say that nothing was executed."""

    is_cluster = True

    async def forget_connections(self) -> None:
        """Read the cluster's layout anew. Connections stay: calls of others are under way on them."""
        await cast("RedisCluster", self.client).nodes_manager.initialize()

    async def aclose(self) -> None:
        """Close all nodes: redis-py closes none of a client that was cancelled before it knew the cluster."""
        await super().aclose()
        if self._owns:
            nodes = cast("RedisCluster", self.client).nodes_manager
            await to_its_end(nodes.aclose())
            await to_its_end(nodes.aclose("startup_nodes"))

    async def facts(self, section: str) -> list[dict[str, Any]]:
        cluster = cast("Any", self.client)
        found: Any = await cluster.execute_command("INFO", section, target_nodes=RedisCluster.PRIMARIES)
        return list(found.values()) if all(isinstance(value, dict) for value in found.values()) else [found]

    async def _call_and_wait(
        self, key: bytes, call: tuple[Argument, ...], replicas: int, timeout_ms: int
    ) -> tuple[Reply, int]:
        cluster = cast("Any", self.client)
        await cluster.initialize()
        node = cluster.get_node_from_key(key)
        pipeline = cluster.pipeline()
        pipeline.execute_command(*call, target_nodes=node)
        pipeline.execute_command("WAIT", replicas, timeout_ms, target_nodes=node)
        reply, confirmed = await pipeline.execute(raise_on_error=False, allow_redirections=False)
        if isinstance(reply, MovedError):
            await cluster.nodes_manager.move_slot(reply)
        return _unless_failed(reply), _unless_failed(confirmed)


async def to_its_end(closing: Coroutine[Any, Any, None]) -> None:
    """Run it to its end, however often the caller is cancelled meanwhile; a cancellation is raised then."""
    task = asyncio.ensure_future(closing)
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            cancelled = True
    task.result()
    if cancelled:
        raise asyncio.CancelledError


def _unless_failed(reply: Reply) -> Reply:
    if isinstance(reply, Exception):
        raise reply
    return reply
