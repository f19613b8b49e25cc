"""From a URL and options to a client that leaves retrying to us."""

from __future__ import annotations

from typing import Any, cast

from redis.asyncio import Redis, RedisCluster
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel
from redis.backoff import NoBackoff
from redis.maint_notifications import MaintNotificationsConfig

from zidane_core.errors import StoreURLError
from zidane_core.opening import StoreURL

from ._server import Client, ClusterServer, SentinelServer, Server
from .options import RedisOptions

_PORT = 6379
_SENTINEL_PORT = 26379


def server_of(url: StoreURL | None, options: RedisOptions) -> Server:
    """The server that the URL names, behind a client that connects at its first call, or behind the one handed in."""
    if options.client is not None:
        return _handed_in(options.client)
    if url is None:
        raise StoreURLError("a Redis store needs a URL, or a client")
    kind = url.scheme.partition("+")[2]
    return _MAKERS[kind](url, options)


def _handed_in(client: Client) -> Server:
    if client.get_encoder().decode_responses:
        raise ValueError("the client has decode_responses=True, which would break what is not text: make one without")
    return (ClusterServer if isinstance(client, RedisCluster) else Server)(client, owns=False)


def _one(url: StoreURL, options: RedisOptions) -> Server:
    if len(url.hosts) > 1:
        raise StoreURLError(f"{url}: one server has one host; several are for {url.scheme}+cluster and +sentinel")
    client = Redis(
        host=url.host or "localhost", port=url.port or _PORT, db=_database(url, url.path[1:]), **_settings(url, options)
    )
    return Server(client)


def _unix(url: StoreURL, options: RedisOptions) -> Server:
    if url.hosts or not url.path:
        raise StoreURLError(f"{url}: a socket is named by its path, as in redis+unix:///run/redis/redis.sock")
    return Server(Redis(unix_socket_path=url.path, **_settings(url, options)))


def _cluster(url: StoreURL, options: RedisOptions) -> Server:
    if url.path not in ("", "/", "/0"):
        raise StoreURLError(f"{url}: a cluster has no databases but 0")
    nodes = [ClusterNode(host.name, host.port or _PORT) for host in url.hosts] or [ClusterNode("localhost", _PORT)]
    settings = _settings(url, options)
    return ClusterServer(RedisCluster(startup_nodes=nodes, **settings))


def _sentinel(url: StoreURL, options: RedisOptions) -> Server:
    service, _, database = url.path[1:].partition("/")
    if not service or not url.hosts:
        raise StoreURLError(f"{url}: name the sentinels and the service, as in redis+sentinel://host1,host2/mymaster")
    settings = _settings(url, options)
    watchers = {
        **settings,
        "username": options.sentinel_username,
        "password": options.sentinel_password,
        "socket_timeout": float(options.connect_timeout),
    }
    hosts = [(host.name, host.port or _SENTINEL_PORT) for host in url.hosts]
    sentinel = cast("Any", Sentinel)(hosts, sentinel_kwargs=watchers, db=_database(url, database), **settings)
    client: Redis = sentinel.master_for(service)
    return SentinelServer(client, sentinel)


_MAKERS = {"": _one, "unix": _unix, "cluster": _cluster, "sentinel": _sentinel}


def _settings(url: StoreURL, options: RedisOptions) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "username": options.username or url.username,
        "password": options.password or url.password,
        "socket_timeout": float(options.timeout),
        "socket_connect_timeout": float(options.connect_timeout),
        "max_connections": options.pool_size + 1,
        "protocol": options.protocol,
        "retry": Retry(NoBackoff(), 0),
        "maint_notifications_config": MaintNotificationsConfig(enabled=False),
    }
    if url.scheme.startswith("rediss"):
        settings |= {
            "ssl": True,
            "ssl_ca_certs": options.tls_ca_file,
            "ssl_certfile": options.tls_cert_file,
            "ssl_keyfile": options.tls_key_file,
            "ssl_check_hostname": options.tls_check_hostname,
        }
    return settings


def _database(url: StoreURL, text: str) -> int:
    if text and not (text.isascii() and text.isdigit()):
        raise StoreURLError(f"{url}: the path of a Redis URL is the number of a database")
    return int(text or 0)
