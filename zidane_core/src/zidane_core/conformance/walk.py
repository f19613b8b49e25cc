"""One step of a random walk: an operation on the store and on the memory store, whose answers have to agree.

Revisions, epochs and times differ between the two, so an operation names them by their place in what was answered so
far, and answers are compared without them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from zidane_core.errors import ZidaneError
from zidane_core.memory import MemoryStore
from zidane_core.records import SessionData, SessionHeader, SessionHistory, SessionRun, SessionTurn
from zidane_core.store import CAPABILITIES, ArtifactFilter, Guard, RunClaim, SessionFilter, SessionStore, Written

from . import samples
from .expectations import equal
from .kit import Kit

_ANSWERS_UNKNOWN = ("settle_send_request", "delete_artifact")
"""They answer False for an unknown session; whether that uses an operation id up is the store's affair."""

_DIFFERING = frozenset(("rev", "updatedAt", "quietMs", "epoch", "previous_rev", "previousRev"))


@dataclass(frozen=True)
class Op:
    """An operation drawn at random. All its parts are small numbers, so that they often meet again."""

    name: str
    session: int
    a: int
    b: int
    text: str
    guard: int
    """0 to 3: none, an expected revision, a fence, an operation id; `a` and `b` choose which."""


@dataclass
class Side:
    """One of the two stores, and what it has answered so far."""

    store: SessionStore
    nonce: str
    revs: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    """Of each session: a store may number those of two sessions apart, so one's says nothing about the other."""
    epochs: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    def guard(self, op: Op, declared: frozenset[str], session_id: str) -> Guard:
        revs, epochs = self.revs[session_id], self.epochs[session_id]
        if op.guard == 1 and "guards" in declared and revs:
            return Guard(expected_rev=revs[-1 - op.b % min(3, len(revs))])
        if op.guard == 2 and "guards" in declared and epochs:
            return Guard(fence=epochs[-1 - op.b % min(3, len(epochs))])
        if op.guard == 3 and "operations" in declared and op.name not in _ANSWERS_UNKNOWN:
            return Guard(op_id=f"op-{self.nonce}-{_keeper(op)}-{op.a}-{op.b % 2}")
        return Guard()

    def remember(self, answer: object, session_id: str) -> None:
        if isinstance(answer, Written):
            self.revs[session_id].append(answer.rev)
        elif isinstance(answer, RunClaim):
            self.revs[session_id].append(answer.rev)
            if answer.epoch:
                self.epochs[session_id].append(answer.epoch)


@dataclass
class Context:
    side: Side
    session_id: str
    schedule_id: str
    declared: frozenset[str]

    @property
    def store(self) -> SessionStore:
        return self.side.store


def _keeper(op: Op) -> str:
    """A store may keep the answers of each session, of its deletion and of the schedules apart, or not."""
    if "schedule" in op.name:
        return "schedule"
    return f"{op.session}-deletion" if op.name == "delete" else f"{op.session}"


Act: TypeAlias = "Callable[[Context, Op, Guard], Awaitable[object]]"


def _header(op: Op) -> SessionHeader | None:
    if op.b % 3 == 0:
        return None
    return samples.header(f"creation-{op.b % 2}", agent_id=f"agent-{op.b % 2}", metadata={"c": op.b})


def _turns(op: Op) -> list[SessionTurn]:
    return [samples.turn(op.a, op.text), *([samples.turn(op.a + 1, op.text)] if op.b % 2 else [])]


def _patch(op: Op) -> dict[str, Any]:
    return {f"k{op.a % 3}": op.text if op.b % 2 else msgspec.UNSET}


def _run(op: Op) -> SessionRun:
    return samples.run(f"r{op.a % 3}", label=op.text)


def _data(c: Context, op: Op) -> SessionData:
    return samples.snapshot(
        c.session_id,
        turns=_turns(op),
        runs=[_run(op)],
        metadata={f"k{op.a % 3}": op.text},
        status=("idle", "running", "error")[op.b % 3],
        creation_id=f"creation-{op.b % 2}",
        agent_id=f"agent-{op.b % 2}",
    )


def _append(c: Context, op: Op, guard: Guard) -> Awaitable[object]:
    run = _run(op) if op.b == 3 else None
    patch = _patch(op) if op.b == 2 else None
    return c.store.append_turns(c.session_id, _turns(op), create=_header(op), run=run, metadata=patch, guard=guard)


def _status(c: Context, op: Op, guard: Guard) -> Awaitable[object]:
    status: Any = ("idle", "running", "completed", "error")[op.a % 4]
    owner = samples.owner(f"{op.b}") if op.b % 2 else None
    return c.store.update_status(c.session_id, status, owner=owner, touch=op.b > 1, guard=guard)


def _mutate(c: Context, op: Op, guard: Guard) -> Awaitable[object]:
    def mutate(now: SessionHistory) -> SessionHistory | None:
        turns = list(now.turns)
        match op.a % 4:
            case 0:
                return replace(now, turns=turns[::-1])
            case 1:
                return replace(now, turns=turns[1:])
            case 2:
                return replace(now, runs=list(now.runs)[1:])
            case _:
                return None

    return c.store.mutate_history(c.session_id, mutate, guard=guard)


def _claim(c: Context, op: Op, guard: Guard) -> Awaitable[object]:
    epochs = c.side.epochs[c.session_id]
    displaces = (None, 0, epochs[-1] if epochs else 0)[op.a % 3]
    owner = samples.owner(f"{op.b}")
    return c.store.claim_run(c.session_id, owner=owner, displaces=displaces, create=_header(op), guard=guard)


def _renew(c: Context, op: Op, _: Guard) -> Awaitable[object]:
    epochs = c.side.epochs[c.session_id]
    return c.store.renew_run(c.session_id, fence=epochs[-1 - op.a % len(epochs)] if epochs else 1)


def _window(c: Context, op: Op, _: Guard) -> Awaitable[object]:
    if op.b % 2:
        return c.store.get_turns(c.session_id, last=op.a)
    return c.store.get_turns(c.session_id, op.a, None if op.b else op.a)


def _artifact(c: Context, op: Op, guard: Guard) -> Awaitable[object]:
    row = samples.artifact(c.session_id, f"a{op.a}", uri=f"u{op.b}", label=op.text)
    return c.store.upsert_artifact(row, guard=guard)


def _fire(c: Context, op: Op, guard: Guard) -> Awaitable[object]:
    return c.store.record_schedule_fire(samples.fire(c.schedule_id, f"f{op.a}", error=op.text), guard=guard)


def _plain(guard: Guard) -> Guard:
    """A schedule has no session, so nothing but an operation id can guard a write on it."""
    return Guard(op_id=guard.op_id)


MOST_HANDLES = 3

OPS: dict[str, tuple[str, Act]] = {
    "append": ("core", _append),
    "append more": ("core", _append),
    "update_run": ("core", lambda c, op, g: c.store.update_run(c.session_id, _run(op), create=_header(op), guard=g)),
    "update_status": ("core", _status),
    "save": ("core", lambda c, op, g: c.store.save(_data(c, op), create=op.b > 1, guard=g)),
    "delete": ("core", lambda c, op, g: c.store.delete(c.session_id, guard=g)),
    "get_turns": ("core", _window),
    "save_meta": ("meta", lambda c, op, g: c.store.save_meta(_data(c, op), keys=["k0"] if op.b else None, guard=g)),
    "patch_meta": ("meta", lambda c, op, g: c.store.patch_meta(c.session_id, _patch(op), guard=g)),
    "mutate_history": ("history", _mutate),
    "truncate": ("history", lambda c, op, g: c.store.truncate(c.session_id, f"t{op.a}", guard=g)),
    "claim_run": ("claims", _claim),
    "renew_run": ("claims", _renew),
    "upsert_artifact": ("artifacts", _artifact),
    "delete_artifact": ("artifacts", lambda c, op, g: c.store.delete_artifact(c.session_id, f"a{op.a}", guard=g)),
    "claim_send_request": (
        "send_requests",
        lambda c, op, g: c.store.claim_send_request(
            c.session_id, f"q{op.a}", op.text.replace("\0", "").replace("\ud83d", ""), create=_header(op), guard=g
        ),
    ),
    "settle_send_request": (
        "send_requests",
        lambda c, op, g: c.store.settle_send_request(c.session_id, f"q{op.a}", op.text if op.b else None, guard=g),
    ),
    "save_schedule": (
        "schedules",
        lambda c, op, g: c.store.save_schedule(
            samples.schedule(c.schedule_id, name=op.text, next_fire_at=op.a),
            keep_next_fire_at=op.b > 1,
            guard=_plain(g),
        ),
    ),
    "delete_schedule": ("schedules", lambda c, op, g: c.store.delete_schedule(c.schedule_id, guard=_plain(g))),
    "claim_schedule_fire": (
        "schedules",
        lambda c, op, g: c.store.claim_schedule_fire(c.schedule_id, op.a, op.b, guard=_plain(g)),
    ),
    "record_schedule_fire": ("schedules", lambda c, op, g: _fire(c, op, _plain(g))),
}


OTHER_HANDLE, REOPENED = "other handle", "reopened"
"""Steps that are no operation: go on with another handle, and with one that was opened after the last was closed."""


class Walk:
    """The store and its model, side by side, on sessions of its own."""

    def __init__(self, kit: Kit, sessions: int) -> None:
        self._kit = kit
        self._ids = [kit.session_id() for _ in range(sessions)]
        self._schedule_id = kit.schedule_id()
        self._declared = frozenset(each for each in CAPABILITIES if kit.declares(each))
        self._real, self._model = Side(kit.store, self._schedule_id), Side(MemoryStore(), self._schedule_id)
        self._opened: list[SessionStore] = []

    async def begin(self) -> None:
        self._kit.transcript.clear()
        await self._model.store.__aenter__()

    async def end(self) -> None:
        with self._kit.unseen():
            for session_id in self._ids:
                await self._kit.store.delete(session_id)
            if "schedules" in self._declared:
                await self._kit.store.delete_schedule(self._schedule_id)
        for handle in self._opened:
            await handle.aclose()
        await self._model.store.aclose()

    async def step(self, op: Op) -> None:
        """Do it on both, and compare the answers and the session."""
        if op.name in (OTHER_HANDLE, REOPENED):
            await self._go_on(op.name)
            return
        session_id = self._ids[op.session % len(self._ids)]
        _, act = OPS[op.name]
        answers: list[object] = []
        for side in (self._real, self._model):
            context = Context(side, session_id, self._schedule_id, self._declared)
            guard = side.guard(op, self._declared, session_id)
            answers.append(comparable(await _answer(act(context, op, guard), side, session_id)))
        equal(answers[0], answers[1], f"what {op.name} answered")
        await self._compare(session_id, op)

    async def _go_on(self, how: str) -> None:
        if len(self._opened) >= MOST_HANDLES:
            return
        if how == REOPENED and self._opened:
            await self._opened[-1].aclose()
        self._opened.append(await self._kit.open())
        self._real.store = self._opened[-1]

    async def _compare(self, session_id: str, op: Op) -> None:
        real, model = [await self._seen(side.store, session_id, op) for side in (self._real, self._model)]
        for name, expected in model.items():
            equal(real[name], expected, f"{name} after {op.name}")

    async def _seen(self, store: SessionStore, session_id: str, op: Op) -> dict[str, object]:
        mine = SessionFilter(agent_id="agent-1")
        seen: dict[str, object] = {
            "load": comparable(await store.load(session_id)),
            "list_ids": [each for each in await store.list_ids(mine) if each in self._ids],
        }
        if "meta" in self._declared:
            seen["get_meta"] = comparable(await store.get_meta(session_id))
        if "artifacts" in self._declared:
            seen["list_artifacts"] = await store.list_artifacts(ArtifactFilter(session_id=session_id))
        if "send_requests" in self._declared:
            seen["find_send_request"] = comparable(await store.find_send_request(session_id, f"q{op.a}"), "createdAt")
        if "schedules" in self._declared:
            schedules = [each for each in await store.list_schedules() if each.id == self._schedule_id]
            seen["list_schedules"] = schedules
            seen["list_schedule_fires"] = await store.list_schedule_fires(self._schedule_id, 9)
        return seen


async def _answer(call: Awaitable[object], side: Side, session_id: str) -> object:
    try:
        answer = await call
    except ZidaneError as error:
        return f"{type(error).__name__}"
    except ValueError:
        return "ValueError"
    side.remember(answer, session_id)
    return answer


def comparable(answer: object, *also: str) -> object:
    """An answer without what differs between two stores that do the same."""
    if not isinstance(answer, msgspec.Struct):
        return answer
    plain: dict[str, Any] = msgspec.to_builtins(answer)
    if isinstance(answer, Written):
        return {"added": answer.added, "changed": answer.rev != answer.previous}
    told = {key: value for key, value in plain.items() if key not in _DIFFERING and key not in also}
    told["claimed"] = plain.get("epoch") is not None if "epoch" not in also else None
    if isinstance(told.get("record"), dict):
        told["record"].pop("createdAt")
    return told
