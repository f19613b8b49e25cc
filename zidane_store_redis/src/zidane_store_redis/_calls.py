"""Calls that survive what happens to servers: each is tried again until it is answered or its time is over.

A script may have run although its answer never came. So every write carries an operation, whose answer the script
keeps: tried again, it answers what it answered first. A caller may name the operation; else it is the next of a lane,
a sequence of calls that this client makes one after the other, of which the server keeps the newest answer only.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from secrets import token_urlsafe
from typing import Any, TypeVar, cast
from weakref import WeakValueDictionary

import msgspec

from zidane_core.errors import OperationConflictError, StoreClosedError, StoreUnavailableError
from zidane_core.store import Guard

from ._errors import Fault, fault_of
from ._scripts import Script
from ._server import Argument, Reply, Server

T = TypeVar("T")

_FIRST_PAUSE = 0.01
_LONGEST_PAUSE = 0.5

_pack = msgspec.msgpack.Encoder().encode


class _Lane:
    """A sequence of calls. Its numbers only rise, so the server can tell a call that was overtaken."""

    def __init__(self) -> None:
        self.name = "l" + token_urlsafe(9)
        self.last = 0


class Calls:
    """The calls of one open store, of which at most `at_once` are under way: redis-py fails the one too many."""

    def __init__(
        self,
        name: str,
        server: Server,
        *,
        at_once: int,
        retry_for: float,
        ttl_ms: int | None,
        wait_replicas: int,
        wait_timeout_ms: int,
    ) -> None:
        self._name = name
        self.server = server
        self._turnstile, self._at_once = asyncio.Semaphore(at_once), at_once
        self._closed = False
        self._loop = asyncio.get_running_loop()
        self._retry_for = retry_for
        self._ttl_ms = ttl_ms
        self._wait_replicas, self._wait_timeout_ms = wait_replicas, wait_timeout_ms
        self._idle_lanes: list[_Lane] = []
        self._locks: WeakValueDictionary[bytes, asyncio.Lock] = WeakValueDictionary()

    def one_at_a_time(self, key: bytes) -> asyncio.Lock:
        """A lock for deciding on a key: tasks of one client would only make each other's decisions stale."""
        return self._locks.setdefault(key, asyncio.Lock())

    async def aclose(self) -> None:
        """Let no try begin any more, wait for those under way, and close the client."""
        self._closed = True
        try:
            for _ in range(self._at_once):
                await self._turnstile.acquire()
        finally:
            await self.server.aclose()

    async def write(
        self,
        script: Script,
        keys: Sequence[bytes],
        fields: dict[str, Any],
        *,
        session_id: str | None = None,
        guard: Guard,
        fingerprint: Callable[[], str],
    ) -> list[Any]:
        """Run a script that writes. `fingerprint` tells the call from others, where the guard names its operation."""
        request = {**fields, **self._conditions(guard)}
        if guard.op_id is not None:
            request["op"] = "o" + guard.op_id
            request["fingerprint"] = fingerprint()
            return await self._write(script, keys, request, session_id)
        lane = self._idle_lanes.pop() if self._idle_lanes else _Lane()
        lane.last += 1
        request["op"], request["seq"] = lane.name, lane.last
        try:
            return await self._write(script, keys, request, session_id)
        finally:
            self._idle_lanes.append(lane)

    async def renew(self, script: Script, keys: Sequence[bytes], fields: dict[str, Any], session_id: str) -> list[Any]:
        """Run a script that may run twice."""
        request = {**fields, **self._conditions(Guard())}
        return await self._write(script, keys, request, session_id)

    async def read(
        self, script: Script, keys: Sequence[bytes], *arguments: Argument, session_id: str | None = None
    ) -> Reply:
        """Run a script that only reads."""
        return await self._persist(lambda: self.server.run(script, keys, *arguments), session_id)

    async def command(self, *command: Argument, session_id: str | None = None) -> Reply:
        """Run a command that only reads."""
        return await self._persist(lambda: self.server.call(*command), session_id)

    async def facts(self, section: str) -> list[dict[str, Any]]:
        """A section of INFO, of every primary."""
        return await self._persist(lambda: self.server.facts(section), None)

    async def version(self) -> tuple[str, str]:
        """The server's version, and whether it is redis or valkey."""
        facts = (await self.facts("server"))[0]
        name = str(facts.get("server_name", "redis"))
        return str(facts.get(f"{name}_version", facts.get("redis_version", ""))), name

    async def config(self, name: str) -> str:
        """One setting of the server. Raises PermissionDeniedError where CONFIG is not for us."""
        return await self._persist(lambda: self.server.config(name), None)

    async def recall(self, keys: Sequence[bytes], op_id: str, fingerprint: str, session_id: str) -> list[Any] | None:
        """The first answer of a named operation. Raises OperationConflictError: another call had that name."""
        for key in keys:
            kept = await self.command("HGET", key, b"o" + op_id.encode(), session_id=session_id)
            if kept is not None:
                stamp, answer = msgspec.msgpack.decode(kept)
                if stamp != fingerprint:
                    raise OperationConflictError(op_id)
                return cast("list[Any]", answer[1:])
        return None

    # -- how it is done -----------------------------------------------------------------------

    def _conditions(self, guard: Guard) -> dict[str, Any]:
        conditions: dict[str, Any] = {"wait": self._wait_replicas > 0}
        if guard.fence is not None:
            conditions["fence"] = str(guard.fence)
        if guard.expected_rev is not None:
            conditions["expected_rev"] = str(guard.expected_rev)
        if self._ttl_ms is not None:
            conditions["ttl"] = self._ttl_ms
        return conditions

    async def _write(
        self, script: Script, keys: Sequence[bytes], request: dict[str, Any], session_id: str | None
    ) -> list[Any]:
        packed = _pack(request)
        if not self._wait_replicas:
            reply: list[Any] = await self._persist(
                lambda: self.server.run(script, keys, packed), session_id, writes=True
            )
            return reply
        return await self._persist(lambda: self._run_and_wait(script, keys, packed), session_id, writes=True)

    async def _run_and_wait(self, script: Script, keys: Sequence[bytes], packed: bytes) -> list[Any]:
        wanted = self._wait_replicas
        reply: list[Any]
        reply, confirmed = await self.server.run_and_wait(
            script, keys, packed, replicas=wanted, timeout_ms=self._wait_timeout_ms
        )
        if confirmed < wanted and reply[0] == b"=":
            raise _Unconfirmed(f"{confirmed} of {wanted} replicas confirmed the write")
        return reply

    async def _persist(self, attempt: Callable[[], Awaitable[T]], session_id: str | None, *, writes: bool = False) -> T:
        """Try until it is answered, or the time for it is over."""
        self._check_loop()
        deadline = self._loop.time() + self._retry_for
        executed, pause = False, _FIRST_PAUSE
        while True:
            try:
                async with self._turnstile:
                    self._check_open()
                    return await _unless_cancelled(attempt())
            except StoreClosedError:
                raise
            except Exception as error:
                fault = _judged(error, session_id)
                executed = executed or (fault.executed and writes)
                if not fault.again or self._loop.time() + pause > deadline:
                    raise _final(fault, executed) from error
                if fault.moved:
                    await self._forget_connections()
            await asyncio.sleep(random.uniform(pause / 2, pause))  # noqa: S311 -- jitter
            pause = min(pause * 2, _LONGEST_PAUSE)

    async def _forget_connections(self) -> None:
        try:
            await self.server.forget_connections()
        except Exception as error:
            if fault_of(error, None) is None:  # else: one that was dying anyway
                raise

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosedError(self._name)

    def _check_loop(self) -> None:
        if asyncio.get_running_loop() is not self._loop:
            raise StoreUnavailableError(
                "it was opened in another event loop, which its connections belong to: open it in this one",
                retryable=False,
            )


async def _unless_cancelled(attempt: Awaitable[T]) -> T:
    """What the attempt brings about; CancelledError if the task was cancelled meanwhile, whatever became of that.

    redis-py sends under `asyncio.wait_for`, which on Python 3.11 forgets a cancellation that comes as the sending ends.
    """
    task = asyncio.current_task()
    before = task.cancelling() if task is not None else 0
    try:
        return await attempt
    finally:
        if task is not None and task.cancelling() > before:
            raise asyncio.CancelledError


class _Unconfirmed(Exception):  # noqa: N818 -- never leaves this module
    """Fewer replicas than wanted have the write."""


def _judged(error: Exception, session_id: str | None) -> Fault:
    if isinstance(error, _Unconfirmed):
        return Fault(StoreUnavailableError(str(error)), again=True, executed=True)
    fault = fault_of(error, session_id)
    if fault is None:
        raise error
    return fault


def _final(fault: Fault, executed: bool) -> Exception:
    """The error of the last try, which may not be the one that took effect."""
    if executed and fault.again:
        reason = getattr(fault.error, "reason", str(fault.error))
        return StoreUnavailableError(reason, outcome_unknown=True)
    return fault.error
