"""Runs and status."""

from __future__ import annotations

from zidane_core.conformance import samples
from zidane_core.conformance.check import Collector
from zidane_core.conformance.expectations import equal
from zidane_core.conformance.kit import Kit
from zidane_core.conformance.samples import run

check = Collector()


@check("runs.order")
async def order(kit: Kit) -> None:
    """Runs keep the order in which they were first stored; a run with a known id replaces it in place."""
    session_id = await kit.session()
    for run_id in ("r2", "r1", "r10"):
        await kit.store.update_run(session_id, run(run_id))
    await kit.store.update_run(session_id, run("r1", status="completed", ended_at=9, cost=0.5))
    found = await kit.loaded(session_id)
    wanted = [run("r2"), run("r1", status="completed", ended_at=9, cost=0.5), run("r10")]
    equal(found.runs, wanted, "the runs")


@check("runs.replaced-whole")
async def replaced_whole(kit: Kit) -> None:
    """Replacing a run replaces all of it: a field that the new record lacks is gone."""
    session_id = await kit.session()
    await kit.store.update_run(session_id, run("r0", label="old", extra={"oldKey": 1}))
    await kit.store.update_run(session_id, run("r0", error="new"))
    found = await kit.loaded(session_id)
    equal(found.runs, [run("r0", error="new")], "the runs")


@check("status.owner")
async def owner(kit: Kit) -> None:
    """`running` records the owner, and keeps it when none is given; any other status clears it."""
    session_id = await kit.session()
    steps = [
        ("running", samples.owner("one"), samples.owner("one")),
        ("running", None, samples.owner("one")),
        ("running", samples.owner("two", started_at=5), samples.owner("two", started_at=5)),
        ("completed", None, None),
        ("running", None, None),
        ("error", samples.owner("three"), None),
        ("idle", None, None),
    ]
    for status, given, wanted in steps:
        await kit.store.update_status(session_id, status, owner=given)  # type: ignore[arg-type]
        found = await kit.loaded(session_id)
        equal((found.status, found.run_owner), (status, wanted), f"after update_status({status!r}, owner={given})")
