"""What servers say of themselves: whether they keep what they are given."""

from __future__ import annotations

from typing import Any, Literal

from zidane_core.errors import StoreError, ZidaneError

from ._calls import Calls


class EvictionError(StoreError):
    """The server may throw sessions away when its memory is full."""

    def __init__(self, policy: str) -> None:
        super().__init__(
            f"the server's maxmemory-policy is {policy}: it may evict sessions, or parts of them, without a word. "
            "Set it to noeviction, or accept that with allow_eviction=true"
        )
        self.policy = policy


async def refuse_eviction(calls: Calls, *, expires: bool) -> None:
    """Return where no session can be evicted. `expires`: the store's keys have a time to live.

    Raises:
        EvictionError: the policy of a server lets it.
    """
    for facts in await calls.facts("memory"):
        policy = str(facts.get("maxmemory_policy", "noeviction"))
        if policy.startswith("allkeys") or (policy.startswith("volatile") and expires):
            raise EvictionError(policy)


async def durability(calls: Calls) -> Literal["no", "process", "power"]:
    """What an acknowledged write survives: nothing where no server log is kept, the server's death, a power cut."""
    persistence = await calls.facts("persistence")
    if not all(facts.get("aof_enabled") for facts in persistence):
        return "no"
    return "power" if await _synced(calls) == "always" else "process"


async def examined(calls: Calls) -> dict[str, Any]:
    """The facts of `health()`."""
    persistence, memory = await calls.facts("persistence"), await calls.facts("memory")
    replication, stats = await calls.facts("replication"), await calls.facts("stats")
    return {
        "primaries": len(persistence),
        "append_only_file": all(facts.get("aof_enabled") for facts in persistence),
        "append_only_sync": await _synced(calls),
        "snapshot_at": min(int(facts.get("rdb_last_save_time", 0)) for facts in persistence),
        "last_snapshot_ok": all(facts.get("rdb_last_bgsave_status", "ok") == "ok" for facts in persistence),
        "eviction_policy": sorted({str(facts.get("maxmemory_policy", "")) for facts in memory}),
        "evicted_keys": sum(int(facts.get("evicted_keys", 0)) for facts in stats),
        "used_memory": sum(int(facts.get("used_memory", 0)) for facts in memory),
        "role": sorted({str(facts.get("role", "")) for facts in replication}),
        "replicas": [int(facts.get("connected_slaves", 0)) for facts in replication],
    }


async def _synced(calls: Calls) -> str:
    """How the log is synced; "unknown" where CONFIG is not for us."""
    try:
        found: Any = await calls.config("appendfsync")
    except ZidaneError:
        return "unknown"
    return str(found)
