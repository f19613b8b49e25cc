"""What all calls of a store share: whether it is open, what it declares, what it refuses before any work."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self, TypeVar

from zidane_core import codec
from zidane_core.codec import EncodedRun, EncodedTurn
from zidane_core.errors import ContentTooLargeError, InvalidContentError, UnsupportedError
from zidane_core.records import Record, SessionHeader, SessionRun, SessionTurn

from .checks import check_id, check_label, check_time
from .lifecycle import Lifecycle
from .values import NO_GUARD, Capabilities, Guard, Health

R = TypeVar("R", bound=Record)
T = TypeVar("T")

TURN_MAX_BYTES = 16 * 1024 * 1024
"""Of a turn's JSON, on every store; one may declare less."""


class StoreFoundation(ABC):
    """Opening, closing, scopes and the checks before each call."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._scope = ""
        self._lifecycle = Lifecycle(name)

    def __repr__(self) -> str:
        scope = f" in scope {self._scope!r}" if self._scope else ""
        return f"<{type(self).__name__} {self._name}{scope}>"

    @property
    @abstractmethod
    def capabilities(self) -> Capabilities:
        """What this store can do; valid once it is open."""

    @property
    def scope(self) -> str:
        """The tenant whose data this handle sees; "" by default."""
        return self._scope

    def in_scope(self, scope: str) -> Self:
        """A handle on the same backend for another tenant. Closing it leaves this one open, not the reverse.

        Raises:
            UnsupportedError: the store keeps no tenants apart.
            InvalidIdError: `scope` is neither an id nor empty.
        """
        self._begin("in_scope", "scopes")
        if scope:
            check_id("the scope", scope)
        handle = copy.copy(self)
        handle._scope = scope  # noqa: SLF001 -- a copy of this very object
        handle._lifecycle = Lifecycle(self._name, parent=self._lifecycle)  # noqa: SLF001 -- as above
        return handle

    # -- opening and closing ------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        if not self._lifecycle.is_open:
            self._lifecycle.check_reopening()
            await self._open()
            self._lifecycle.begin()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Release what the store opened. Closing twice is fine; a client that was handed in stays open."""
        if self._lifecycle.end():
            await self._close()

    async def health(self) -> Health:
        """What the backend says of itself."""
        self._begin("health")
        return await self._health()

    async def _open(self) -> None:  # noqa: B027 -- a store may have nothing to open
        """Connect. Leave nothing behind when it fails."""

    async def _close(self) -> None:  # noqa: B027 -- nor to close
        """Release what `_open` made. Called once, and not in a fork."""

    @abstractmethod
    async def _health(self) -> Health: ...

    # -- checks -------------------------------------------------------------------------------

    def _begin(self, method: str, capability: str | None = None, guard: Guard = NO_GUARD) -> None:
        """The checks before any work: open, in the right process, and able to do what the call asks."""
        self._lifecycle.check()
        if capability is not None:
            self._require(capability, f"{method}()")
        if guard is not NO_GUARD:
            if guard.fence is not None or guard.expected_rev is not None:
                self._require("guards", "fence and expected_rev")
            if guard.op_id is not None:
                self._require("operations", "operation ids")
                check_id("the operation id", guard.op_id)

    def _require(self, capability: str, what: str) -> None:
        if not getattr(self.capabilities, capability):
            raise UnsupportedError(self._name, capability, what)

    # -- encoding -----------------------------------------------------------------------------

    def _encode_turns(self, turns: Iterable[SessionTurn]) -> list[EncodedTurn]:
        encoded: list[EncodedTurn] = []
        for position, turn in enumerate(turns):
            check_id("the turn id", turn.id)
            encoded.append(_at(f"$.turns[{position}]", codec.encode_turn, turn))
        self._check_sizes(encoded)
        return encoded

    def _check_sizes(self, turns: list[EncodedTurn]) -> None:
        limits = self.capabilities
        if limits.max_batch_turns is not None and len(turns) > limits.max_batch_turns:
            raise ContentTooLargeError("the batch", size=len(turns), limit=limits.max_batch_turns, unit="turns")
        limit = TURN_MAX_BYTES if limits.max_turn_bytes is None else min(limits.max_turn_bytes, TURN_MAX_BYTES)
        for turn in turns:
            size = len(codec.json_of(turn.stored)) if len(turn.stored) > limit else 0
            if size > limit:
                raise ContentTooLargeError(f"turn {turn.id!r}", size=size, limit=limit)

    def _encode_runs(self, runs: Iterable[SessionRun]) -> list[EncodedRun]:
        return [self._encode_run(run, f"$.runs[{position}]") for position, run in enumerate(runs)]

    def _encode_run(self, run: SessionRun, path: str = "$.run") -> EncodedRun:
        check_id("the run id", run.id)
        return _at(path, codec.encode_run, run)

    def _check_header(self, header: SessionHeader | None) -> None:
        if header is not None:
            check_id("the creation id", header.creation_id)
            check_label("$.agentId", header.agent_id)
            check_label("$.projectRoot", header.project_root)
            check_time("$.createdAt", header.created_at)
            _at("$.create", codec.encode, header)


def _at(path: str, encode: Callable[[R], T], record: R) -> T:
    """Encode a record; where that is refused, name the place in what the caller handed in."""
    try:
        return encode(record)
    except InvalidContentError as error:
        raise InvalidContentError(path + error.path.removeprefix("$"), error.reason) from error
