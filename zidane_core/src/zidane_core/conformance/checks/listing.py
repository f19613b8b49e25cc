"""Listings: complete, ordered, filtered exactly, paged without a gap."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec.structs import replace

from zidane_core.conformance import samples
from zidane_core.conformance.check import Collector
from zidane_core.conformance.expectations import equal, holds, raises
from zidane_core.conformance.kit import Kit
from zidane_core.conformance.samples import turn
from zidane_core.store import SessionFilter

check = Collector()

MANY = 8
FUTURE_MS = 4_200_000_000_000
"""Past every store's clock: sessions that `save` dates here head every listing by recency."""


@check("list.ids-in-order", sessions=MANY)
async def ids_in_order(kit: Kit) -> None:
    """`list_ids` gives ids in UTF-8 order, each once; `after` an id, present or not, gives the greater ones."""
    shapes = ("kit-{}", "Kit-{}", "kit-é-{}", "kit-\uffff-{}", "kit-\U0001f600-{}", "kit-{}/", "{}", "kit-{} ")
    ids = [kit.session_id(shape) for shape in shapes]
    for session_id in ids:
        await kit.store.append_turns(session_id, [], create=kit.header())
    found = await kit.store.list_ids()
    equal(found, sorted(set(found), key=str.encode), "all ids")
    equal([each for each in found if each in ids], sorted(ids, key=str.encode), "the ids that the check made")
    for after in (*ids, ids[0] + "\0", "", "\U0010ffff"):
        wanted = [each for each in found if each.encode() > after.encode()]
        equal(await kit.store.list_ids(after=after), wanted, f"list_ids(after={after!a})")


@check("list.ids-limit", sessions=4)
async def ids_limit(kit: Kit) -> None:
    """`limit=0` is no id, a negative one ValueError, None all; pages of any size walk through all ids once."""
    for _ in range(4):
        await kit.session()
    everything = await kit.store.list_ids()
    equal(await kit.store.list_ids(limit=0), [], "list_ids(limit=0)")
    equal(await kit.store.list_ids(limit=10**6), everything, "list_ids(limit=1000000)")
    equal(await kit.store.list_ids(limit=1), everything[:1], "list_ids(limit=1)")
    await raises(ValueError, kit.store.list_ids(limit=-1), "list_ids(limit=-1)")
    size = max(1, len(everything) // 7)
    equal(await _walk_ids(kit, size), everything, f"a walk by pages of {size}")


async def _walk_ids(kit: Kit, size: int) -> list[str]:
    seen: list[str] = []
    while page := await kit.store.list_ids(limit=size, after=seen[-1] if seen else None):
        holds(len(page) <= size, "the size of a page", expected=f"at most {size}", found=len(page))
        seen += page
        await asyncio.sleep(0)
    return seen


@check("list.filters", sessions=MANY)
async def filters(kit: Kit) -> None:
    """Filters match exactly: no prefix, no wildcard, no case folding; None is only sessions without the value."""
    tag = kit.unique()
    labels = [None, f"/a{tag}", f"/a{tag}b", f"/a{tag}_b", f"/a{tag}%b", f"/A{tag}", f"/a{tag}'--", f"/a{tag}*"]
    made: dict[str, str | None] = {}
    for label in labels:
        made[await kit.session(agent_id=label, project_root=label)] = label
    for label in (*labels, f"/a{tag}%", "%", "_", ""):
        wanted = sorted(session_id for session_id, own in made.items() if own == label)
        for where in (SessionFilter(agent_id=label), SessionFilter(project_root=label)):
            equal(await _listed(kit, where, made), wanted, f"the sessions that match {where}")
    both = SessionFilter(agent_id=labels[1], project_root=labels[2])
    equal(await _listed(kit, both, made), [], "the sessions that match two different labels")
    equal(await _listed(kit, SessionFilter(), made), sorted(made), "the sessions that an empty filter matches")


async def _listed(kit: Kit, where: SessionFilter, made: dict[str, Any]) -> list[str]:
    ids = [each for each in await kit.store.list_ids(where) if each in made]
    if kit.declares("meta"):
        rows = [row.id for row in (await kit.store.list_meta(where)).items if row.id in made]
        equal(sorted(rows), sorted(ids), f"list_meta and list_ids with {where}")
    return sorted(ids)


@check("list.filter-by-status", sessions=4)
async def filter_by_status(kit: Kit) -> None:
    """The status filter follows every change of status."""
    made = {await kit.session(): "idle" for _ in range(4)}
    for session_id, status in zip(made, ("running", "completed", "error"), strict=False):
        await kit.store.update_status(session_id, status)  # type: ignore[arg-type]
        made[session_id] = status
    for status in ("idle", "running", "completed", "error"):
        wanted = sorted(session_id for session_id, own in made.items() if own == status)
        found = await _listed(kit, SessionFilter(status=status), made)  # type: ignore[arg-type]
        equal(found, wanted, f"the sessions that are {status}")


@check("list.filter-follows-edits", capability="meta", sessions=2)
async def filter_follows_edits(kit: Kit) -> None:
    """A session whose label was changed is listed under the new one only."""
    tag = kit.unique()
    session_id = await kit.session(agent_id=f"old-{tag}")
    data = await kit.loaded(session_id)
    await kit.store.save_meta(replace(data, agent_id=f"new-{tag}"))
    equal(await kit.store.list_ids(SessionFilter(agent_id=f"old-{tag}")), [], "the ids under the old label")
    equal(await kit.store.list_ids(SessionFilter(agent_id=f"new-{tag}")), [session_id], "those under the new label")


@check("list.ids-amid-writes", layer="tasks", sessions=12)
async def ids_amid_writes(kit: Kit) -> None:
    """A walk over ids while others write, create and delete sees every session that exists throughout, once."""
    stay = [await kit.session() for _ in range(6)]
    stopped = False

    async def disturb() -> None:
        at = 0
        while not stopped:
            at += 1
            for session_id in stay:
                await kit.store.append_turns(session_id, [turn(at)])
            passing = await kit.session()
            await asyncio.sleep(0)
            await kit.store.delete(passing)

    disturbing = asyncio.create_task(disturb())
    try:
        for size in (1, 2, 3) * kit.count(5):
            found = await _walk_ids(kit, size)
            equal(sorted(each for each in found if each in stay), sorted(stay), f"a walk by pages of {size}")
    finally:
        stopped = True
        await disturbing


# -- by recency -------------------------------------------------------------------------------


async def _dated(kit: Kit, stamps: list[int]) -> list[str]:
    """Sessions with these `updated_at`, as ids in the order in which they have to be listed.

    Among equal stamps the order of creation is neither that of the ids nor its reverse.
    """
    made: list[tuple[int, bytes, str]] = []
    ids, half = sorted(kit.session_id() for _ in stamps), len(stamps) // 2
    for stamp, session_id in zip(stamps, ids[half:] + ids[:half], strict=True):
        await kit.store.save(samples.snapshot(session_id, updated_at=stamp), create=True)
        made.append((-stamp, session_id.encode(), session_id))
    return [session_id for _, _, session_id in sorted(made)]


@check("list.meta-in-order", capability="meta", sessions=MANY)
async def meta_in_order(kit: Kit) -> None:
    """`list_meta` gives the most recently updated first, ties by id, the same each time."""
    wanted = await _dated(kit, [FUTURE_MS, FUTURE_MS + 5, FUTURE_MS, FUTURE_MS - 1, FUTURE_MS, 5, 5, 7])
    for _ in range(3):
        page = await kit.store.list_meta()
        equal([row.id for row in page.items if row.id in wanted], wanted, "the order of the sessions")
        equal(page.next, None, "the cursor behind the whole listing")
        order = [(-row.updated_at, row.id.encode()) for row in page.items]
        equal(order, sorted(order), "the order of all rows")


@check("list.meta-pages", capability="meta", sessions=10)
async def meta_pages(kit: Kit) -> None:
    """Pages through ties show every session once, and the last page has no cursor."""
    wanted = await _dated(kit, [FUTURE_MS] * 10)
    everything = [row.id for row in (await kit.store.list_meta()).items]
    for size in (1, 3, 10, len(everything)):
        walked = await _walk_meta(kit, size)
        equal(walked, everything, f"a walk by pages of {size}")
        equal([each for each in walked if each in wanted], wanted, f"the ties, walked by pages of {size}")


async def _walk_meta(kit: Kit, size: int, between: Callable[[], Awaitable[None]] | None = None) -> list[str]:
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = await kit.store.list_meta(limit=size, after=cursor)
        holds(len(page.items) <= size, "the size of a page", expected=f"at most {size}", found=len(page.items))
        seen += [row.id for row in page.items]
        cursor = page.next
        if cursor is None:
            return seen
        holds(bool(page.items), "a page with a cursor behind it", expected="rows", found=page)
        if between is not None:
            await between()


@check("list.meta-limit", capability="meta", sessions=2)
async def meta_limit(kit: Kit) -> None:
    """`limit=0` is no row, a negative one ValueError; a cursor that is none of this listing's is ValueError."""
    await _dated(kit, [FUTURE_MS, FUTURE_MS])
    equal((await kit.store.list_meta(limit=0)).items, [], "list_meta(limit=0)")
    await raises(ValueError, kit.store.list_meta(limit=-1), "list_meta(limit=-1)")
    for wrong in ("", "not a cursor", "W10", "\ud83d"):
        await raises(ValueError, kit.store.list_meta(after=wrong), f"list_meta(after={wrong!a})")


@check("list.meta-amid-writes", capability="meta", layer="tasks", sessions=12)
async def meta_amid_writes(kit: Kit) -> None:
    """A walk by recency while other sessions move to the front shows each session that does not exactly once."""
    for size in (3, 2, 1) * kit.count(3):
        still = await _dated(kit, [samples.EPOCH_MS + 9 + at % 3 for at in range(7)])
        moving = await _dated(kit, [samples.EPOCH_MS + at % 3 for at in range(5)])

        left = moving.copy()

        async def move(left: list[str] = left) -> None:
            if left:
                await kit.store.append_turns(left.pop(), [turn(0)])

        found = await _walk_meta(kit, size, move)
        equal([each for each in found if each in still], still, f"the sessions at rest, walked by {size}")
        for session_id in moving:  # or they would fill the first pages of the next walk
            await kit.store.delete(session_id)


@check("list.recency-follows-writes", capability="meta", sessions=3)
async def recency_follows_writes(kit: Kit) -> None:
    """A session that is written heads the listing among those whose dates lie before; metadata alone moves nothing."""
    ids = await _dated(kit, [samples.EPOCH_MS + 2, samples.EPOCH_MS + 1, samples.EPOCH_MS])
    await kit.store.patch_meta(ids[2], {"x": 1})
    rows = [row.id for row in (await kit.store.list_meta()).items if row.id in ids]
    equal(rows, ids, "the order after a metadata write")
    await kit.store.append_turns(ids[2], [turn(0)])
    rows = [row.id for row in (await kit.store.list_meta()).items if row.id in ids]
    equal(rows, [ids[2], ids[0], ids[1]], "the order after an append")
