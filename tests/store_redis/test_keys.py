"""Names of keys: all of a session in one slot, and no two ids with a key in common."""

from __future__ import annotations

from itertools import combinations

import pytest
from redis.cluster import key_slot

from zidane_store_redis._keys import NO_PROJECT, Keys, place_of, shard_of, written

AWKWARD = [
    "a", "A", "a:turns", "a:turns:1", "{a}", "a}b", "}", "{", "*", "..", ".", " ", "  ", "a ", "~", "~YQ", "YQ", "~~",
    "a/b", "a\\b", "a%2Fb", "%", "s", "s:", ":s:", "index", "a:s:b", "b", "\n", "\u00fc", "u\u0308", "\U0001f600",
    "x" * 300, "x" * 512, "\U0001f600" * 512, "[a-z]", "'; drop", "con", "-", "_", "0", "00",
]  # fmt: skip


@pytest.mark.parametrize("scope", ["", "tenant", "a:b", "{x}"])
@pytest.mark.parametrize("shards", [1, 64])
def test_all_keys_that_a_script_gets_lie_in_one_slot(scope: str, shards: int) -> None:
    """Whatever characters the id, the scope and the schedule's id hold."""
    keys = Keys("zidane", shards)
    for session_id in AWKWARD:
        session, shared = keys.session(scope, session_id), keys.scope_of(scope, session_id)
        assert len({key_slot(key) for key in (*session, *shared)}) == 1
        schedules = keys.scope_of_schedules(scope)
        assert key_slot(keys.fires(scope, session_id)) == key_slot(schedules.schedules)


def test_no_two_ids_or_scopes_share_a_key() -> None:
    """Not even an id that looks like the written form of another, or like what stands behind an id."""
    keys = Keys("zidane", 1)
    own: dict[bytes, tuple[str, str]] = {}
    for scope in ("", "a", "b", "a:s:b", "~", "s"):
        for session_id in AWKWARD:
            session = keys.session(scope, session_id)
            for key in (*session[:9], keys.fires(scope, session_id)):
                assert own.setdefault(key, (scope, session_id)) == (scope, session_id)
        for key in keys.scope(scope, 0):
            assert own.setdefault(key, (scope, "")) == (scope, "")
    assert all(written(one) != written(other) for one, other in combinations(AWKWARD, 2))


def test_prefixes_keep_stores_apart() -> None:
    """A prefix that continues another has other keys."""
    one, other = Keys("z", 2), Keys("z:1", 2)
    assert not set(one.session("", "a")) & set(other.session("", "a"))
    assert one.layout != other.layout


def test_the_shard_of_an_id_never_changes() -> None:
    """Golden values: data is found by them."""
    golden = {"a": 3, "session-1": 46, "\u00fc": 21, "\U0001f600": 4, "x" * 512: 29}
    assert {text: shard_of(text, 64) for text in golden} == golden
    assert shard_of("anything", 1) == 0


def test_the_place_of_a_project_never_changes() -> None:
    """Golden values, as above; no project root is the beginning of another's place."""
    assert place_of(None) == NO_PROJECT == bytes(16)
    assert place_of("/a").hex() == "58213ce1d571d32b15ae8554b4e0a4dd"
    assert len({place_of(root) for root in ("/a", "/ab", "/a/b", "/a_b", "/a%b", "")}) == 6


def test_shards_are_evenly_filled() -> None:
    """No shard gets twice its part."""
    counts = [0] * 64
    for number in range(64_000):
        counts[shard_of(f"session-{number}", 64)] += 1
    assert max(counts) < 2_000
    assert min(counts) > 500
