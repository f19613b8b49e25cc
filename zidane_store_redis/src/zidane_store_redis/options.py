"""The options of a Redis store: the names that stand in the URL's query, and keyword arguments of `open_store`."""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec
from redis.asyncio import Redis, RedisCluster

from zidane_core.opening import Seconds

_PREFIX = re.compile(r"[A-Za-z0-9_.:-]+")


class RedisOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to connect, and how the data lies. Durations are seconds, or texts such as `"500ms"` and `"30d"`."""

    prefix: str = "zidane"
    """What all keys begin with: several stores can share a server."""
    shards: int | None = None
    """Parts of the data, each in one slot of a cluster: 1 by default, 64 in a cluster. Fixed by the first opening."""
    ttl: Seconds | None = None
    """Sessions vanish when nobody wrote to them for this long, unless their metadata has `pinned: true`."""
    wait_replicas: int = 0
    """A write is acknowledged once so many replicas have it."""
    wait_timeout: Seconds = Seconds(1)
    """How long one try waits for them."""

    timeout: Seconds = Seconds(5)
    """For one answer of the server."""
    connect_timeout: Seconds = Seconds(2)
    retry_for: Seconds = Seconds(10)
    """How long a call is tried again; a failover takes some seconds."""
    pool_size: int = 32
    """Calls in flight at once, each on a connection of its own."""
    protocol: Literal[2, 3] = 3
    """RESP3 needs Redis 6."""

    username: str | None = None
    password: str | None = None
    sentinel_username: str | None = None
    sentinel_password: str | None = None
    tls_ca_file: str | None = None
    tls_cert_file: str | None = None
    tls_key_file: str | None = None
    tls_check_hostname: bool = True

    allow_eviction: bool = False
    """Open although the server may evict sessions when its memory is full."""
    client: Any = None
    """A `redis.asyncio` `Redis` or `RedisCluster` instead of one made from the URL. It is not closed, and may retry."""

    def __post_init__(self) -> None:
        if not _PREFIX.fullmatch(self.prefix):
            raise ValueError("a prefix is made of letters, digits and _ . : -")
        if self.shards is not None and not 1 <= self.shards <= 16_384:
            raise ValueError("shards is a number from 1 to 16384")
        if self.wait_replicas < 0 or self.pool_size < 1:
            raise ValueError("wait_replicas is at least 0, pool_size at least 1")
        if self.client is not None and not isinstance(self.client, (Redis, RedisCluster)):
            raise ValueError("the client is a redis.asyncio Redis or RedisCluster")
        if self.ttl is not None and self.ttl < 0.001:
            raise ValueError("a ttl is at least a millisecond")
