"""Loading shows what is true, and stores what it healed only where that takes nothing from anybody."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from zidane_core import (
    InvalidContentError,
    InvalidIdError,
    PairingDrop,
    SessionTurn,
    StoreReadOnlyError,
    claim_run,
    create_session,
    current_run_owner,
    load_session,
    open_session,
    text,
    tool_call,
    tool_result,
)
from zidane_core.memory import MemoryStore
from zidane_core.records import RunOwner, SessionData
from zidane_core.session import Session
from zidane_store_sqlite import SqliteStore

from .troubled_stores import Recording, Troubled, failing, failing_once

Turn = Callable[..., SessionTurn]

DEAD = replace(current_run_owner(), token="an earlier process")
ELSEWHERE = RunOwner(host_id="elsewhere", pid=1, token="t")


async def died(store: MemoryStore, owner: RunOwner = DEAD) -> None:
    """A session whose run, of this owner, is recorded as running."""
    session = await create_session(store, id="s")
    await session.start_run("r1", "first")
    await session.complete_run("r1")
    claim = await claim_run(store, "s", owner=owner)
    session._link.fence = claim.epoch
    await session.start_run("r2", "second")


async def loaded(store: Any, **options: Any) -> Session:
    session = await load_session(store, "s", **options)
    assert session is not None
    return session


async def snapshot(store: MemoryStore) -> SessionData:
    """What is stored, but for how long the run has been quiet."""
    data = await store.load("s")
    assert data is not None
    return replace(data, quiet_ms=None)


async def test_an_unknown_session_loads_as_none(store: MemoryStore) -> None:
    assert await load_session(store, "s") is None
    assert await store.list_ids() == []


async def test_a_run_that_died_is_shown_and_stored_as_aborted(store: MemoryStore) -> None:
    """Without looking like activity; the next load has nothing to do."""
    await died(store)
    before = await store.get_meta("s")
    session = await loaded(store)
    assert session.interrupted is not None
    assert (session.status, session.interrupted.id) == ("idle", "r2")
    assert [run.status for run in session.runs] == ["completed", "aborted"]
    stored = await store.load("s")
    assert before is not None
    assert stored is not None
    assert (stored.status, stored.epoch, stored.run_owner) == ("idle", None, None)
    assert (stored.runs, stored.updated_at, stored.rev) == (list(session.runs), before.updated_at, session.rev)
    recording = Recording(store)
    assert (await loaded(recording)).interrupted is None
    assert recording.writes == []


async def test_a_reader_changes_nothing_in_the_store(store: MemoryStore, turn: Turn) -> None:
    """It sees the run as aborted and the history as healed; saving a key writes just that."""
    await died(store)
    await store.append_turns("s", [turn("orphan", content=[tool_result("nobody", "x")])])
    before = await snapshot(store)
    recording = Recording(store)
    reader = await loaded(recording, persist_heal=False)
    assert (reader.status, reader.runs[1].status, len(reader.turns)) == ("idle", "aborted", 0)
    assert recording.writes == []
    assert await snapshot(store) == before
    reader.set_meta("title", "mine")
    await reader.save()
    after = await snapshot(store)
    assert (after.status, after.epoch, after.runs, after.turns) == (
        before.status,
        before.epoch,
        before.runs,
        before.turns,
    )


@pytest.mark.parametrize("owner", [current_run_owner(), ELSEWHERE])
async def test_loading_never_touches_a_live_owners_run(store: MemoryStore, turn: Turn, owner: RunOwner) -> None:
    """Not its status, its owner or its records, and not the turns that it is writing."""
    await died(store, owner)
    await store.append_turns("s", [turn("orphan", content=[tool_result("nobody", "x")])])
    before = await snapshot(store)
    session = await loaded(store)
    assert (session.status, session.interrupted, session.runs[1].status) == ("running", None, "running")
    assert session.is_empty
    assert await snapshot(store) == before


async def test_a_run_claimed_while_a_reader_judges_it_dead_is_not_demoted(store: MemoryStore) -> None:
    """The demotion is conditional on what was read; loading looks again, and shows the new run."""
    await died(store)

    async def claim_first(operation: Any) -> None:
        if operation.name == "save_meta" and not claims:
            claims.append(await claim_run(store, "s"))

    claims: list[Any] = []
    session = await loaded(Troubled(store, before=claim_first))
    stored = await store.load("s")
    assert stored is not None
    assert (stored.status, stored.epoch, session.status) == ("running", claims[0].epoch, "running")


async def test_a_run_that_ends_while_a_reader_judges_it_dead_keeps_its_end(store: MemoryStore) -> None:
    writer = await create_session(store, id="s")
    await writer.start_run("r")

    async def complete_first(operation: Any) -> None:
        if operation.name == "save_meta" and writer.runs[0].status == "running":
            await writer.complete_run("r")

    session = await loaded(Troubled(store, before=complete_first))
    assert (session.runs[0].status, session.interrupted) == ("completed", None)
    assert (await snapshot(store)).runs == list(writer.runs)


async def test_runs_that_nobody_holds_are_aborted_too(store: MemoryStore) -> None:
    """A process died between recording a run and claiming the session, or before it marked the run's end."""
    session = await create_session(store, id="s")
    await session.start_run("r")
    assert (await loaded(store)).runs[0].status == "aborted"


async def test_blocks_that_can_never_be_valid_are_dropped_reported_and_stored(store: MemoryStore, turn: Turn) -> None:
    """Reported once; the next load finds nothing."""
    session = await create_session(store, id="s")
    await session.append_turns(
        [
            turn("t1", role="assistant", content=[tool_call("c", "f", {})]),
            turn("t2", content=[tool_result("c", "1"), tool_result("c", "2"), tool_result("other", "3")]),
            turn("t3", content=[tool_result("c", "late")]),
        ]
    )
    drops: list[PairingDrop] = []
    healed = await loaded(store, on_pairing_drop=drops.append)
    assert [drop.kind for drop in drops] == [
        "duplicate-tool-result",
        "orphan-tool-result",
        "orphan-tool-result",
        "empty-turn",
    ]
    assert [each.id for each in healed.turns] == ["t1", "t2"]
    assert await store.get_turns("s") == list(healed.turns)
    assert healed.rev == (await store.load("s")).rev  # type: ignore[union-attr]
    drops.clear()
    await loaded(store, on_pairing_drop=drops.append)
    assert drops == []


async def test_a_heal_loses_nothing_that_is_appended_meanwhile(store: MemoryStore, turn: Turn) -> None:
    session = await create_session(store, id="s")
    await session.append_turns([turn("t1"), turn("orphan", content=[tool_result("nobody", "x")])])

    async def append(operation: Any) -> None:
        if operation.name == "mutate_history":
            await session.append_turns([turn("t2")])

    healed = await loaded(Troubled(store, before=append))
    assert [each.id for each in healed.turns] == ["t1", "t2"]
    assert await store.get_turns("s") == list(healed.turns)


async def test_reused_call_ids_are_kept_unless_they_are_to_be_dropped(store: MemoryStore, turn: Turn) -> None:
    """Real histories reuse them: an id that was answered is free again."""
    session = await create_session(store, id="s")
    for number in range(2):
        call = turn(f"c{number}", role="assistant", content=[tool_call("call_0", "f", {}), text("x")])
        await session.append_turns([call, turn(f"r{number}", content=[tool_result("call_0", "ok")])])
    assert len((await loaded(store)).turns) == 4
    dropped = await loaded(store, reused_call_ids="drop", persist_heal=False)
    assert [each.id for each in dropped.turns] == ["c0", "r0", "c1"]


@pytest.mark.parametrize("error", [StoreReadOnlyError, None])
async def test_a_store_that_cannot_be_written_to_can_still_be_read(store: MemoryStore, turn: Turn, error: Any) -> None:
    """The heal stays in memory."""
    await died(store)
    await store.append_turns("s", [turn("orphan", content=[tool_result("nobody", "x")])])
    hook = failing("save_meta", "mutate_history")
    if error is not None:
        hook = failing_once("save_meta", error=lambda: StoreReadOnlyError("disk"))
    session = await loaded(Troubled(store, before=hook))
    assert (session.status, session.runs[1].status, session.is_empty) == ("idle", "aborted", True)


async def test_interrupted_calls_stay_open_on_loading(store: MemoryStore, turn: Turn) -> None:
    """Their process may still be running the tool: whoever owns the next run closes them."""
    session = await create_session(store, id="s")
    await session.append_turns([turn("t1", role="assistant", content=[tool_call("c", "f", {})])])
    recording = Recording(store)
    assert len((await loaded(recording)).turns) == 1
    assert recording.writes == []


async def test_healing_interrupted_calls_is_stored_once_and_for_all(store: MemoryStore, turn: Turn) -> None:
    """Loading, healing and saving again and again leaves the stored bytes as they are."""
    session = await create_session(store, id="s")
    await session.append_turns(
        [turn("t1", role="assistant", content=[tool_call("c", "f", {}), tool_call("d", "g", {})])]
    )
    assert await session.heal_interrupted_tool_calls() is True
    assert await session.heal_interrupted_tool_calls() is False
    entry = store._data.scopes[""].sessions["s"]
    bytes_before = [each.stored for each in entry.turns]
    assert len(bytes_before) == 2
    for _ in range(5):
        again = await loaded(store)
        assert await again.heal_interrupted_tool_calls() is False
        await again.save()
        async with again.run():
            pass
        assert [each.stored for each in entry.turns] == bytes_before
        assert list(again.turns) == list(session.turns)


async def test_healing_keeps_what_others_appended(store: MemoryStore, turn: Turn) -> None:
    session = await create_session(store, id="s")
    await session.append_turns([turn("t1", role="assistant", content=[tool_call("c", "f", {})])])
    await (await loaded(store)).append_turns([turn("t2", content=[tool_result("c", "the real one")]), turn("t3")])
    assert await session.heal_interrupted_tool_calls()
    assert [each.id for each in await store.get_turns("s")] == ["t1", "t2", "t3"]
    assert list(session.turns) == await store.get_turns("s")


async def test_a_heal_that_cannot_be_stored_stays_in_memory_and_is_done_by_the_next_run(
    store: MemoryStore, turn: Turn
) -> None:
    """And the next save does not overwrite anything on its account."""
    troubled = Troubled(store, before=failing("mutate_history"))
    session = await create_session(troubled, id="s")
    await session.append_turns([turn("t1", role="assistant", content=[tool_call("c", "f", {})])])
    assert await session.heal_interrupted_tool_calls()
    assert (len(session.turns), len(await store.get_turns("s"))) == (2, 1)
    await session.save()
    assert len(await store.get_turns("s")) == 1
    troubled.before = None
    async with session.run("go on"):
        pass
    assert await store.get_turns("s") == list(session.turns)
    assert [each.role for each in session.turns] == ["assistant", "user", "user"]


# -- making -----------------------------------------------------------------------------------------


async def test_ids_and_times_come_from_what_is_given(store: MemoryStore) -> None:
    ids = iter(["session", "turn", "run", "prompt"])
    session = await create_session(store, clock=lambda: 42, new_id=lambda: next(ids))
    assert (session.id, session.created_at, await session.generate_turn_id()) == ("session", 42, "turn")
    async with session.run("hello"):
        pass
    assert (session.runs[0].id, session.runs[0].started_at, session.turns[0].id) == ("run", 42, "prompt")


async def test_ids_are_the_stores_where_it_makes_them(store: MemoryStore) -> None:
    recording = Recording(store)
    session = await create_session(recording)
    await session.generate_turn_id()
    assert recording.calls == {"generate_session_id": 1, "generate_turn_id": 1}
    assert (await create_session()).id != (await create_session()).id


async def test_what_no_store_takes_is_refused_before_anything_is_made(store: MemoryStore) -> None:
    for illegal in ("", "a\0b", "x" * 513):
        with pytest.raises(InvalidIdError):
            await create_session(store, id=illegal)
        with pytest.raises(InvalidIdError):
            await open_session(store, illegal)
    with pytest.raises(InvalidContentError):
        await create_session(store, metadata={"x": object()})  # type: ignore[dict-item]


async def test_the_given_metadata_is_copied(store: MemoryStore) -> None:
    metadata: dict[str, Any] = {"tags": ["a"]}
    session = await create_session(store, id="s", metadata=metadata)
    metadata["tags"].append("b")
    assert session.metadata == {"tags": ["a"]}


async def test_given_data_is_copied_and_healed(turn: Turn) -> None:
    """A fork's invalid blocks are dropped and reported, and nothing in it is running."""
    source = await create_session(id="s", agent_id="a", metadata={"k": 1})
    await source.append_turns([turn("t1"), turn("orphan", content=[tool_result("nobody", "x")])])
    await source.start_run("r")
    drops: list[PairingDrop] = []
    data = replace(source.to_data(), id="fork", status="running")
    fork = await create_session(data=data, on_pairing_drop=drops.append)
    assert (fork.id, fork.agent_id, fork.metadata, fork.status) == ("fork", "a", {"k": 1}, "idle")
    assert ([each.id for each in fork.turns], [run.status for run in fork.runs]) == (["t1"], ["aborted"])
    assert [drop.kind for drop in drops] == ["orphan-tool-result", "empty-turn"]
    await fork.append_turns([turn("t2")])
    assert len(source.turns) == 2


async def test_opening_loads_what_is_there_and_ignores_the_options(store: MemoryStore, turn: Turn) -> None:
    first = await open_session(store, "s", agent_id="a", metadata={"k": 1})
    await first.append_turns([turn("t1")])
    second = await open_session(store, "s", agent_id="b", metadata={"k": 2})
    assert (second.agent_id, second.metadata, len(second.turns)) == ("a", {"k": 1}, 1)


async def test_a_session_opened_on_a_file_outlives_the_store(tmp_path: Path, turn: Turn) -> None:
    async with SqliteStore(tmp_path / "s.db", clock=lambda: 5) as store:
        session = await create_session(store, id="s", clock=lambda: 5)
        async with session.run("hello") as run:
            await run.append(turn("t1", role="assistant"))
    async with SqliteStore(tmp_path / "s.db") as store:
        assert (await loaded(store)).to_json() == session.to_json()
