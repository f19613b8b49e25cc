"""What each route does with the served store: one call of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, cast

from msgspec import UNSET
from msgspec.structs import replace

from zidane_core.errors import SessionNotFoundError, ZidaneError
from zidane_core.records import Record, SessionData, SessionHistory
from zidane_core.store import TURN_MAX_BYTES, ArtifactFilter, Capabilities, Guard, SessionTexts, TransactionalStore
from zidane_store_remote._wire import bodies
from zidane_store_remote._wire.bodies import Changed
from zidane_store_remote._wire.headers import PROTOCOLS
from zidane_store_remote._wire.problems import InvalidArgumentError

from .calls import Call, patch_of

Answer: TypeAlias = Record | SessionTexts
Handler = Callable[[Call], Awaitable[Answer]]

HANDLERS: dict[str, Handler] = {}
"""By the name of their route."""

BODY_OVERHEAD_BYTES = 64 * 1024
"""What a request may hold besides one turn."""


def handles(handler: Handler) -> Handler:
    HANDLERS[handler.__name__] = handler
    return handler


@handles
async def service(call: Call) -> Record:
    return bodies.Service(
        service="zidane",
        protocols=PROTOCOLS,
        capabilities=_capabilities(call),
        max_body_bytes=call.serving.max_body_bytes,
        max_page=call.serving.max_page,
        scope=call.token.scope,
        read_only=call.token.read_only,
    )


def _capabilities(call: Call) -> Capabilities:
    """Those of the served store, as they are when seen through this server."""
    served = call.serving.store.capabilities
    largest = min(served.max_turn_bytes or TURN_MAX_BYTES, call.serving.max_body_bytes - BODY_OVERHEAD_BYTES)
    return replace(
        served,
        shared="network",
        scopes=served.scopes and call.token.scope is None,
        max_turn_bytes=max(0, largest),
    )


@handles
async def health(call: Call) -> Record:
    return await call.store.health()


# -- the core ---------------------------------------------------------------------------------


@handles
async def list_ids(call: Call) -> Record:
    found = await call.store.list_ids(call.filter, limit=call.page + 1, after=call.query.get("after"))
    items = found[: call.page]
    return bodies.IdPage(items=items, next=items[-1] if len(found) > len(items) > 0 else None)


@handles
async def load(call: Call) -> Answer:
    if call.takes_lines and isinstance(call.store, TransactionalStore) and "damaged" not in call.query:
        texts = await call.store.load_texts(call.session_id)
        if texts is None:
            raise SessionNotFoundError(call.session_id)
        return texts
    session = await call.store.load(call.session_id, damaged=call.query.get("damaged", "raise"))
    if session is None:
        raise SessionNotFoundError(call.session_id)
    return session


@handles
async def save(call: Call) -> Record:
    body = cast("bodies.Save", call.body)
    session = _snapshot(call, body.header, turns=body.turns, runs=body.runs, metadata=body.metadata)
    return await call.store.save(session, create=body.create, guard=call.guard)


@handles
async def delete(call: Call) -> Record:
    return Changed(changed=await call.store.delete(call.session_id, guard=call.guard))


@handles
async def append_turns(call: Call) -> Record:
    body = cast("bodies.Append", call.body)
    patch = None if body.metadata is None else patch_of(body.metadata)
    return await call.store.append_turns(
        call.session_id, body.turns, create=body.create, run=body.run, metadata=patch, guard=call.guard
    )


@handles
async def get_turns(call: Call) -> Record:
    start, limit, last = (call.query.get(name) for name in ("start", "limit", "last"))
    if last is not None and (start is not None or limit is not None):
        raise InvalidArgumentError("last takes the tail of the history: it goes without start and limit")
    return bodies.Turns(turns=await call.store.get_turns(call.session_id, start or 0, limit, last=last))


@handles
async def update_run(call: Call) -> Record:
    body = cast("bodies.UpdateRun", call.body)
    return await call.store.update_run(call.session_id, body.run, create=body.create, guard=call.guard)


@handles
async def update_status(call: Call) -> Record:
    body = cast("bodies.UpdateStatus", call.body)
    return await call.store.update_status(
        call.session_id, body.status, owner=body.owner, touch=body.touch, create=body.create, guard=call.guard
    )


# -- meta -------------------------------------------------------------------------------------


@handles
async def get_meta(call: Call) -> Record:
    row = await call.store.get_meta(call.session_id)
    if row is None:
        raise SessionNotFoundError(call.session_id)
    return row


@handles
async def list_meta(call: Call) -> Record:
    try:
        page = await call.store.list_meta(call.filter, limit=call.page, after=call.query.get("after"))
    except ZidaneError:
        raise
    except ValueError as error:  # the cursor is the store's, and only the store can tell that it is none
        raise InvalidArgumentError(str(error)) from error
    return bodies.MetaPage(items=page.items, next=page.next)


@handles
async def save_meta(call: Call) -> Record:
    body = cast("bodies.SaveMeta", call.body)
    session = _snapshot(call, body.header, turns=[], runs=body.runs, metadata=body.metadata)
    return await call.store.save_meta(session, keys=body.keys, guard=call.guard)


@handles
async def patch_meta(call: Call) -> Record:
    return await call.store.patch_meta(call.session_id, patch_of(call.body), guard=call.guard)


# -- history ----------------------------------------------------------------------------------


@handles
async def replace_history(call: Call) -> Record:
    body = cast("bodies.ReplaceHistory", call.body)
    if call.guard.expected_rev is None:
        raise InvalidArgumentError("If-Match is required: the revision at which the history was read")

    def replaced(history: SessionHistory) -> SessionHistory:
        return SessionHistory(turns=body.turns, runs=history.runs if body.runs is None else body.runs)

    return bodies.Mutated(written=await call.store.mutate_history(call.session_id, replaced, guard=call.guard))


@handles
async def recall_mutation(call: Call) -> Record:
    """A mutation that changes nothing, under the operation's id: it answers what the first one did."""
    guard = Guard(op_id=call.ids["operation"])
    return bodies.Mutated(written=await call.store.mutate_history(call.session_id, lambda _: None, guard=guard))


@handles
async def truncate(call: Call) -> Record:
    return bodies.Turns(turns=await call.store.truncate(call.session_id, call.body.turn_id, guard=call.guard))


# -- claims and send requests -----------------------------------------------------------------


@handles
async def claim_run(call: Call) -> Record:
    body = cast("bodies.ClaimRun", call.body)  # its owner is who the client says; this server never stands in for it
    return await call.store.claim_run(
        call.session_id, owner=body.owner, displaces=body.displaces, create=body.create, guard=call.guard
    )


@handles
async def renew_run(call: Call) -> Record:
    if call.guard.fence is None:
        raise InvalidArgumentError("Zidane-Fence is required: the epoch of the claim")
    await call.store.renew_run(call.session_id, fence=call.guard.fence)
    return Changed(changed=True)


@handles
async def find_send_request(call: Call) -> Record:
    found = await call.store.find_send_request(call.session_id, call.ids["request"])
    return bodies.SendRequestFound(record=found)


@handles
async def claim_send_request(call: Call) -> Record:
    body = cast("bodies.ClaimSendRequest", call.body)
    return await call.store.claim_send_request(
        call.session_id,
        call.ids["request"],
        body.fingerprint,
        owner=body.owner,
        create=body.create,
        guard=call.guard,
    )


@handles
async def settle_send_request(call: Call) -> Record:
    result = cast("bodies.SettleSendRequest", call.body).result
    settled = await call.store.settle_send_request(call.session_id, call.ids["request"], result, guard=call.guard)
    return Changed(changed=settled)


# -- artifacts, schedules, ids ----------------------------------------------------------------


@handles
async def list_artifacts(call: Call) -> Record:
    query = call.query
    where = ArtifactFilter(
        session_id=query.get("sessionId"),
        kind=query.get("kind"),
        uri=query.get("uri"),
        project_root=query.get("projectRoot", UNSET),
        since=query.get("since"),
        limit=query.get("limit"),
    )
    return bodies.Artifacts(items=await call.store.list_artifacts(where))


@handles
async def upsert_artifact(call: Call) -> Record:
    return await call.store.upsert_artifact(call.body.artifact, guard=call.guard)


@handles
async def delete_artifact(call: Call) -> Record:
    return Changed(changed=await call.store.delete_artifact(call.session_id, call.ids["artifact"], guard=call.guard))


@handles
async def list_schedules(call: Call) -> Record:
    return bodies.Schedules(items=await call.store.list_schedules())


@handles
async def save_schedule(call: Call) -> Record:
    body = cast("bodies.SaveSchedule", call.body)
    await call.store.save_schedule(body.schedule, keep_next_fire_at=body.keep_next_fire_at, guard=call.guard)
    return Changed(changed=True)


@handles
async def delete_schedule(call: Call) -> Record:
    return Changed(changed=await call.store.delete_schedule(call.ids["schedule"], guard=call.guard))


@handles
async def claim_schedule_fire(call: Call) -> Record:
    body = cast("bodies.ClaimScheduleFire", call.body)
    claimed = await call.store.claim_schedule_fire(
        call.ids["schedule"], body.due_at, body.next_fire_at, guard=call.guard
    )
    return Changed(changed=claimed)


@handles
async def list_schedule_fires(call: Call) -> Record:
    limit = call.query.get("limit", call.serving.max_page)
    return bodies.Fires(items=await call.store.list_schedule_fires(call.ids["schedule"], limit))


@handles
async def record_schedule_fire(call: Call) -> Record:
    await call.store.record_schedule_fire(call.body.fire, guard=call.guard)
    return Changed(changed=True)


@handles
async def new_id(call: Call) -> Record:
    kind = cast("bodies.NewId", call.body).kind
    new = call.store.generate_session_id if kind == "session" else call.store.generate_turn_id
    return bodies.GivenId(id=await new())


def _snapshot(call: Call, header: bodies.SnapshotHeader, **parts: Any) -> SessionData:
    return SessionData(
        id=call.session_id,
        created_at=header.created_at,
        updated_at=header.updated_at,
        status=header.status,
        agent_id=header.agent_id,
        project_root=header.project_root,
        creation_id=header.creation_id,
        extra=header.extra,
        **parts,
    )
