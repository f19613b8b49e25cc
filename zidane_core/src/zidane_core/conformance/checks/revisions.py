"""Revisions and recency: what each write moves."""

from __future__ import annotations

from msgspec.structs import replace

from zidane_core.conformance import samples
from zidane_core.conformance.calls import Ask, prepare, writes_of
from zidane_core.conformance.check import Collector
from zidane_core.conformance.expectations import equal, holds
from zidane_core.conformance.kit import Kit
from zidane_core.conformance.samples import turn
from zidane_core.records import SessionData

check = Collector()

LONG_AGO = samples.EPOCH_MS + 1_000
"""Later than what the kit hands to `save`, earlier than any clock."""
AHEAD_MS = 4_102_444_800_000
"""The year 2100: no store's clock is past it."""


@check("rev.moves")
async def moves(kit: Kit) -> None:
    """Every write gives the session a new, greater revision, except those that the contract names."""
    for write in (each for each in writes_of(kit) if each.method != "delete"):
        subject = await prepare(kit, write=write)
        before = (await kit.loaded(subject.session_id)).rev or 0
        answer = await write.act(kit.store, Ask(subject))
        after = (await kit.loaded(subject.session_id)).rev or 0
        if write.moves_rev:
            holds(after > before, f"rev after {write.method}", expected=f"more than {before}", found=after)
            equal(getattr(answer, "rev", after), after, f"the rev that {write.method} answered")
            equal(getattr(answer, "previous_rev", None) or _previous(answer, before), before, "the rev it tells before")
        else:
            equal(after, before, f"rev after {write.method}")


def _previous(answer: object, otherwise: int) -> object:
    found = getattr(answer, "previous", otherwise)
    return found if isinstance(found, int) else otherwise


@check("rev.touches")
async def touches(kit: Kit) -> None:
    """Activity moves `updated_at` to the store's clock; metadata, artifacts and send requests do not move it."""
    for write in (each for each in writes_of(kit) if each.method != "delete"):
        subject = await prepare(kit, write=write)
        await _age(kit, subject.session_id)
        before = (await kit.loaded(subject.session_id)).updated_at
        await write.act(kit.store, Ask(subject))
        after = (await kit.loaded(subject.session_id)).updated_at
        if write.touches:
            expected = f"later than {before}"
            holds(after > before, f"updated_at after {write.method}", expected=expected, found=after)
        else:
            equal(after, before, f"updated_at after {write.method}")


async def _age(kit: Kit, session_id: str) -> None:
    """Make the session's `updated_at` old: a session made anew by `save` has the one that it is given."""
    with kit.unseen():
        old = await kit.loaded(session_id)
        requests = kit.declares("send_requests")
        await kit.store.delete(session_id)
        await kit.store.save(replace(old, updated_at=LONG_AGO, creation_id=None), create=True)
        if kit.declares("artifacts"):
            await kit.store.upsert_artifact(samples.artifact(session_id, "a0"))
        if requests:
            await kit.store.claim_send_request(session_id, "q0", "print 0")
    equal((await kit.loaded(session_id)).updated_at, LONG_AGO, "updated_at of a session that `save` made")


@check("rev.touch-false")
async def touch_false(kit: Kit) -> None:
    """`update_status(touch=False)` leaves `updated_at` alone, and moves `rev`."""
    subject = await prepare(kit)
    await _age(kit, subject.session_id)
    before = await kit.loaded(subject.session_id)
    await kit.store.update_status(subject.session_id, "error", touch=False)
    after = await kit.loaded(subject.session_id)
    equal((after.updated_at, after.status), (before.updated_at, "error"), "the session")
    holds((after.rev or 0) > (before.rev or 0), "rev", expected=f"more than {before.rev}", found=after.rev)


@check("rev.recency-never-falls")
async def recency_never_falls(kit: Kit) -> None:
    """`save` and `save_meta` write the later of the stored and the given `updated_at`, and activity never lowers it."""
    session_id = await kit.session(1)
    loaded = await kit.loaded(session_id)
    await kit.store.save(replace(loaded, updated_at=1))
    equal((await kit.loaded(session_id)).updated_at, loaded.updated_at, "updated_at after a save with an older one")
    await kit.store.save(replace(loaded, updated_at=AHEAD_MS))
    equal((await kit.loaded(session_id)).updated_at, AHEAD_MS, "updated_at after a save with a later one")
    await kit.store.append_turns(session_id, [turn(1)])
    await kit.store.update_status(session_id, "completed")
    equal((await kit.loaded(session_id)).updated_at, AHEAD_MS, "updated_at after activity, when it is ahead")
    if kit.declares("meta"):
        await kit.store.save_meta(replace(loaded, updated_at=1))
        equal((await kit.loaded(session_id)).updated_at, AHEAD_MS, "updated_at after save_meta with an older one")
        await kit.store.save_meta(replace(loaded, updated_at=AHEAD_MS + 1))
        equal((await kit.loaded(session_id)).updated_at, AHEAD_MS + 1, "updated_at after save_meta with a later one")


@check("rev.unique")
async def unique(kit: Kit) -> None:
    """A session's revisions rise by every write, however many fall into one millisecond."""
    session_id = await kit.session()
    revs = [(await kit.loaded(session_id)).rev or 0]
    for at in range(kit.count(100, least=20)):
        written = await kit.store.append_turns(session_id, [turn(at)])
        equal(written.previous, revs[-1], "the revision before the write")
        revs.append(written.rev)
        if kit.declares("meta"):
            revs.append((await kit.store.patch_meta(session_id, {"at": at})).rev)
    equal(revs, sorted(set(revs)), "the revisions, in the order of the writes")


@check("rev.survives-deletion")
async def survives_deletion(kit: Kit) -> None:
    """A session made again under a deleted id never has a revision that the id had before."""
    session_id = kit.session_id()
    seen: list[int] = []
    for _ in range(5):
        for at in range(3):
            create = kit.header() if at == 0 else None
            seen.append((await kit.store.append_turns(session_id, [turn(at)], create=create)).rev)
        await kit.store.delete(session_id)
    equal(seen, sorted(set(seen)), "the revisions through five lives")


@check("rev.same-everywhere", capability="meta")
async def same_everywhere(kit: Kit) -> None:
    """`load`, `get_meta` and `list_meta` tell the same revision, status, owner and times."""
    subject = await prepare(kit, claimed=kit.declares("claims"))
    data = await kit.loaded(subject.session_id)
    page = await kit.store.list_meta()
    listed = [row for row in page.items if row.id == subject.session_id]
    for row in [await kit.row(subject.session_id), *listed]:
        equal(_common(row), _common(data), "what the meta row tells")
    equal(len(listed), 1, "how often the session is listed")


def _common(one: object) -> list[object]:
    fields = [name for name in SessionData.__struct_fields__ if name not in ("turns", "runs", "quiet_ms", "damage")]
    return [(name, getattr(one, name)) for name in fields if name not in ("creation_id", "extra")]
