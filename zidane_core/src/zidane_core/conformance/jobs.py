"""What worker processes do to a store. Each job tells what was acknowledged, after it was."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine
from itertools import count
from typing import Any, TypeAlias

from msgspec.structs import replace

from zidane_core.errors import (
    RevisionConflictError,
    SessionExistsError,
    StoreForkedError,
)
from zidane_core.run_owner import current_run_owner
from zidane_core.store import Guard, SessionStore

from . import samples
from .samples import run, turn

Say: TypeAlias = "Callable[[object], None]"
Job: TypeAlias = "Callable[..., Awaitable[None]]"


async def append(store: SessionStore, say: Say, session_id: str, writer: int, turns: int, size: int = 1) -> None:
    """Append batches, telling their ids and revisions."""
    for at in range(turns):
        batch = [turn(writer * 10_000 + at * size + each) for each in range(size)]
        written = await store.append_turns(session_id, batch)
        say({"ids": [each.id for each in batch], "rev": written.rev})


async def append_for_ever(store: SessionStore, say: Say, session_id: str, writer: int) -> None:
    """Append batches of two turns with a run and metadata, each write whole, until killed."""
    for at in count():
        batch = [turn(writer * 1_000_000 + at * 2), turn(writer * 1_000_000 + at * 2 + 1)]
        run_id, key = f"r{writer}-{at}", f"m{writer}-{at}"
        await store.append_turns(session_id, batch, run=run(run_id), metadata={key: at})
        say({"ids": [each.id for each in batch], "run": run_id, "key": key})


async def create_for_ever(store: SessionStore, say: Say, prefix: str) -> None:
    """Create sessions of two turns and a run, each in one write, until killed."""
    for at in count():
        session_id = f"{prefix}-{at}"
        create = samples.header(f"c-{session_id}", metadata={"at": at})
        say({"began": session_id})
        await store.append_turns(session_id, [turn(0), turn(1)], run=run(), create=create)
        say({"made": session_id})


async def patch(store: SessionStore, say: Say, session_id: str, writer: int, keys: int) -> None:
    """Write metadata keys of its own."""
    for at in range(keys):
        await store.patch_meta(session_id, {f"w{writer}-{at}": at})
    say({"keys": keys})


async def compare_and_swap(store: SessionStore, say: Say, session_id: str, writer: int, rounds: int) -> None:
    """Append under the revision that was read, as often as it succeeds, telling the revisions."""
    done = 0
    while done < rounds:
        data = await store.load(session_id)
        rev = 0 if data is None else data.rev
        try:
            given = [turn(writer * 10_000 + done)]
            written = await store.append_turns(session_id, given, guard=Guard(expected_rev=rev))
        except RevisionConflictError:
            continue
        say({"rev": written.rev, "previous": written.previous, "expected": rev})
        done += 1


async def create(store: SessionStore, say: Say, session_ids: list[str], writer: int) -> None:
    """Create each session, telling which ones were its own."""
    for session_id in session_ids:
        header = samples.header(f"c{writer}", agent_id=f"{writer}")
        try:
            await store.append_turns(session_id, [turn(writer)], create=header)
        except SessionExistsError:
            continue
        say({"made": session_id})


async def claim(store: SessionStore, say: Say, session_ids: list[str], writer: int) -> None:
    """Claim a run on each session, a request on the first, telling which ones were granted."""
    for at, session_id in enumerate(session_ids):
        if store.capabilities.claims:
            granted = await store.claim_run(session_id, owner=samples.owner(f"{writer}"))
            if granted.claimed:
                say({"run": session_id, "epoch": granted.epoch})
        if store.capabilities.send_requests:
            request = await store.claim_send_request(session_ids[0], f"q{at}", f"{writer}")
            if request.claimed:
                say({"request": f"q{at}"})


async def hold(store: SessionStore, say: Say, session_id: str) -> None:
    """Claim a run as this process, write under the claim, and stay until killed."""
    claimed = await store.claim_run(session_id, owner=current_run_owner())
    guard = Guard(fence=claimed.epoch) if store.capabilities.guards else Guard()
    await store.append_turns(session_id, [turn(1)], guard=guard)
    say({"epoch": claimed.epoch})
    await asyncio.sleep(3600)


async def write_once(store: SessionStore, say: Say, session_id: str) -> None:
    """One append, and no more."""
    written = await store.append_turns(session_id, [turn(0)], create=samples.header(f"c-{session_id}"))
    say({"rev": written.rev})


async def edit(store: SessionStore, say: Say, session_id: str, rounds: int) -> None:
    """Edit the history again and again: a summary in front, the rest as it is."""
    for at in range(rounds):
        await store.mutate_history(
            session_id,
            lambda now, at=at: replace(  # type: ignore[misc]
                now, turns=[turn(999_999, f"summary {at}"), *(t for t in now.turns if t.id != "t999999")]
            ),
        )
    say({"edits": rounds})


async def fork(store: SessionStore, say: Say, session_id: str) -> None:
    """Fork, and tell what the store does in the child."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, _first_step(store.load(session_id)).encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)  # noqa: ASYNC222 -- the child is done at once
    with os.fdopen(reading) as pipe:
        say({"child": pipe.read()})
    found = await store.load(session_id)
    say({"parent": found is not None})


def _first_step(call: Coroutine[Any, Any, object]) -> str:
    """What a call does before it would wait for anything."""
    try:
        call.send(None)
    except StoreForkedError:
        return "refused"
    except StopIteration:
        return "answered"
    except BaseException as error:  # noqa: BLE001 -- told to the parent
        return f"{type(error).__name__}: {error}"
    return "waits"


JOBS: dict[str, Job] = {
    "append": append,
    "append-for-ever": append_for_ever,
    "create-for-ever": create_for_ever,
    "patch": patch,
    "compare-and-swap": compare_and_swap,
    "create": create,
    "claim": claim,
    "hold": hold,
    "write-once": write_once,
    "edit": edit,
    "fork": fork,
}
