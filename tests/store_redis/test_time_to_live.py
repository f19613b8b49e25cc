"""`ttl`: a session lives and dies as a whole, and no listing shows what is gone."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

from zidane_core.opening import Seconds, StoreURL
from zidane_core.records import Schedule, SessionArtifact, SessionRun
from zidane_core.store import Guard, SessionFilter
from zidane_store_redis import RedisOptions, RedisStore

from .histories import header, turn

HOUR_MS = 3_600_000


@pytest.fixture
async def mortal(server_url: str, prefix: str) -> AsyncIterator[RedisStore]:
    async with RedisStore(StoreURL(server_url), RedisOptions(prefix=prefix, ttl=Seconds(3600))) as store:
        yield store


@pytest.fixture
async def raw(server_url: str) -> AsyncIterator[Redis]:
    async with Redis.from_url(server_url) as client:
        yield client


def artifact(session_id: str) -> SessionArtifact:
    return SessionArtifact(
        id="a", session_id=session_id, kind="file", uri="u", label="l", created_at=1, updated_at=1
    )  # fmt: skip


async def lives(raw: Redis, store: RedisStore, session_id: str) -> set[int]:
    """When the keys of a session expire; -1 is never."""
    names = store._keys_of(session_id)[:9]
    found = {int(await raw.pexpiretime(name)) for name in names} - {-2}
    return {each // 1000 for each in found} if found != {-1} else found


async def expire_now(raw: Redis, store: RedisStore, session_id: str) -> None:
    """Let a session's time be over, as the server itself would at that moment."""
    names = store._keys_of(session_id)
    for name in names[:9]:
        await raw.pexpireat(name, 1)
    await raw.zadd(names.expiry, {session_id: 1})


async def test_every_write_lets_all_keys_expire_together(mortal: RedisStore, raw: Redis) -> None:
    """After each of them, one time for all keys, an hour from then."""
    run = SessionRun(id="r", status="running", prompt="p", started_at=1)
    await mortal.append_turns("s", [turn("a"), turn("b")], create=header(metadata={"k": 1}))
    fence = (await mortal.claim_run("s")).epoch
    held = Guard(fence=fence)
    writes = [
        lambda: mortal.append_turns("s", [turn("c")], run=run, guard=held),
        lambda: mortal.append_turns("s", [turn("c")]),
        lambda: mortal.patch_meta("s", {"k": 2}),
        lambda: mortal.update_run("s", run, guard=held),
        lambda: mortal.renew_run("s", fence=fence),
        lambda: mortal.claim_send_request("s", "q", "f"),
        lambda: mortal.settle_send_request("s", "q", {"ok": True}),
        lambda: mortal.upsert_artifact(artifact("s")),
        lambda: mortal.delete_artifact("s", "a"),
        lambda: mortal.truncate("s", "b"),
        lambda: mortal.update_status("s", "idle", guard=held),
    ]
    for write in writes:
        names = mortal._keys_of("s")
        for name in names[:9]:
            await raw.persist(name)
        await write()
        assert len(await lives(raw, mortal, "s")) == 1
        left = await raw.pttl(names.head)
        assert HOUR_MS - 60_000 < left <= HOUR_MS


async def test_a_pinned_session_has_no_time_to_live(mortal: RedisStore, raw: Redis) -> None:
    """Pinning takes it away, unpinning gives it back; `pinned` has to be true, not just there."""
    await mortal.append_turns("s", [turn("a")], create=header(metadata={"pinned": True}))
    assert await lives(raw, mortal, "s") == {-1}
    await mortal.patch_meta("s", {"pinned": "true"})
    assert await lives(raw, mortal, "s") != {-1}
    await mortal.patch_meta("s", {"pinned": True})
    assert await lives(raw, mortal, "s") == {-1}


async def test_no_listing_shows_what_has_expired(mortal: RedisStore, raw: Redis) -> None:
    """Neither lists nor rows nor artifacts; the others are untouched."""
    for name in ("gone", "kept"):
        await mortal.append_turns(name, [turn("a")], create=header(project_root="/p"))
        await mortal.upsert_artifact(artifact(name))
    await expire_now(raw, mortal, "gone")
    assert await mortal.load("gone") is None
    assert await mortal.get_meta("gone") is None
    here = SessionFilter(project_root="/p")
    assert await mortal.list_ids() == await mortal.list_ids(here) == ["kept"]
    assert [row.id for row in (await mortal.list_meta()).items] == ["kept"]
    assert [row.id for row in (await mortal.list_meta(here)).items] == ["kept"]
    assert [found.session_id for found in await mortal.list_artifacts()] == ["kept"]
    names = mortal._keys_of("gone")
    assert await raw.zcard(names.expiry) == 1
    assert await raw.hlen(names.places) == 1
    assert not [member for member in await raw.zrange(names.listing, 0, -1) if member.endswith(b"gone")]


async def test_a_session_made_again_after_it_expired_is_listed_once(mortal: RedisStore, raw: Redis) -> None:
    """Where the expired one stood in the index, nothing is left; its turns and answers are gone."""
    await mortal.append_turns("s", [turn("a")], create=header("one", project_root="/old"))
    await expire_now(raw, mortal, "s")
    written = await mortal.append_turns("s", [turn("b")], create=header("two", project_root="/new"))
    assert written.previous == 0
    assert [each.id for each in await mortal.get_turns("s")] == ["b"]
    assert [row.rev for row in (await mortal.list_meta()).items] == [written.rev]
    assert await mortal.list_ids(SessionFilter(project_root="/old")) == []
    assert await raw.zcard(mortal._keys_of("s").listing) == 4


async def test_writes_take_some_of_what_expired_out_of_the_index(mortal: RedisStore, raw: Redis) -> None:
    """An index that nobody lists does not grow for ever."""
    for number in range(15):
        await mortal.append_turns(f"gone{number}", [], create=header())
        await expire_now(raw, mortal, f"gone{number}")
    await mortal.append_turns("s", [], create=header())
    await mortal.append_turns("s", [turn("a")])
    assert await raw.zcard(mortal._keys_of("s").expiry) == 1


async def test_a_store_without_ttl_makes_what_it_writes_to_lasting(
    mortal: RedisStore, raw: Redis, server_url: str, prefix: str
) -> None:
    """The last writer's setting counts, for all keys."""
    await mortal.append_turns("s", [turn("a")], create=header())
    async with RedisStore(StoreURL(server_url), RedisOptions(prefix=prefix)) as lasting:
        await lasting.append_turns("s", [turn("b")])
        assert await lives(raw, lasting, "s") == {-1}
        assert await raw.zcard(lasting._keys_of("s").expiry) == 0


async def test_schedules_never_expire(mortal: RedisStore, raw: Redis) -> None:
    """They are no part of a session."""
    await mortal.save_schedule(
        Schedule(id="x", prompt="p", enabled=True, next_fire_at=1, created_at=1, updated_at=1)
    )  # fmt: skip
    assert await raw.ttl(mortal._keys.scope_of_schedules("").schedules) == -1
