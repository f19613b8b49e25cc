"""Send requests, artifacts, schedules, generated ids."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from zidane_core.blocks import JsonValue
from zidane_core.conformance.check import Collector
from zidane_core.conformance.expectations import equal, holds, raises
from zidane_core.conformance.kit import Kit
from zidane_core.conformance.samples import EPOCH_MS, artifact, fire, owner, schedule, turn
from zidane_core.errors import InvalidContentError, ScheduleNotFoundError, SessionNotFoundError
from zidane_core.records import SendRequestRecord
from zidane_core.store import (
    ARTIFACTS_PER_SESSION_CAP,
    FIRE_HISTORY,
    SEND_REQUEST_HISTORY,
    ArtifactFilter,
    SendRequestClaim,
)

check = Collector()

# -- send requests ----------------------------------------------------------------------------


@check("send.claimed-once", capability="send_requests")
async def send_claimed_once(kit: Kit) -> None:
    """A request id is claimed once; a later claim gets the record that holds it, fingerprint and owner unchanged."""
    session_id = await kit.session(1)
    before = await kit.loaded(session_id)
    first = await kit.store.claim_send_request(session_id, "q", "print", owner=owner("one"))
    equal(first, SendRequestClaim(claimed=True), "the answer to the first claim")
    second = await kit.store.claim_send_request(session_id, "q", "other", owner=owner("two"))
    record = second.record
    equal(second.claimed, False, "whether the second claim was granted")
    found = await kit.store.find_send_request(session_id, "q")
    equal(found, record, "what find_send_request gives")
    told = None if record is None else replace(record, created_at=0)
    equal(told, SendRequestRecord(request_id="q", fingerprint="print", created_at=0, owner=owner("one")), "the record")
    equal(await kit.store.load(session_id), before, "the session")
    equal(await kit.store.find_send_request(session_id, "other"), None, "an id that nobody claimed")
    equal(await kit.store.find_send_request(kit.session_id(), "q"), None, "an id on an unknown session")


@check("send.settled", capability="send_requests")
async def send_settled(kit: Kit) -> None:
    """A settled claim keeps its result; a null result drops the claim; settling what nobody claimed is False."""
    session_id = await kit.session(1)
    await kit.store.claim_send_request(session_id, "q", "print")
    equal(await kit.store.settle_send_request(session_id, "other", 1), False, "settling an unclaimed id")
    results: list[JsonValue] = [{"ok": [1, None, "\ud83d"]}, 0, False, "", [], {}]
    for result in results:
        equal(await kit.store.settle_send_request(session_id, "q", result), True, "the answer to settling")
        found = await kit.store.find_send_request(session_id, "q")
        equal(None if found is None else found.result, result, "the result")
    equal(await kit.store.settle_send_request(session_id, "q", None), True, "the answer to dropping the claim")
    equal(await kit.store.find_send_request(session_id, "q"), None, "the dropped claim")
    equal((await kit.store.claim_send_request(session_id, "q", "p")).claimed, True, "a new claim of the id")


@check("send.kept", capability="send_requests")
async def send_kept(kit: Kit) -> None:
    """A session keeps its 256 newest request ids; the oldest goes first."""
    session_id = await kit.session()
    extra, total = 3, SEND_REQUEST_HISTORY + 3
    with kit.unseen():
        for at in range(extra):
            await kit.store.claim_send_request(session_id, f"q{at}", "print")
        await kit.store.settle_send_request(session_id, "q0", "done")  # which does not make it new
        later = [kit.store.claim_send_request(session_id, f"q{at}", "print") for at in range(extra, total)]
        await asyncio.gather(*later)
        records = await asyncio.gather(*(kit.store.find_send_request(session_id, f"q{at}") for at in range(total)))
    found = [at for at, record in enumerate(records) if record is not None]
    equal(found, list(range(extra, SEND_REQUEST_HISTORY + extra)), "the request ids that are kept")


@check("send.one-winner", capability="send_requests", layer="tasks")
async def send_one_winner(kit: Kit) -> None:
    """Of concurrent claims of one request id exactly one is granted."""
    session_id = await kit.session()
    for at in range(kit.count(20, least=3)):
        calls = [kit.store.claim_send_request(session_id, f"q{at}", "print") for _ in range(8)]
        granted = [claim for claim in await asyncio.gather(*calls) if claim.claimed]
        equal(len(granted), 1, "how many claims were granted")


@check("send.reopened", capability="send_requests", layer="reopen")
async def send_reopened(kit: Kit) -> None:
    """A claimed request id is still refused, with its record, after the store was closed and opened again."""
    session_id = await kit.session()
    await kit.store.claim_send_request(session_id, "q", "print", owner=owner())
    await kit.store.settle_send_request(session_id, "q", {"done": True})
    await kit.store.aclose()
    claim = await (await kit.open()).claim_send_request(session_id, "q", "print")
    equal((claim.claimed, claim.record and claim.record.result), (False, {"done": True}), "a claim after reopening")


# -- artifacts --------------------------------------------------------------------------------


@check("artifact.upserted", capability="artifacts")
async def artifact_upserted(kit: Kit) -> None:
    """Artifacts are unique by session, kind and uri: a second one refreshes the first, whose identity stays."""
    session_id = await kit.session()
    first = artifact(session_id, "a0", meta={"size": 1}, run_id="r0", turn_id="t0", project_root="/p")
    equal(await kit.store.upsert_artifact(first), first, "the answer to the first")
    again = replace(first, id="a9", label="new", created_at=1, updated_at=EPOCH_MS + 5, run_id="r9", meta=None)
    merged = replace(first, label="new", updated_at=EPOCH_MS + 5)
    equal(await kit.store.upsert_artifact(again), merged, "the answer to the second")
    other = artifact(session_id, "a1", uri=first.uri, kind="commit")
    equal(await kit.store.upsert_artifact(other), other, "the answer to another kind with the same uri")
    found = await _artifacts(kit, session_id)
    equal(found, [merged, other], "the artifacts")
    taken = kit.store.upsert_artifact(artifact(session_id, "a1", uri="elsewhere"))
    await raises(InvalidContentError, taken, "another artifact under a taken id")
    unknown = kit.store.upsert_artifact(artifact(kit.session_id(), "a0"))
    await raises(SessionNotFoundError, unknown, "an artifact of an unknown session")


async def _artifacts(kit: Kit, session_id: str) -> list[object]:
    return list(await kit.store.list_artifacts(ArtifactFilter(session_id=session_id)))


@check("artifact.filters", capability="artifacts", sessions=2)
async def artifact_filters(kit: Kit) -> None:
    """Artifacts are listed most recently updated first, ties by id, filtered exactly; limits are numbers."""
    one, two, tag = await kit.session(), await kit.session(), kit.unique()
    rows = [
        artifact(one, "a", kind=tag, updated_at=EPOCH_MS + 1, project_root="/p"),
        artifact(one, "c", kind=tag, updated_at=EPOCH_MS + 9, project_root="/p%"),
        artifact(two, "b", kind=tag, updated_at=EPOCH_MS + 9),
        artifact(two, "d", kind=f"{tag}%", uri="x'--"),
    ]
    for row in rows:
        await kit.store.upsert_artifact(row)
    wanted: list[tuple[ArtifactFilter, str]] = [
        (ArtifactFilter(kind=tag), "bca"),
        (ArtifactFilter(kind=tag, limit=2), "bc"),
        (ArtifactFilter(kind=tag, limit=0), ""),
        (ArtifactFilter(kind=f"{tag}%"), "d"),
        (ArtifactFilter(kind="%"), ""),
        (ArtifactFilter(session_id=one), "ca"),
        (ArtifactFilter(session_id=two, uri="x'--"), "d"),
        (ArtifactFilter(kind=tag, project_root="/p"), "a"),
        (ArtifactFilter(kind=tag, project_root=None), "b"),
        (ArtifactFilter(kind=tag, since=EPOCH_MS + 9), "bc"),
        (ArtifactFilter(session_id=kit.session_id()), ""),
    ]
    for where, ids in wanted:
        found = "".join(row.id for row in await kit.store.list_artifacts(where))
        equal(found, ids, f"the artifacts that match {where}")
    await raises(ValueError, kit.store.list_artifacts(ArtifactFilter(limit=-1)), "list_artifacts(limit=-1)")


@check("artifact.cap", capability="artifacts")
async def artifact_cap(kit: Kit) -> None:
    """A session keeps at most 200 artifacts: one more drops the oldest file, and other kinds only after all files."""
    session_id = await kit.session()
    with kit.unseen():
        rows = [
            artifact(session_id, f"a{at}", kind="file" if at in (50, 51) else "commit", created_at=EPOCH_MS - at)
            for at in range(ARTIFACTS_PER_SESSION_CAP)
        ]
        await asyncio.gather(*(kit.store.upsert_artifact(row) for row in rows))
        await kit.store.upsert_artifact(artifact(session_id, "again", uri="file:///a7", kind="commit"))
    equal(len(await _artifacts(kit, session_id)), ARTIFACTS_PER_SESSION_CAP, "how many artifacts there are at the cap")
    for added, evicted in (("n0", "a51"), ("n1", "a50"), ("n2", "a199")):
        await kit.store.upsert_artifact(artifact(session_id, added, kind="commit"))
        ids = {getattr(row, "id", "") for row in await _artifacts(kit, session_id)}
        told = (len(ids), added in ids, evicted in ids)
        equal(told, (ARTIFACTS_PER_SESSION_CAP, True, False), f"how many there are, {added} and {evicted} among them")


@check("artifact.counted", capability="artifacts", also=("meta",))
async def artifact_counted(kit: Kit) -> None:
    """A meta row counts the session's artifacts; deleting one that is not there is False and changes nothing."""
    session_id = await kit.session()
    for wanted in (1, 2, 3):
        await kit.store.upsert_artifact(artifact(session_id, f"a{wanted}"))
        equal((await kit.row(session_id)).artifact_count, wanted, "the count after one more")
    await kit.store.upsert_artifact(artifact(session_id, "x", uri="file:///a1"))
    equal((await kit.row(session_id)).artifact_count, 3, "the count after a refresh")
    equal(await kit.store.delete_artifact(session_id, "a2"), True, "the answer to deleting one")
    equal(await kit.store.delete_artifact(session_id, "a2"), False, "the answer to deleting it again")
    equal((await kit.row(session_id)).artifact_count, 2, "the count after deleting one")


# -- schedules --------------------------------------------------------------------------------


async def _schedule(kit: Kit, schedule_id: str) -> object:
    return next((each for each in await kit.store.list_schedules() if each.id == schedule_id), None)


@check("schedule.saved", capability="schedules")
async def schedule_saved(kit: Kit) -> None:
    """Schedules are listed oldest first with all their fields, replaced in place, and deleted with their fires."""
    ids = [kit.schedule_id() for _ in range(3)]
    for schedule_id in ids:
        await kit.store.save_schedule(schedule(schedule_id, cron="* * * * *", metadata={"a": "\ud83d"}))
    edited = schedule(ids[0], name="edited", every_ms=5, timezone="Europe/Berlin", session_id="s", enabled=False)
    await kit.store.save_schedule(edited)
    listed = [each for each in await kit.store.list_schedules() if each.id in ids]
    equal([each.id for each in listed], ids, "the order of the schedules")
    equal(listed[0], edited, "the edited schedule")
    equal(await kit.store.delete_schedule(ids[1]), True, "the answer to delete_schedule")
    equal(await kit.store.delete_schedule(ids[1]), False, "the answer to deleting it again")
    equal(await _schedule(kit, ids[1]), None, "the deleted schedule")


@check("schedule.edit-undoes-no-fire", capability="schedules")
async def schedule_edit_undoes_no_fire(kit: Kit) -> None:
    """Saving with `keep_next_fire_at` keeps the stored time, so that an edit undoes no claimed fire."""
    schedule_id = kit.schedule_id()
    await kit.store.save_schedule(schedule(schedule_id, next_fire_at=10))
    await kit.store.save_schedule(schedule(schedule_id, next_fire_at=99, name="new"), keep_next_fire_at=True)
    equal(await _schedule(kit, schedule_id), schedule(schedule_id, next_fire_at=10, name="new"), "the kept schedule")
    await kit.store.save_schedule(schedule(schedule_id, next_fire_at=99))
    equal(await _schedule(kit, schedule_id), schedule(schedule_id, next_fire_at=99), "the replaced schedule")
    new = kit.schedule_id()
    await kit.store.save_schedule(schedule(new, next_fire_at=7), keep_next_fire_at=True)
    equal(await _schedule(kit, new), schedule(new, next_fire_at=7), "a new schedule, saved to keep its time")


@check("schedule.fire-claimed-once", capability="schedules")
async def schedule_fire_claimed_once(kit: Kit) -> None:
    """A due fire is had once, and sets the next one; not of a schedule that is gone, off or due at another time."""
    schedule_id = kit.schedule_id()
    await kit.store.save_schedule(schedule(schedule_id, next_fire_at=10))
    for due, following, granted in ((9, 20, False), (10, 20, True), (10, 30, False), (20, None, True), (20, 5, False)):
        found = await kit.store.claim_schedule_fire(schedule_id, due, following)
        equal(found, granted, f"the answer to claiming the fire due at {due}")
    equal(await _schedule(kit, schedule_id), schedule(schedule_id, next_fire_at=None), "the schedule after its last")
    await kit.store.save_schedule(schedule(schedule_id, next_fire_at=10, enabled=False))
    equal(await kit.store.claim_schedule_fire(schedule_id, 10, 20), False, "claiming a fire of a disabled schedule")
    equal(await kit.store.claim_schedule_fire(kit.schedule_id(), 10, 20), False, "claiming a fire of an unknown one")


@check("schedule.one-winner", capability="schedules", layer="tasks")
async def schedule_one_winner(kit: Kit) -> None:
    """Of concurrent claims of one fire exactly one is granted."""
    schedule_id = kit.schedule_id()
    await kit.store.save_schedule(schedule(schedule_id, next_fire_at=0))
    for at in range(kit.count(30, least=4)):
        calls = [kit.store.claim_schedule_fire(schedule_id, at, at + 1) for _ in range(8)]
        equal(sum(await asyncio.gather(*calls)), 1, "how many claims were granted")


@check("schedule.one-winner-instances", capability="schedules", layer="instances")
async def schedule_one_winner_instances(kit: Kit) -> None:
    """Of concurrent claims of one fire through several handles exactly one is granted."""
    handles = [kit.store, await kit.open(), await kit.open()]
    schedule_id = kit.schedule_id()
    await kit.store.save_schedule(schedule(schedule_id, next_fire_at=0))
    for at in range(kit.count(30, least=4)):
        calls = [handle.claim_schedule_fire(schedule_id, at, at + 1) for handle in handles]
        equal(sum(await asyncio.gather(*calls)), 1, "how many claims were granted")


@check("schedule.fires", capability="schedules")
async def schedule_fires(kit: Kit) -> None:
    """Fires are listed newest first, replaced by id in place, and the 50 newest are kept; listings show the last."""
    schedule_id = kit.schedule_id()
    await kit.store.save_schedule(schedule(schedule_id))
    equal(await kit.store.list_schedule_fires(schedule_id, 5), [], "the fires of a new schedule")
    total = FIRE_HISTORY + 3
    with kit.unseen():
        for at in range(total):
            await kit.store.record_schedule_fire(fire(schedule_id, f"f{at}", fired_at=EPOCH_MS - at))
    done = fire(schedule_id, f"f{total - 2}", status="completed", run_id="r0")
    await kit.store.record_schedule_fire(done)
    found = await kit.store.list_schedule_fires(schedule_id, total)
    equal([each.id for each in found], [f"f{at}" for at in range(total - 1, 2, -1)], "the fires")
    equal(found[1], done, "the fire that was completed")
    equal(await kit.store.list_schedule_fires(schedule_id, 2), found[:2], "two fires")
    equal(await kit.store.list_schedule_fires(schedule_id, 0), [], "no fires")
    await raises(ValueError, kit.store.list_schedule_fires(schedule_id, -1), "list_schedule_fires with -1")
    equal(await _schedule(kit, schedule_id), schedule(schedule_id, last_fire=found[0]), "the listed schedule")


@check("schedule.unknown", capability="schedules")
async def schedule_unknown(kit: Kit) -> None:
    """A fire of an unknown schedule is ScheduleNotFoundError and stores nothing; its fires are an empty list."""
    schedule_id = kit.schedule_id()
    call = kit.store.record_schedule_fire(fire(schedule_id, "f0"))
    await raises(ScheduleNotFoundError, call, "recording a fire of an unknown schedule")
    equal(await kit.store.list_schedule_fires(schedule_id, 5), [], "the fires of an unknown schedule")
    await kit.store.save_schedule(schedule(schedule_id))
    await kit.store.record_schedule_fire(fire(schedule_id, "f0"))
    await kit.store.delete_schedule(schedule_id)
    await kit.store.save_schedule(schedule(schedule_id))
    equal(await kit.store.list_schedule_fires(schedule_id, 5), [], "the fires of a schedule that was made again")


@check("schedule.outlives-sessions", capability="schedules")
async def schedule_outlives_sessions(kit: Kit) -> None:
    """Deleting the session that a schedule names leaves the schedule and its fires."""
    session_id, schedule_id = await kit.session(1), kit.schedule_id()
    await kit.store.save_schedule(schedule(schedule_id, session_id=session_id))
    await kit.store.record_schedule_fire(fire(schedule_id, "f0", session_id=session_id))
    await kit.store.delete(session_id)
    holds(await _schedule(kit, schedule_id) is not None, "the schedule", expected="to be there", found=None)
    equal(len(await kit.store.list_schedule_fires(schedule_id, 5)), 1, "how many fires it has")


# -- generated ids ----------------------------------------------------------------------------


@check("ids.generated", capability="ids")
async def ids_generated(kit: Kit) -> None:
    """Generated ids are new each time, and legal."""
    sessions = [await kit.store.generate_session_id() for _ in range(50)]
    turn_ids = [await kit.store.generate_turn_id() for _ in range(50)]
    equal((len(set(sessions)), len(set(turn_ids))), (50, 50), "how many of fifty ids differ")
    session_id = kit.adopt(sessions[0])
    await kit.store.append_turns(session_id, [turn(0, id=turn_ids[0])], create=kit.header())
    equal((await kit.store.get_turns(session_id))[0].id, turn_ids[0], "the turn's id")
    holds(sessions[0] not in sessions[1:], "a later id", expected="another", found=sessions[0])
