"""Every method, in any order, answers as the memory store does."""

from __future__ import annotations

import random
from typing import Any
from uuid import uuid4

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from zidane_core.codec import to_json_object
from zidane_core.errors import ZidaneError
from zidane_core.memory import MemoryStore
from zidane_core.opening import Seconds, StoreURL
from zidane_core.records import (
    Record,
    RunOwner,
    Schedule,
    ScheduleFire,
    SessionArtifact,
    SessionData,
    SessionHeader,
    SessionHistory,
    SessionRun,
    SessionTurn,
)
from zidane_core.store import ArtifactFilter, Guard, Page, RunClaim, SessionFilter
from zidane_store_redis import RedisOptions, RedisStore

IDS = ["plain", "a:b{c}", "~ü*\U0001f600"]
PRESENT = range(1_600_000_000_000, 3_000_000_000_000)


class Calls:
    """Random calls with arguments from small sets, so that they meet."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.revisions = [0, 1]
        self.epochs = [1]
        self.repeatable: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []

    def next(self) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
        if self.repeatable and self.random.random() < 0.1:
            return self.pick(self.repeatable)
        name = self.pick([name for name in dir(self) if name.startswith("call_")])
        method, arguments, keywords = getattr(self, name)()
        if "guard" in keywords and keywords["guard"].op_id is not None:
            self.repeatable.append((method, arguments, keywords))
        return method, arguments, keywords

    def pick(self, values: Any) -> Any:
        return self.random.choice(list(values))

    def sometimes(self, value: Any, chance: float = 0.3) -> Any:
        return value if self.random.random() < chance else None

    def learn(self, answer: Any) -> None:
        for name, known in (("rev", self.revisions), ("epoch", self.epochs)):
            value = getattr(answer, name, None)
            if isinstance(value, int):
                known.append(value)

    # -- values -------------------------------------------------------------------------------

    def session_id(self) -> str:
        return self.pick(IDS)

    def guard(self) -> Guard:
        return Guard(
            fence=self.sometimes(self.pick(self.epochs[-3:]), 0.25),
            expected_rev=self.sometimes(self.pick([0, *self.revisions[-3:]]), 0.15),
            op_id=self.sometimes(self.pick(["op1", uuid4().hex, uuid4().hex, uuid4().hex]), 0.3),
        )

    def header(self) -> SessionHeader:
        return SessionHeader(
            creation_id=self.pick(["c1", "c1", "c1", "c2"]),
            created_at=7,
            agent_id=self.pick([None, "agent"]),
            project_root=self.pick([None, "/a", "/a/b"]),
            metadata=self.metadata(),
            extra=self.pick([{}, {}, {"later": 1}]),
        )

    def metadata(self) -> dict[str, Any]:
        keys = self.random.sample(["title", "k\x00", "\ud83d", "list", "pinned", ""], self.random.randrange(4))
        return {key: self.pick(["x", None, [], {"a": 2**70}, "\udc00", 1.5, False]) for key in keys}

    def patch(self) -> dict[str, Any]:
        return {key: self.pick([UNSET, value]) for key, value in self.metadata().items()}

    def turn(self) -> SessionTurn:
        return SessionTurn(
            id=f"t{self.random.randrange(9)}",
            role=self.pick(["user", "assistant"]) if self.random.random() < 0.1 else "user",
            content=[{"type": "text", "text": self.pick(["x", "x", "x", "x", "\ud83d other"])}],
            created_at=1,
        )

    def turns(self) -> list[SessionTurn]:
        return [self.turn() for _ in range(self.random.randrange(4))]

    def run(self) -> SessionRun:
        return SessionRun(
            id=self.pick(["r1", "r2", "r3"]), status=self.pick(["running", "completed"]), prompt="p", started_at=1
        )

    def owner(self) -> RunOwner:
        return RunOwner(host_id="h", pid=self.random.randrange(3), token="t")

    def snapshot(self) -> SessionData:
        return SessionData(
            id=self.session_id(),
            created_at=8,
            updated_at=self.pick([1000, -5, 10**15, 10**15 + 1, 10**20]),
            status=self.pick(["idle", "running", "completed", "error"]),
            turns=[replace(self.turn(), id=f"t{at}") for at in range(self.random.randrange(5))],
            runs=[self.run() for _ in range(self.random.randrange(3))],
            metadata=self.metadata(),
            agent_id=self.pick([None, "agent"]),
            project_root=self.pick([None, "/a"]),
            creation_id=self.pick(["c1", "c1", "c1", "c2"]),
            extra=self.pick([{}, {"later": 2}, {"more": 1}]),
        )

    def schedule(self) -> Schedule:
        return Schedule(
            id=self.pick(["s1", "s:2"]), prompt="p", enabled=self.pick([True, True, False]),
            next_fire_at=self.pick([None, 5, 6]), created_at=1, updated_at=2,
        )  # fmt: skip

    # -- calls --------------------------------------------------------------------------------

    def call_append(self) -> Any:
        keywords = {
            "create": self.sometimes(self.header(), 0.5),
            "run": self.sometimes(self.run(), 0.2),
            "metadata": self.sometimes(self.patch(), 0.2),
            "guard": self.guard(),
        }
        return "append_turns", (self.session_id(), self.turns()), keywords

    call_append_again = call_append

    def call_save(self) -> Any:
        return "save", (self.snapshot(),), {"create": self.pick([True, False]), "guard": self.guard()}

    def call_save_meta(self) -> Any:
        keys = self.sometimes(self.random.sample(["title", "list", "pinned"], 2), 0.5)
        return "save_meta", (self.snapshot(),), {"keys": keys, "guard": self.guard()}

    def call_patch_meta(self) -> Any:
        return "patch_meta", (self.session_id(), self.patch()), {"guard": self.guard()}

    def call_update_run(self) -> Any:
        return (
            "update_run",
            (self.session_id(), self.run()),
            {"create": self.sometimes(self.header()), "guard": self.guard()},
        )

    def call_update_status(self) -> Any:
        keywords = {
            "owner": self.sometimes(self.owner()),
            "touch": self.pick([True, False]),
            "create": self.sometimes(self.header()),
            "guard": self.guard(),
        }
        return "update_status", (self.session_id(), self.pick(["idle", "running", "completed"])), keywords

    def call_claim(self) -> Any:
        keywords = {
            "owner": self.sometimes(self.owner(), 0.7),
            "displaces": self.sometimes(self.pick([0, *self.epochs[-3:]]), 0.4),
            "create": self.sometimes(self.header()),
            "guard": self.guard(),
        }
        return "claim_run", (self.session_id(),), keywords

    def call_renew(self) -> Any:
        return "renew_run", (self.session_id(),), {"fence": self.pick(self.epochs[-3:])}

    def call_truncate(self) -> Any:
        return "truncate", (self.session_id(), f"t{self.random.randrange(9)}"), {"guard": self.guard()}

    def call_mutate(self) -> Any:
        changed = self.turns()
        runs = self.sometimes([self.run()], 0.4)
        how = self.pick(["none", "same", "drop", "add", "runs"])

        def mutate(history: SessionHistory) -> SessionHistory | None:
            if how == "none":
                return None
            turns = list(history.turns)
            if how == "drop":
                turns = turns[1:]
            elif how == "add":
                turns = [turn for turn in turns if turn.id not in {new.id for new in changed}] + changed
            return replace(history, turns=turns, runs=runs if how == "runs" and runs is not None else history.runs)

        return "mutate_history", (self.session_id(), mutate), {"guard": replace(self.guard(), op_id=None)}

    def call_delete(self) -> Any:
        if self.random.random() < 0.7:  # sessions are to grow old
            return self.call_load()
        return "delete", (self.session_id(),), {"guard": replace(self.guard(), op_id=None)}

    def call_send(self) -> Any:
        arguments = (self.session_id(), f"q{self.random.randrange(3)}", self.pick(["f1", "f2"]))
        keywords = {
            "owner": self.sometimes(self.owner()),
            "create": self.sometimes(self.header()),
            "guard": self.guard(),
        }
        return "claim_send_request", arguments, keywords

    def call_settle(self) -> Any:
        arguments = (self.session_id(), f"q{self.random.randrange(3)}", self.pick([None, {"a": []}, "\ud800"]))
        return "settle_send_request", arguments, {"guard": self.guard()}

    def call_find_send(self) -> Any:
        return "find_send_request", (self.session_id(), f"q{self.random.randrange(3)}"), {}

    def call_upsert_artifact(self) -> Any:
        session_id = self.session_id()
        number = self.random.randrange(4)
        artifact = SessionArtifact(
            id=f"{session_id}/a{number}", session_id=session_id, kind=self.pick(["file", "branch"]),
            uri=f"u{self.random.randrange(4)}", label=self.pick(["l1", "l2"]), created_at=1,
            updated_at=self.random.randrange(100), meta=self.pick([None, {"m": 1}]),
        )  # fmt: skip
        return "upsert_artifact", (artifact,), {"guard": self.guard()}

    def call_list_artifacts(self) -> Any:
        where = ArtifactFilter(
            session_id=self.sometimes(self.session_id()), kind=self.sometimes("file"), limit=self.sometimes(2)
        )
        return "list_artifacts", (where,), {}

    def call_delete_artifact(self) -> Any:
        session_id = self.session_id()
        return "delete_artifact", (session_id, f"{session_id}/a{self.random.randrange(4)}"), {"guard": self.guard()}

    def call_save_schedule(self) -> Any:
        guard = Guard(op_id=self.guard().op_id)
        return "save_schedule", (self.schedule(),), {"keep_next_fire_at": self.pick([True, False]), "guard": guard}

    def call_delete_schedule(self) -> Any:
        if self.random.random() < 0.7:
            return self.call_list_schedules()
        return "delete_schedule", (self.pick(["s1", "s:2"]),), {"guard": Guard(op_id=self.guard().op_id)}

    def call_claim_fire(self) -> Any:
        arguments = (self.pick(["s1", "s:2"]), self.pick([5, 6]), self.pick([None, 5, 6]))
        return "claim_schedule_fire", arguments, {"guard": Guard(op_id=self.guard().op_id)}

    def call_record_fire(self) -> Any:
        fire = ScheduleFire(
            id=f"f{self.random.randrange(60)}", schedule_id=self.pick(["s1", "s:2"]), due_at=1, fired_at=2,
            status=self.pick(["started", "completed"]),
        )  # fmt: skip
        return "record_schedule_fire", (fire,), {"guard": Guard(op_id=self.guard().op_id)}

    def call_list_schedules(self) -> Any:
        return "list_schedules", (), {}

    def call_list_fires(self) -> Any:
        return "list_schedule_fires", (self.pick(["s1", "s:2"]), self.pick([1, 3, 100])), {}

    def call_load(self) -> Any:
        return "load", (self.session_id(),), {}

    def call_get_meta(self) -> Any:
        return "get_meta", (self.session_id(),), {}

    def call_get_turns(self) -> Any:
        if self.random.random() < 0.4:
            return "get_turns", (self.session_id(),), {"last": self.random.randrange(5)}
        limit = self.sometimes(self.random.randrange(4))
        return "get_turns", (self.session_id(), self.random.randrange(5), limit), {}

    def where(self) -> SessionFilter:
        return SessionFilter(
            agent_id=self.pick([UNSET, UNSET, None, "agent"]),
            status=self.pick([UNSET, UNSET, "idle", "running"]),
            project_root=self.pick([UNSET, UNSET, None, "/a"]),
        )

    def call_list_ids(self) -> Any:
        keywords = {"limit": self.sometimes(self.random.randrange(3)), "after": self.sometimes(self.session_id())}
        return "list_ids", (self.where(),), keywords

    def call_list_meta(self) -> Any:
        return "list_meta", (self.where(),), {}


def plain(value: Any) -> Any:
    """An answer with the present out of it: the two stores have different clocks."""
    if isinstance(value, Page):
        return sorted(map(repr, map(plain, value.items)))
    if isinstance(value, RunClaim):
        value = replace(value, quiet_ms=0)
    if isinstance(value, Record):
        return plain(to_json_object(value))
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: "quiet" if key == "quietMs" else plain(item) for key, item in value.items()}
    if isinstance(value, int) and not isinstance(value, bool) and value in PRESENT:
        return "now"
    return value


async def answer(store: Any, method: str, arguments: Any, keywords: Any) -> Any:
    try:
        return await getattr(store, method)(*arguments, **keywords)
    except (ZidaneError, ValueError) as error:
        holder = getattr(error, "holder", None)
        return type(error).__name__, str(error), holder


async def compare(redis: RedisStore, calls: Calls, steps: int) -> None:
    memory = MemoryStore()
    async with memory:
        for step in range(steps):
            method, arguments, keywords = calls.next()
            expected = await answer(memory, method, arguments, keywords)
            found = await answer(redis, method, arguments, keywords)
            assert plain(found) == plain(expected), f"step {step}: {method}{arguments} {keywords}"
            if isinstance(found, Page):
                order = [(-row.updated_at, row.id) for row in found.items]
                assert order == sorted(order)
            calls.learn(expected)
        for session_id in IDS:
            assert plain(await redis.load(session_id)) == plain(await memory.load(session_id))


@pytest.mark.parametrize("seed", range(12))
async def test_any_calls_answer_as_the_memory_store_does(store: RedisStore, seed: int) -> None:
    """One shard: even the revisions are the same."""
    await compare(store, Calls(seed), 150)


async def test_any_calls_answer_alike_on_every_server(any_url: str, prefix: str) -> None:
    """Also with several replies on the way: revisions come from one shard, so ids lie together here."""
    async with RedisStore(StoreURL(any_url), RedisOptions(prefix=prefix, shards=1)) as store:
        await compare(store, Calls(99), 300)


async def test_any_calls_answer_alike_with_a_ttl_and_with_resp2(server_url: str, prefix: str) -> None:
    """A time to live and the protocol change no answer."""
    options = RedisOptions(prefix=prefix, ttl=Seconds(3600), protocol=2)
    async with RedisStore(StoreURL(server_url), options) as store:
        await compare(store, Calls(7), 200)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(100, 160))
async def test_many_more_calls_answer_as_the_memory_store_does(store: RedisStore, seed: int) -> None:
    """The same, for longer."""
    await compare(store, Calls(seed), 600)
