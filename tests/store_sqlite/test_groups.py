"""Calls that wait for the writer together are committed together, and stay strangers to each other."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Self

import pytest

from zidane_core.errors import RunInProgressError, SessionExistsError, SessionNotFoundError, TurnConflictError
from zidane_core.store import Guard
from zidane_store_sqlite import SqliteStore

from .sample import filled, header, run, turn


class Held:
    """The store's writer, kept busy while calls gather behind it."""

    def __init__(self, store: SqliteStore) -> None:
        self._writer, self._go = store._writer, threading.Event()
        self.statements: list[str] = []

    def __enter__(self) -> Self:
        self._writer.submit(lambda raw: raw.set_trace_callback(self.statements.append))
        self._writer.submit(lambda _: self._go.wait())
        return self

    def __exit__(self, *_: object) -> None:
        self._go.set()


async def together(store: SqliteStore, *calls: object) -> tuple[list[object], list[str]]:
    """What calls answer that are committed in one group, and the statements that took."""
    with Held(store) as held:
        tasks = [asyncio.ensure_future(call) for call in calls]  # type: ignore[call-overload]
        while len(store._writes._waiting) < len(tasks):
            await asyncio.sleep(0)
    return await asyncio.gather(*tasks, return_exceptions=True), held.statements


async def test_a_group_is_one_transaction(store: SqliteStore) -> None:
    """Sixty-four appends, one BEGIN and one COMMIT, each with an answer of its own."""
    await filled(store)
    answers, statements = await together(store, *(store.append_turns("s", [turn(f"x{n}")]) for n in range(64)))
    assert [statement for statement in statements if statement in {"BEGIN IMMEDIATE", "COMMIT"}] == [
        "BEGIN IMMEDIATE",
        "COMMIT",
    ]
    revs = [answer.rev for answer in answers]  # type: ignore[attr-defined]
    assert revs == sorted(set(revs))
    assert [each.id for each in await store.get_turns("s", 2)] == [f"x{n}" for n in range(64)]


async def test_a_refused_call_leaves_the_others_in_the_group(store: SqliteStore) -> None:
    """Judgements made before anything is written cost the others nothing."""
    await filled(store)
    answers, statements = await together(
        store,
        store.append_turns("s", [turn("a")]),
        store.append_turns("nobody", [turn("a")]),
        store.append_turns("s", [turn("a", "other text")]),
        store.append_turns("s", [turn("b")]),
        store.append_turns("s", [turn("b")], create=header("somebody else")),
    )
    assert [type(answer).__name__ for answer in answers] == [
        "Written", "SessionNotFoundError", "TurnConflictError", "Written", "SessionExistsError",
    ]  # fmt: skip
    assert statements.count("COMMIT") == 1
    assert {SessionNotFoundError, TurnConflictError, SessionExistsError} < {type(answer) for answer in answers}


async def test_a_call_refused_after_it_wrote_is_undone_alone(store: SqliteStore) -> None:
    """A creation whose guard fails has written by then: all is undone, and each runs again by itself."""
    await filled(store)
    claim = await store.claim_run("s")
    answers, _ = await together(
        store,
        store.append_turns("s", [turn("a")]),
        store.append_turns("new", [turn("a")], create=header(metadata={"k": 1}), guard=Guard(expected_rev=5)),
        store.append_turns("s", [turn("b")], run=run("other")),
        store.append_turns("s", [turn("c")], guard=Guard(fence=claim.epoch)),
    )
    assert [type(answer).__name__ for answer in answers] == [
        "Written", "RevisionConflictError", "RunInProgressError", "Written",
    ]  # fmt: skip
    assert isinstance(answers[2], RunInProgressError)
    assert await store.list_ids() == ["s"]
    assert [each.id for each in await store.get_turns("s", 2)] == ["a", "c"]
    assert await store._writer.run(
        lambda raw: raw.execute(
            "SELECT count(*) FROM items WHERE owner NOT IN (SELECT number FROM sessions) AND owner <> ''"
        ).fetchone()
    ) == (0,)


async def test_a_call_sees_those_before_it(store: SqliteStore) -> None:
    """The order is that of the calls: created, claimed, deleted and created again in one group."""
    answers, _ = await together(
        store,
        store.append_turns("s", [turn("a")], create=header("one")),
        store.claim_run("s"),
        store.delete("s"),
        store.append_turns("s", [turn("a", "anew")], create=header("two")),
    )
    assert [type(answer).__name__ for answer in answers] == ["Written", "RunClaim", "bool", "Written"]
    assert [each.content[0]["text"] for each in await store.get_turns("s")] == ["anew"]  # type: ignore[typeddict-item]


async def test_a_failing_commit_answers_nobody_before_it_is_done(path: Path) -> None:
    """Nothing is acknowledged that a reader cannot see."""
    async with SqliteStore(path) as store:
        await filled(store)
        seen = []

        async def append(number: int) -> None:
            await store.append_turns("s", [turn(f"x{number}")])
            raw_ids = [each.id for each in await store.get_turns("s")]
            seen.append(f"x{number}" in raw_ids)

        await asyncio.gather(*(append(number) for number in range(30)))
        assert seen == [True] * 30


async def test_a_large_crowd_is_served_in_groups_that_end(store: SqliteStore) -> None:
    """More callers than a group holds: all are answered, in order."""
    await filled(store)
    answers, statements = await together(store, *(store.append_turns("s", [turn(f"x{n}")]) for n in range(300)))
    assert statements.count("COMMIT") == 3
    assert not [answer for answer in answers if isinstance(answer, BaseException)]


async def test_the_log_is_copied_and_written_over(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long row of appends keeps the log small without any checkpoint beside a commit."""
    monkeypatch.setattr("zidane_store_sqlite._checkpoint.TRUNCATE_FROM_BYTES", 4 * 1024 * 1024)
    await filled(store)
    log = path.with_name(path.name + "-wal")
    for number in range(40):
        await asyncio.gather(
            *(store.append_turns("s", [turn(f"{number}-{n}", "x" * 30_000)]) for n in range(16)),
            store.patch_meta("s", {}),
        )
    assert log.stat().st_size < 8 * 1024 * 1024
    assert await store._writer.run(lambda raw: raw.execute("PRAGMA wal_autocheckpoint").fetchone()) == (0,)


@pytest.mark.parametrize("version", [(3, 40, 1), (3, 46, 1), (3, 50, 6), (3, 51, 2), (3, 44, 5)])
def test_builds_with_the_reset_bug_are_told(version: tuple[int, int, int]) -> None:
    """From 3.7.0 to 3.51.2, but for the branches that got the fix."""
    from zidane_store_sqlite._checkpoint import has_wal_reset_bug

    assert has_wal_reset_bug(version)
    assert not any(map(has_wal_reset_bug, [(3, 6, 9), (3, 44, 6), (3, 50, 7), (3, 51, 3), (3, 53, 0)]))
