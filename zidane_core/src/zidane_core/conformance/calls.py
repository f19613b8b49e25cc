"""Every method of the contract as a value, so that a rule can be checked on all of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from msgspec.structs import replace as changed

from zidane_core.records import SessionHeader, SessionHistory
from zidane_core.store import NO_GUARD, Guard, SessionStore

from . import samples
from .kit import Kit


@dataclass(frozen=True)
class Subject:
    """A session and what it has: `prepare` makes it so."""

    session_id: str
    schedule_id: str = "kit-none"
    epoch: int | None = None
    """Of the claim that holds it."""


@dataclass(frozen=True)
class Ask:
    """One call: on what, under which guard, and with which payload. Equal variants ask for the same."""

    subject: Subject
    guard: Guard = NO_GUARD
    create: SessionHeader | None = None
    variant: int = 0

    @property
    def id(self) -> str:
        return self.subject.session_id

    def under(self, guard: Guard) -> Ask:
        return replace(self, guard=guard)


Act: TypeAlias = "Callable[[SessionStore, Ask], Awaitable[object]]"


@dataclass(frozen=True)
class Write:
    """A write method. `unknown` is what an unknown session id gets where that is an answer and no error."""

    method: str
    act: Act
    capability: str = "core"
    creates: bool = False
    """It takes `create`."""
    moves_rev: bool = True
    touches: bool = True
    """It moves `updated_at`."""
    unknown: object = None
    fenced: bool = False
    """While a claim holds, it needs the claim's fence."""
    varies: bool = True
    """It has a payload that can differ."""
    on_schedule: bool = field(default=False)
    """It is about a schedule, and no session."""


# -- the core ---------------------------------------------------------------------------------


def _append(store: SessionStore, ask: Ask) -> Awaitable[object]:
    new = samples.turn(100, f"variant {ask.variant}")
    return store.append_turns(ask.id, [new], create=ask.create, guard=ask.guard)


def _append_with_run(store: SessionStore, ask: Ask) -> Awaitable[object]:
    new, run = samples.turn(101, f"variant {ask.variant}"), samples.run("r101")
    return store.append_turns(ask.id, [new], run=run, metadata={"x": 1}, create=ask.create, guard=ask.guard)


def _save(store: SessionStore, ask: Ask) -> Awaitable[object]:
    turns = [*samples.turns(0, 2), samples.turn(2, f"variant {ask.variant}")]
    data = samples.snapshot(
        ask.id,
        turns=turns,
        runs=[samples.run("r0")],
        metadata={"k": 1},
        creation_id=None if ask.create is None else ask.create.creation_id,
    )
    return store.save(data, create=ask.create is not None, guard=ask.guard)


def _save_with_runs(store: SessionStore, ask: Ask) -> Awaitable[object]:
    run = samples.run("r0", label=f"variant {ask.variant}")
    data = samples.snapshot(ask.id, turns=samples.turns(0, 3), runs=[run], metadata={"k": 1})
    return store.save(data, guard=ask.guard)


def _delete(store: SessionStore, ask: Ask) -> Awaitable[object]:
    return store.delete(ask.id, guard=ask.guard)


def _update_run(store: SessionStore, ask: Ask) -> Awaitable[object]:
    run = samples.run("r0", label=f"variant {ask.variant}")
    return store.update_run(ask.id, run, create=ask.create, guard=ask.guard)


def _update_status(store: SessionStore, ask: Ask) -> Awaitable[object]:
    return store.update_status(ask.id, "error" if ask.variant else "completed", create=ask.create, guard=ask.guard)


# -- meta and history -------------------------------------------------------------------------


def _save_meta(store: SessionStore, ask: Ask) -> Awaitable[object]:
    data = samples.snapshot(ask.id, metadata={"k": ask.variant})
    return store.save_meta(data, keys=["k"], guard=ask.guard)


def _save_meta_with_runs(store: SessionStore, ask: Ask) -> Awaitable[object]:
    data = samples.snapshot(ask.id, runs=[samples.run("r0", label=f"variant {ask.variant}")])
    return store.save_meta(data, keys=[], guard=ask.guard)


def _patch_meta(store: SessionStore, ask: Ask) -> Awaitable[object]:
    return store.patch_meta(ask.id, {"p": ask.variant}, guard=ask.guard)


def _mutate(store: SessionStore, ask: Ask) -> Awaitable[object]:
    def drop_last(history: SessionHistory) -> SessionHistory:
        return changed(history, turns=list(history.turns)[:-1])

    return store.mutate_history(ask.id, drop_last, guard=ask.guard)


def _mutate_runs(store: SessionStore, ask: Ask) -> Awaitable[object]:
    def relabel(history: SessionHistory) -> SessionHistory:
        return changed(history, runs=[changed(run, label="relabelled") for run in history.runs])

    return store.mutate_history(ask.id, relabel, guard=ask.guard)


def _truncate(store: SessionStore, ask: Ask) -> Awaitable[object]:
    return store.truncate(ask.id, f"t{2 - ask.variant}", guard=ask.guard)


# -- claims, requests, artifacts --------------------------------------------------------------


def _claim(store: SessionStore, ask: Ask) -> Awaitable[object]:
    return store.claim_run(
        ask.id,
        owner=samples.owner(f"variant {ask.variant}"),
        displaces=ask.subject.epoch,
        create=ask.create,
        guard=ask.guard,
    )


def _claim_request(store: SessionStore, ask: Ask) -> Awaitable[object]:
    return store.claim_send_request(ask.id, "q1", f"print {ask.variant}", create=ask.create, guard=ask.guard)


def _settle_request(store: SessionStore, ask: Ask) -> Awaitable[object]:
    return store.settle_send_request(ask.id, "q0", {"variant": ask.variant}, guard=ask.guard)


def _upsert_artifact(store: SessionStore, ask: Ask) -> Awaitable[object]:
    row = samples.artifact(ask.id, "a1", label=f"variant {ask.variant}")
    return store.upsert_artifact(row, guard=ask.guard)


def _delete_artifact(store: SessionStore, ask: Ask) -> Awaitable[object]:
    return store.delete_artifact(ask.id, f"a{'x' * ask.variant}0", guard=ask.guard)


# -- schedules --------------------------------------------------------------------------------


def _save_schedule(store: SessionStore, ask: Ask) -> Awaitable[object]:
    schedule = samples.schedule(ask.subject.schedule_id, name=f"variant {ask.variant}")
    return store.save_schedule(schedule, guard=ask.guard)


def _delete_schedule(store: SessionStore, ask: Ask) -> Awaitable[object]:
    return store.delete_schedule(ask.subject.schedule_id, guard=ask.guard)


def _claim_fire(store: SessionStore, ask: Ask) -> Awaitable[object]:
    due, following = samples.EPOCH_MS, samples.EPOCH_MS + 1 + ask.variant
    return store.claim_schedule_fire(ask.subject.schedule_id, due, following, guard=ask.guard)


def _record_fire(store: SessionStore, ask: Ask) -> Awaitable[object]:
    fire = samples.fire(ask.subject.schedule_id, "f0", error=f"variant {ask.variant}")
    return store.record_schedule_fire(fire, guard=ask.guard)


WRITES = (
    Write("append_turns", _append, creates=True),
    Write("append_turns with a run", _append_with_run, creates=True, fenced=True),
    Write("save", _save, creates=True, touches=False),
    Write("save with runs", _save_with_runs, touches=False, fenced=True),
    Write("delete", _delete, unknown=False, varies=False),
    Write("update_run", _update_run, creates=True, fenced=True),
    Write("update_status", _update_status, creates=True, fenced=True),
    Write("save_meta", _save_meta, "meta", touches=False),
    Write("save_meta with runs", _save_meta_with_runs, "meta", touches=False, fenced=True),
    Write("patch_meta", _patch_meta, "meta", touches=False),
    Write("mutate_history", _mutate, "history", varies=False),
    Write("mutate_history of runs", _mutate_runs, "history", varies=False, fenced=True),
    Write("truncate", _truncate, "history"),
    Write("claim_run", _claim, "claims", creates=True),
    Write("claim_send_request", _claim_request, "send_requests", creates=True, moves_rev=False, touches=False),
    Write("settle_send_request", _settle_request, "send_requests", touches=False, unknown=False),
    Write("upsert_artifact", _upsert_artifact, "artifacts", touches=False),
    Write("delete_artifact", _delete_artifact, "artifacts", touches=False, unknown=False),
)
"""Every write on a session. Some methods stand twice, with payloads that have rules of their own."""

SCHEDULE_WRITES = (
    Write("save_schedule", _save_schedule, "schedules", on_schedule=True),
    Write("delete_schedule", _delete_schedule, "schedules", on_schedule=True, varies=False),
    Write("claim_schedule_fire", _claim_fire, "schedules", on_schedule=True),
    Write("record_schedule_fire", _record_fire, "schedules", on_schedule=True),
)


def writes_of(kit: Kit, *, schedules: bool = False) -> list[Write]:
    """The writes whose capability the store declares."""
    chosen = WRITES + SCHEDULE_WRITES if schedules else WRITES
    return [write for write in chosen if write.capability == "core" or kit.declares(write.capability)]


async def prepare(
    kit: Kit, *, store: SessionStore | None = None, claimed: bool = False, write: Write | None = None
) -> Subject:
    """A new session with the turns t0 to t2, the run r0, metadata k, artifact a0 and send request q0, as declared.

    For one `write`: with what that needs only, since the rest takes most of a check's time.
    """
    store = store or kit.store

    def wanted(capability: str) -> bool:
        return kit.declares(capability) and (write is None or write.capability == capability)

    with kit.unseen():
        session_id, creation = await kit.next_session_id(store), kit.header(metadata={"k": 0})
        await store.append_turns(session_id, samples.turns(0, 3), create=creation, run=samples.run("r0"))
        if wanted("artifacts"):
            await store.upsert_artifact(samples.artifact(session_id, "a0"))
        if wanted("send_requests"):
            await store.claim_send_request(session_id, "q0", "print 0")
        schedule_id = kit.schedule_id()
        if wanted("schedules"):
            await store.save_schedule(samples.schedule(schedule_id))
        claim = await store.claim_run(session_id, owner=samples.owner()) if claimed else None
    return Subject(session_id, schedule_id, None if claim is None else claim.epoch)


Read: TypeAlias = "Callable[[SessionStore, str], Awaitable[object]]"

READS: dict[str, tuple[str, Read]] = {
    "load": ("core", lambda store, session_id: store.load(session_id)),
    "list_ids": ("core", lambda store, _: store.list_ids()),
    "get_turns": ("core", lambda store, session_id: store.get_turns(session_id)),
    "get_meta": ("meta", lambda store, session_id: store.get_meta(session_id)),
    "list_meta": ("meta", lambda store, _: store.list_meta()),
    "find_send_request": ("send_requests", lambda store, session_id: store.find_send_request(session_id, "q0")),
    "list_artifacts": ("artifacts", lambda store, _: store.list_artifacts()),
    "list_schedules": ("schedules", lambda store, _: store.list_schedules()),
    "list_schedule_fires": ("schedules", lambda store, _: store.list_schedule_fires("kit-none", 1)),
    "generate_session_id": ("ids", lambda store, _: store.generate_session_id()),
    "generate_turn_id": ("ids", lambda store, _: store.generate_turn_id()),
    "health": ("core", lambda store, _: store.health()),
}
"""Every method that only reads: its capability, and a call of it."""


def reads_of(kit: Kit) -> dict[str, Read]:
    return {
        name: call for name, (capability, call) in READS.items() if capability == "core" or kit.declares(capability)
    }
