"""`CasStore` under conflicts, failures and cancellation, and what it costs the database."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import anyio
import pytest

from zidane_core.cas import HEAD, CasStore
from zidane_core.cas.names import group_of, item_key, place_key, turn_key
from zidane_core.cas.store import TRIES
from zidane_core.errors import (
    CorruptRecordError,
    SessionNotFoundError,
    StoreBusyError,
    StoreUnavailableError,
    TurnConflictError,
)
from zidane_core.records import Schedule, SessionArtifact, SessionRun
from zidane_core.store import Guard, SessionStore

from .dict_cas import Call, DictBackend, DictStore

S = "s"
GROUP = group_of("", S)


@pytest.fixture
def backend() -> DictBackend:
    return DictBackend()


@pytest.fixture
async def store(backend: DictBackend) -> AsyncIterator[DictStore]:
    async with DictStore(backend) as opened:
        yield opened


async def ids_of(store: SessionStore, session_id: str = S) -> list[str]:
    return [each.id for each in await store.get_turns(session_id)]


# -- names ------------------------------------------------------------------------------------


def test_no_two_ids_share_a_group_however_they_look() -> None:
    """Case, separators, wildcards, length, and the names that we use ourselves."""
    ids = ["a", "A", "a-", "a_", "n-a", "h-a", "shared", "é", "e\u0301", "*", "..", "a/b", "x" * 512, "x" * 511 + "y"]
    groups = [group_of(scope, each) for scope in ["", *ids] for each in [None, *ids]]
    assert len({group.lower() for group in groups}) == len(groups)


# -- conflicts --------------------------------------------------------------------------------


async def test_appends_of_two_instances_at_once_are_all_kept_once(backend: DictBackend, turn: Any, header: Any) -> None:
    async with DictStore(backend) as one, DictStore(backend) as other:
        await one.append_turns(S, [turn("first")], create=header())
        answers = await asyncio.gather(
            *(
                store.append_turns(S, [turn(f"{name}{at}")])
                for at in range(25)
                for name, store in (("a", one), ("b", other))
            )
        )
        stored = await ids_of(one)
        assert sorted(stored) == sorted(["first", *(f"{name}{at}" for at in range(25) for name in "ab")])
        assert sorted(answer.rev for answer in answers) == list(range(2, 52))


async def test_one_of_many_creations_wins_and_one_of_many_claims(backend: DictBackend, header: Any) -> None:
    async with DictStore(backend) as one, DictStore(backend) as other:
        created = await asyncio.gather(
            *(store.update_status(S, "idle", create=header(f"c{at}")) for at, store in enumerate([one, other] * 5)),
            return_exceptions=True,
        )
        assert sum(not isinstance(answer, Exception) for answer in created) == 1
        claims = await asyncio.gather(*(store.claim_run(S) for store in [one, other] * 5))
        assert sum(claim.claimed for claim in claims) == 1


async def test_a_conflict_at_every_commit_changes_nothing_about_the_answer(
    backend: DictBackend, store: DictStore, turn: Any, header: Any
) -> None:
    seen = Counter[int]()

    def before(call: Call) -> None:
        if call[0] == "commit":
            seen[backend.versions.get(call[1], 0)] += 1
            if seen.total() % 2:
                backend.bump(call[1])

    await store.append_turns(S, [turn("t0")], create=header())
    backend.before = before
    for at in range(1, 5):
        assert (await store.append_turns(S, [turn(f"t{at}")])).rev == at + 1
    assert await ids_of(store) == ["t0", "t1", "t2", "t3", "t4"]


@pytest.mark.parametrize("operation", ["write", "read"])
async def test_a_call_gives_up_as_busy_when_others_never_stop(
    operation: str, backend: DictBackend, store: DictStore, turn: Any, header: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.append_turns(S, [turn("t0")], create=header())
    monkeypatch.setattr("zidane_core.cas.store._pauses", lambda: iter([0.0] * (TRIES - 1)))
    backend.before = lambda call: backend.bump(GROUP)
    with pytest.raises(StoreBusyError):
        await (store.patch_meta(S, {"k": 1}) if operation == "write" else store.load(S))
    backend.before = lambda call: None
    assert await ids_of(store) == ["t0"]


async def test_a_load_is_of_one_revision_while_another_instance_replaces_the_history(
    backend: DictBackend, turn: Any, header: Any
) -> None:
    """Every generation has its own turns, runs and metadata; no load mixes two of them."""
    async with DictStore(backend) as writer, DictStore(backend) as reader:
        await writer.append_turns(S, [turn("g0")], create=header())
        done = anyio.Event()

        async def write() -> None:
            for generation in range(1, 30):
                session = await writer.load(S)
                assert session is not None
                name = f"g{generation}"
                await writer.truncate(S, session.turns[0].id)
                run = SessionRun(id=name, status="completed", prompt=name, started_at=1)
                await writer.append_turns(S, [turn(name), turn(name + "b")], run=run, metadata={"name": name})
                for _ in range(20):
                    await anyio.lowlevel.checkpoint()
            done.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write)
            loads = 0
            while not done.is_set():
                session = await reader.load(S)
                assert session is not None
                loads += 1
                if session.turns and session.runs:
                    name = session.metadata["name"]
                    assert [each.id for each in session.turns] == [name, f"{name}b"]
                    assert session.runs[-1].id == name
            assert loads


async def test_an_error_is_raised_of_one_revision_too(backend: DictBackend, turn: Any, header: Any) -> None:
    """A turn that another instance removed meanwhile is no conflict any more."""
    async with DictStore(backend) as store, DictStore(backend) as other:
        await store.append_turns(S, [turn("t0"), turn("t1", "mine")], create=header())
        gets = 0

        async def remove() -> None:
            await other.truncate(S, "t1")

        original = store.get

        async def get(group: str, keys: Any) -> Any:
            nonlocal gets
            gets += 1
            found = await original(group, keys)
            if place_key("t1") in keys and gets < 4:
                await remove()
            return found

        store.get = get  # type: ignore[method-assign] -- this one call is to be interrupted
        assert (await store.append_turns(S, [turn("t1", "other")])).added == 1
        with pytest.raises(TurnConflictError):
            await store.append_turns(S, [turn("t1", "third")])


# -- failures ---------------------------------------------------------------------------------

Action = Callable[[CasStore], Awaitable[object]]


def actions(turn: Any, header: Any) -> dict[str, Action]:
    """Calls, each repeatable without harm."""
    artifact = SessionArtifact(id="a", session_id=S, kind="file", uri="u", label="l", created_at=1, updated_at=1)
    schedule = Schedule(id="p", prompt="p", enabled=True, next_fire_at=1, created_at=1, updated_at=1)
    return {
        "create": lambda store: store.append_turns("new", [turn("n")], create=header()),
        "append": lambda store: store.append_turns(S, [turn("x"), turn("y")], metadata={"k": 1}),
        "artifact": lambda store: store.upsert_artifact(artifact),
        "schedule": lambda store: store.save_schedule(schedule),
        "mutate": lambda store: store.mutate_history(S, lambda history: None),
        "delete": lambda store: store.delete(S, guard=Guard(op_id="d")),
        "load": lambda store: store.load(S),
        "list": lambda store: store.list_meta(),
    }


NAMES = ["create", "append", "artifact", "schedule", "mutate", "delete", "load", "list"]


class ThreadLikeStore(DictStore):
    """Its commits, once begun, are not stopped by cancelling the one who waits for them."""

    async def commit(self, *args: Any) -> bool:
        return await asyncio.shield(asyncio.ensure_future(self._slowly(*args)))

    async def _slowly(self, *args: Any) -> bool:
        for _ in range(5):
            await asyncio.sleep(0)
        return await super().commit(*args)


async def prepared(backend: DictBackend, turn: Any, header: Any, kind: type[DictStore] = DictStore) -> DictStore:
    store = await kind(backend).__aenter__()
    run = SessionRun(id="r", status="completed", prompt="p", started_at=1)
    await store.append_turns(S, [turn("t0"), turn("t1")], create=header(), run=run)
    return store


def image(backend: DictBackend) -> dict[str, dict[str, bytes]]:
    return {group: dict(entries) for group, entries in backend.groups.items()}


def entries(backend: DictBackend) -> dict[str, dict[str, bytes]]:
    """Without the heads, which a repeated call may move."""
    return {group: {key: each for key, each in found.items() if key != HEAD} for group, found in image(backend).items()}


@pytest.mark.parametrize("name", NAMES)
async def test_a_failure_of_any_primitive_changes_nothing_and_the_repeated_call_works(
    name: str, turn: Any, header: Any
) -> None:
    """Every primitive call of every action fails once; the database is as before, and the store stays usable."""
    clean = DictBackend()
    store = await prepared(clean, turn, header)
    clean.calls.clear()
    expected = await actions(turn, header)[name](store)
    for at in range(len(clean.calls)):
        backend = DictBackend()
        store = await prepared(backend, turn, header)
        before, count = image(backend), iter(range(10_000))

        def fail(call: Call, at: int = at, count: Any = count) -> None:
            if next(count) == at:
                raise StoreUnavailableError("injected")

        backend.before = fail
        with pytest.raises(StoreUnavailableError, match="injected"):
            await actions(turn, header)[name](store)
        assert image(backend) == before
        assert await actions(turn, header)[name](store) == expected
        assert image(backend) == image(clean)


async def test_a_commit_whose_answer_is_lost_is_harmless_to_repeat(
    backend: DictBackend, store: DictStore, turn: Any, header: Any
) -> None:
    def lose(group: str) -> None:
        backend.after_commit = lambda group: None
        raise StoreUnavailableError("lost", outcome_unknown=True)

    backend.after_commit = lose
    with pytest.raises(StoreUnavailableError):
        await store.append_turns(S, [turn("t0")], create=header())
    assert (await store.append_turns(S, [turn("t0")], create=header())).added == 0
    assert await ids_of(store) == ["t0"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("kind", [DictStore, ThreadLikeStore])
async def test_a_call_cancelled_anywhere_has_happened_wholly_or_not_at_all(
    name: str, twice: bool, kind: type[DictStore], turn: Any, header: Any
) -> None:
    """Cancelled at every suspension, once or twice: nothing half done, nothing that happens later, and usable."""
    clean = DictBackend()
    await actions(turn, header)[name](await prepared(clean, turn, header))
    for at in range(200):
        backend = DictBackend()
        store = await prepared(backend, turn, header, kind)
        before = image(backend)
        task = asyncio.ensure_future(actions(turn, header)[name](store))
        for _ in range(at):
            await asyncio.sleep(0)
        if task.done():
            break
        task.cancel()
        if twice:
            await asyncio.sleep(0)
            task.cancel()
        await asyncio.wait([task])
        after = image(backend)
        assert after in (before, image(clean))
        for _ in range(10):
            await asyncio.sleep(0)
        assert image(backend) == after
        await actions(turn, header)[name](store)
        assert entries(backend) == entries(clean)
    else:
        pytest.fail("the call never ended")


# -- deletion ---------------------------------------------------------------------------------


async def test_a_deleted_session_leaves_its_head_alone_and_its_revisions_never_come_again(
    backend: DictBackend, store: DictStore, turn: Any, header: Any
) -> None:
    first = await store.append_turns(S, [turn("secret")], create=header(), metadata={"k": "secret"})
    claim = await store.claim_run(S)
    assert await store.delete(S)
    assert list(backend.groups[GROUP]) == [HEAD]
    assert b"secret" not in backend.groups[GROUP][HEAD]
    assert len(backend.groups[GROUP][HEAD]) < 100
    assert await store.list_ids() == []
    with pytest.raises(SessionNotFoundError):
        await store.append_turns(S, [turn("late")], guard=Guard(fence=claim.epoch))
    again = await store.append_turns(S, [turn("new")], create=header("again"))
    assert again.rev > claim.epoch > first.rev
    assert await ids_of(store) == ["new"]


async def test_a_repeated_deletion_gets_its_first_answer_and_spares_the_session_made_since(
    store: DictStore, turn: Any, header: Any
) -> None:
    await store.append_turns(S, [turn("old")], create=header())
    assert await store.delete(S, guard=Guard(op_id="d1"))
    await store.append_turns(S, [turn("new")], create=header("again"))
    assert await store.delete(S, guard=Guard(op_id="d1"))
    assert await ids_of(store) == ["new"]


# -- listings ---------------------------------------------------------------------------------


async def test_a_page_holds_when_a_session_on_it_is_written_between_scan_and_row(
    backend: DictBackend, turn: Any, header: Any
) -> None:
    """It moves to the front, before the page, and the next one comes in; the others appear exactly once."""
    now = [1_000]
    async with DictStore(backend, lambda: now[0]) as store, DictStore(backend, lambda: now[0]) as other:
        for at in range(6):
            now[0] += 1
            await store.append_turns(f"s{at}", [turn("t")], create=header())
        first = await store.list_meta(limit=2)
        assert [row.id for row in first.items] == ["s5", "s4"]
        original = store.scan

        async def scan(prefix: str) -> Any:
            found = await original(prefix)
            now[0] += 1
            await other.append_turns("s3", [turn("u")])
            return found

        store.scan = scan  # type: ignore[method-assign] -- to write in between
        second = await store.list_meta(limit=2, after=first.next)
        assert [row.id for row in second.items] == ["s2", "s1"]
        assert [row.id for row in (await store.list_meta(limit=2, after=second.next)).items] == ["s0"]


# -- damage -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "where"),
    [
        (HEAD, "the head"),
        (turn_key(1), "turn 1"),
        (item_key("run", "r"), "run"),
        (item_key("metadata", ""), "the metadata"),
    ],
)
async def test_every_flipped_byte_is_seen_and_names_its_place(
    key: str, where: str, backend: DictBackend, turn: Any, header: Any
) -> None:
    store = await prepared(backend, turn, header)
    sound = backend.groups[GROUP][key]
    for at in range(len(sound)):
        backend.groups[GROUP][key] = sound[:at] + bytes([sound[at] ^ 1]) + sound[at + 1 :]
        with pytest.raises(CorruptRecordError, match=where):
            await store.load(S)
        if key != HEAD:
            session = await store.load(S, damaged="skip")
            assert session is not None
            assert session.damage is not None
            assert where in session.damage[0].where
    del backend.groups[GROUP][key]
    if key.startswith("turn"):
        with pytest.raises(CorruptRecordError, match="2 turns expected, 1 found"):
            await store.load(S)


async def test_a_damaged_index_entry_is_loud_and_a_save_mends_it(backend: DictBackend, turn: Any, header: Any) -> None:
    store = await prepared(backend, turn, header)
    session = await store.load(S)
    assert session is not None
    backend.groups[GROUP][place_key("t1")] = b"1j:00000000:{}"
    with pytest.raises(CorruptRecordError):
        await store.append_turns(S, [turn("t1")])
    await store.truncate(S, "t0")
    await store.save(session)
    assert (await store.append_turns(S, [turn("t1")])).added == 0


# -- cost -------------------------------------------------------------------------------------


async def test_an_append_costs_the_same_after_a_long_history(
    backend: DictBackend, store: DictStore, turn: Any, header: Any
) -> None:
    await store.append_turns(S, [turn(f"t{at}") for at in range(500)], create=header())
    backend.calls.clear()
    backend.entries_read = 0
    await store.append_turns(S, [turn("a"), turn("b")])
    assert Counter(primitive for primitive, _ in backend.calls) == {"get": 2, "commit": 1}
    assert backend.entries_read == 3  # the head, and two places in the index


async def test_a_tail_reads_the_tail_and_a_listing_no_turns(
    backend: DictBackend, store: DictStore, turn: Any, header: Any
) -> None:
    await store.append_turns(S, [turn(f"t{at}") for at in range(500)], create=header())
    await store.patch_meta(S, {"title": "t"})
    backend.entries_read = 0
    assert len(await store.get_turns(S, last=20)) == 20
    assert backend.entries_read == 22  # and the head, before and after
    backend.calls.clear()
    await store.list_ids()
    assert [primitive for primitive, _ in backend.calls] == ["scan"]
    backend.entries_read = 0
    await store.list_meta(limit=20)
    assert backend.entries_read == 3  # head, metadata, head again


async def test_schedules_are_read_in_a_few_calls_however_many_they_are(backend: DictBackend, store: DictStore) -> None:
    for at in range(30):
        await store.save_schedule(
            Schedule(id=f"p{at}", prompt="p", enabled=True, next_fire_at=1, created_at=1, updated_at=1)
        )
    backend.calls.clear()
    assert [each.id for each in await store.list_schedules()] == [f"p{at}" for at in range(30)]
    assert len(backend.calls) <= 5


async def test_no_lock_is_kept_for_a_session_at_rest(
    backend: DictBackend, store: DictStore, turn: Any, header: Any
) -> None:
    await asyncio.gather(*(store.append_turns(S, [turn(f"t{at}")], create=header()) for at in range(10)))
    assert len(store._locks) == 0


@pytest.mark.parametrize("flavour", ["asyncio", "trio"])
def test_it_works_under_asyncio_and_trio(flavour: str, turn: Any, header: Any) -> None:
    async def work() -> list[str]:
        async with DictStore(DictBackend()) as store:
            await store.append_turns(S, [turn("t0")], create=header())
            async with anyio.create_task_group() as tasks:
                for at in range(5):
                    tasks.start_soon(store.append_turns, S, [turn(f"u{at}")])
            return await ids_of(store)

    assert len(anyio.run(work, backend=flavour)) == 6
