"""No call reads more than it shows: what SQLite plans for the statements of every call."""

from __future__ import annotations

from contextlib import suppress

from zidane_core.errors import TurnNotFoundError
from zidane_core.store import SessionFilter
from zidane_store_sqlite import SqliteStore

from .sample import READS, WRITES, filled, turn


async def statements_of_all_calls(store: SqliteStore) -> set[str]:
    """The statements that the writer and the readers execute for every public method."""
    said: set[str] = set()
    for connection in (store._writer, *store._readers):
        await connection.run(lambda raw: raw.set_trace_callback(said.add))
    await filled(store)
    await store.append_turns("s", [turn(f"many{n}") for n in range(40)])
    for read in READS.values():
        for _ in store._readers:
            await read(store)
    for where in (SessionFilter(agent_id="a"), SessionFilter(status="idle", project_root=None)):
        page = await store.list_meta(where, limit=1)
        await store.list_meta(where, after=page.next)
        await store.list_ids(where, after="a")
    for write in WRITES.values():
        with suppress(TurnNotFoundError):  # an earlier one has cut it off
            await write(store)
    return said


async def test_every_statement_finds_its_rows_by_an_index(store: SqliteStore) -> None:
    """No table is scanned, and turns are found by position or by id, never by reading a session's history."""
    said = await statements_of_all_calls(store)
    plans = {
        statement: [
            row[3]
            for row in await store._writer.run(
                lambda raw, s=statement: raw.execute(f"EXPLAIN QUERY PLAN {s}").fetchall()
            )
        ]
        for statement in said
        if statement.startswith(("SELECT", "UPDATE", "DELETE", "INSERT"))
    }
    assert len(plans) > 15
    for statement, plan in plans.items():
        if " counter" not in statement:  # which has one row
            assert not [step for step in plan if step.startswith("SCAN")], (statement, plan)
        if statement.startswith("SELECT") and " turns " in statement:
            assert "SEARCH turns USING PRIMARY KEY (session=?)" not in plan, statement
