"""`RedisStore`: sessions on one Redis or Valkey server, behind Sentinel, or in a cluster."""

from __future__ import annotations

from typing import Final, Literal

from zidane_core.errors import SchemaTooNewError, StoreError, StoreUnavailableError
from zidane_core.opening import StoreURL
from zidane_core.store import Capabilities, Health, full_capabilities

from . import _scripts as scripts
from ._calls import Calls
from ._clients import server_of
from ._collections import CollectionParts
from ._examination import durability, examined, refuse_eviction
from ._keys import Keys
from .options import RedisOptions

LAYOUT_FORMAT = 1
"""Of the keys and what is in them."""

_SHARDS_ALONE, _SHARDS_IN_A_CLUSTER = 1, 64
_NO_OPTIONS = RedisOptions()


def redis_capabilities(durable: Literal["no", "process", "power"] = "process") -> Capabilities:
    """Everything; how durable it is, the server's configuration decides."""
    return full_capabilities(
        durable=durable,
        shared="network",
    )


REDIS_CAPABILITIES: Final = redis_capabilities()


class ShardsMismatchError(StoreError):
    """The store was made with another number of shards, which decides where each session lies."""

    def __init__(self, prefix: str, *, given: int, stored: int) -> None:
        super().__init__(f"the store {prefix!r} was made with shards={stored}, and cannot be opened with {given}")
        self.prefix, self.given, self.stored = prefix, given, stored


class RedisStore(CollectionParts):
    """Sessions in Redis: every capability of the contract, one Lua script and one round trip for a write.

    Works under asyncio, in the event loop that it is opened in. Use `open_store("redis://...")`, or hand in a client:
    `RedisStore(options=RedisOptions(client=client))`.
    """

    def __init__(self, url: StoreURL | str | None = None, options: RedisOptions = _NO_OPTIONS) -> None:
        super().__init__(f"redis store {options.prefix!r}")
        self._url = StoreURL(url) if isinstance(url, str) else url
        self._options = options
        self._capabilities = REDIS_CAPABILITIES

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    async def _open(self) -> None:
        options = self._options
        server = server_of(self._url, options)
        try:
            calls = Calls(
                self._name,
                server,
                at_once=options.pool_size,
                retry_for=options.retry_for,
                ttl_ms=None if options.ttl is None else max(1, round(options.ttl * 1000)),
                wait_replicas=options.wait_replicas,
                wait_timeout_ms=max(1, round(options.wait_timeout * 1000)),
            )
            if not options.allow_eviction:
                await refuse_eviction(calls, expires=options.ttl is not None)
            self._keys = await self._checked_keys(calls, is_cluster=server.is_cluster)
            self._capabilities = redis_capabilities(await durability(calls))
        except BaseException:
            await server.aclose()
            raise
        self._calls = calls

    async def _checked_keys(self, calls: Calls, *, is_cluster: bool) -> Keys:
        """The names of the keys, as the store is laid out already or from now on."""
        prefix, wanted = self._options.prefix, self._options.shards
        default = _SHARDS_IN_A_CLUSTER if is_cluster else _SHARDS_ALONE
        layout = Keys(prefix, 1).layout
        stored_format, stored_shards = map(
            int, await calls.read(scripts.OPEN_STORE, (layout,), LAYOUT_FORMAT, wanted or default)
        )
        if stored_format > LAYOUT_FORMAT:
            raise SchemaTooNewError(f"the store {prefix!r}", found=stored_format, supported=LAYOUT_FORMAT)
        if wanted is not None and wanted != stored_shards:
            raise ShardsMismatchError(prefix, given=wanted, stored=stored_shards)
        return Keys(prefix, stored_shards)

    async def _close(self) -> None:
        await self._calls.aclose()

    async def _health(self) -> Health:
        """What the servers keep on disk, their roles and replicas. `ok`: a primary answers, and nothing was evicted."""
        try:
            version, name = await self._calls.version()
            details = await examined(self._calls)
        except StoreUnavailableError as error:
            return Health(ok=False, backend="redis", details={"reason": error.reason})
        details |= {"shards": self._keys.shards, "prefix": self._options.prefix}
        healthy = details["role"] == ["master"] and not details["evicted_keys"] and details["last_snapshot_ok"]
        return Health(ok=healthy, backend=name, version=version, details=details)
