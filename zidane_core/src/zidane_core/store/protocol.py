"""The contract of a session store, call by call.

Rules that hold for every method:

- **Acknowledged means kept**, to the durability that the store declares. A call that raises or is cancelled has
  happened wholly or not at all, and the store stays usable.
- **Retrying is harmless**: turns are recognised by id and content, operations by `Guard.op_id`.
- **No ghosts**: a write on an unknown id is SessionNotFoundError, unless it carries the creation (`create=`).
- **Order is the store's sequence**, never a clock.
- **Limits are numbers**: 0 is empty, a negative one ValueError, None is all.
- **Damage is loud**: an unreadable record is CorruptRecordError, never a shorter answer.

A write's guard is judged in this order: repeated operation, existence, every turn already stored (a no-op that
succeeds), fence, expected revision, conflicting turns. Every method can raise `StoreClosedError`,
`StoreUnavailableError` and its kind, `InvalidIdError`; a method or guard whose capability the store does not declare
raises `UnsupportedError` before doing anything. Writes raise `InvalidContentError` for what JSON cannot hold, with
nothing stored. Times are epoch milliseconds of the store's clock.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from types import TracebackType
from typing import Literal, Protocol, Self, runtime_checkable

from zidane_core.blocks import JsonValue
from zidane_core.records import (
    RunOwner,
    Schedule,
    ScheduleFire,
    SendRequestRecord,
    SessionArtifact,
    SessionData,
    SessionHeader,
    SessionHistory,
    SessionMetaRow,
    SessionRun,
    SessionTurn,
    Status,
)

from .values import (
    NO_GUARD,
    ArtifactFilter,
    Capabilities,
    Guard,
    Health,
    Page,
    Patch,
    RunClaim,
    SendRequestClaim,
    SessionFilter,
    Written,
)


@runtime_checkable
class SessionStore(Protocol):
    """Where sessions live. See the module's rules; write one on `BaseStore`, `TransactionalStore` or `CasStore`."""

    @property
    def capabilities(self) -> Capabilities:
        """What this store can do; valid once it is open."""
        ...

    @property
    def scope(self) -> str:
        """The tenant whose data this handle sees; "" by default."""
        ...

    def in_scope(self, scope: str) -> SessionStore:
        """The same backend for another tenant: sessions, listings, artifacts and schedules are apart."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None, /
    ) -> None: ...

    async def aclose(self) -> None:
        """Release what the store opened. Closing twice is fine; a client that was handed in stays open."""
        ...

    async def health(self) -> Health:
        """What the backend says of itself."""
        ...

    # -- the core: every store has it ---------------------------------------------------------

    async def load(self, session_id: str, *, damaged: Literal["raise", "skip"] = "raise") -> SessionData | None:
        """The whole session at one revision, or None when no session has the id.

        `damaged="skip"` leaves unreadable turns and runs out and reports them in `damage`, for repair tools.

        Raises:
            CorruptRecordError: a record of it cannot be read.
        """
        ...

    async def save(self, session: SessionData, *, create: bool = False, guard: Guard = NO_GUARD) -> Written:
        """Replace the session's turns, runs and header by this snapshot; `create` also makes it when it is unknown.

        `updated_at` becomes the later of stored and given; `created_at` stays. A `running` in the snapshot keeps the
        stored status and owner, and so does any status while a claim holds that the guard does not carry.

        Raises:
            SessionNotFoundError: unknown id, without `create`.
            SessionExistsError: `create`, and another creation holds the id.
            RunInProgressError: it changes runs while a claim holds, without the claim's fence.
        """
        ...

    async def delete(self, session_id: str, *, guard: Guard = NO_GUARD) -> bool:
        """Remove the session with its turns, runs, artifacts and send requests. False when there was none."""
        ...

    async def list_ids(
        self, where: SessionFilter | None = None, *, limit: int | None = None, after: str | None = None
    ) -> list[str]:
        """Session ids in UTF-8 order, those greater than `after`.

        Complete under concurrent writes for every session that exists throughout the walk.
        """
        ...

    async def append_turns(
        self,
        session_id: str,
        turns: Sequence[SessionTurn],
        *,
        create: SessionHeader | None = None,
        run: SessionRun | None = None,
        metadata: Patch | None = None,
        guard: Guard = NO_GUARD,
    ) -> Written:
        """Add turns at the end, and with them a run record and metadata, in one transaction.

        A turn that is stored with equal content is skipped; when all of them are, nothing changes and the answer
        tells the current revision. Moves `updated_at`.

        Raises:
            SessionNotFoundError: unknown id, without `create`.
            SessionExistsError: `create`, and another creation holds the id.
            TurnConflictError: a turn's id is stored, or twice in the batch, with other content.
            RunFencedError, RevisionConflictError: the guard does not hold.
            RunInProgressError: it carries a run while a claim holds, without the claim's fence.
            ContentTooLargeError: a turn or the batch is past the declared limit.
        """
        ...

    async def get_turns(
        self, session_id: str, start: int = 0, limit: int | None = None, *, last: int | None = None
    ) -> list[SessionTurn]:
        """Turns from position `start` on, or the `last` n in order; the cost does not grow with what is skipped.

        Raises:
            SessionNotFoundError: unknown id.
            ValueError: a negative number, or both `start` or `limit` and `last`.
        """
        ...

    async def update_run(
        self, session_id: str, run: SessionRun, *, create: SessionHeader | None = None, guard: Guard = NO_GUARD
    ) -> Written:
        """Insert the run record, or replace the one with its id in place. Moves `updated_at`.

        Raises:
            SessionNotFoundError, SessionExistsError: as `append_turns`.
            RunInProgressError: a claim holds, and the guard does not carry its fence.
        """
        ...

    async def update_status(
        self,
        session_id: str,
        status: Status,
        *,
        owner: RunOwner | None = None,
        touch: bool = True,
        create: SessionHeader | None = None,
        guard: Guard = NO_GUARD,
    ) -> Written:
        """Set the status. `running` records `owner`; any other clears it and ends the claim.

        `touch=False` leaves `updated_at` alone. Raises as `update_run`.
        """
        ...

    # -- meta: headers without turns ----------------------------------------------------------

    async def get_meta(self, session_id: str) -> SessionMetaRow | None:
        """The session without its turns, or None."""
        ...

    async def list_meta(
        self, where: SessionFilter | None = None, *, limit: int | None = None, after: str | None = None
    ) -> Page[SessionMetaRow]:
        """Sessions most recently updated first, ties by id; `after` is the cursor of the page before.

        A session that is not written during the walk appears exactly once.

        Raises:
            ValueError: `after` is no cursor of this listing.
        """
        ...

    async def save_meta(
        self, session: SessionData, *, keys: Collection[str] | None = None, guard: Guard = NO_GUARD
    ) -> Written:
        """Write the header, the named metadata keys (all when None) and the snapshot's runs, never turns.

        A named key that the snapshot lacks is removed. Runs are inserted or replaced, none is removed. Status and
        times as in `save`.

        Raises:
            SessionNotFoundError: unknown id.
            RunInProgressError: a run of the snapshot differs from the stored one while a claim holds, without its
                fence.
        """
        ...

    async def patch_meta(self, session_id: str, patch: Patch, *, guard: Guard = NO_GUARD) -> Written:
        """Write and remove metadata keys and nothing else: neither status nor `updated_at` moves."""
        ...

    # -- history: edits of what is stored -----------------------------------------------------

    async def mutate_history(
        self,
        session_id: str,
        mutate: Callable[[SessionHistory], SessionHistory | None],
        *,
        guard: Guard = NO_GUARD,
    ) -> Written | None:
        """Replace the history by what `mutate` makes of it, with nothing lost that is appended meanwhile.

        `mutate` is sync and pure, runs on the caller's loop and perhaps several times. None from it, or the same
        turns and runs, changes nothing, and the answer is None. Runs are written only when it returns another
        `runs` object.

        Raises:
            SessionNotFoundError: unknown id.
            RevisionConflictError: others kept writing through 50 tries.
            RunInProgressError: it changes runs while a claim holds, without the claim's fence.
        """
        ...

    async def truncate(self, session_id: str, turn_id: str, *, guard: Guard = NO_GUARD) -> list[SessionTurn]:
        """Remove that turn and all after it, and return them in order.

        Raises:
            SessionNotFoundError, TurnNotFoundError: unknown id.
        """
        ...

    # -- claims: one run at a time ------------------------------------------------------------

    async def claim_run(
        self,
        session_id: str,
        *,
        owner: RunOwner | None = None,
        displaces: int | None = None,
        create: SessionHeader | None = None,
        guard: Guard = NO_GUARD,
    ) -> RunClaim:
        """Take the session for a run, when none holds it or the holder's epoch is `displaces`.

        A compare-and-swap and no judgement: whether a holder may be displaced, `zidane_core.claim_run` decides.
        """
        ...

    async def renew_run(self, session_id: str, *, fence: int) -> None:
        """Refresh the quiet clock of a claim; neither `rev` nor `updated_at` moves.

        Raises:
            SessionNotFoundError: unknown id.
            RunFencedError: the claim is over.
        """
        ...

    # -- send requests: idempotent sends ------------------------------------------------------

    async def claim_send_request(
        self,
        session_id: str,
        request_id: str,
        fingerprint: str,
        *,
        owner: RunOwner | None = None,
        create: SessionHeader | None = None,
        guard: Guard = NO_GUARD,
    ) -> SendRequestClaim:
        """Claim a request id, once; a later claim gets the record that holds it. The 256 newest are kept."""
        ...

    async def find_send_request(self, session_id: str, request_id: str) -> SendRequestRecord | None:
        """The record of a claimed request id, without claiming it."""
        ...

    async def settle_send_request(
        self, session_id: str, request_id: str, result: JsonValue, *, guard: Guard = NO_GUARD
    ) -> bool:
        """Store a claimed request's result; None drops the claim. False when there is no such claim."""
        ...

    # -- artifacts ----------------------------------------------------------------------------

    async def upsert_artifact(self, artifact: SessionArtifact, *, guard: Guard = NO_GUARD) -> SessionArtifact:
        """Record an artifact, or refresh the one with the same session, kind and URI; the stored row comes back.

        A session keeps at most 200: the oldest files go first.
        """
        ...

    async def list_artifacts(self, where: ArtifactFilter | None = None) -> list[SessionArtifact]:
        """Artifacts, most recently updated first, ties by id."""
        ...

    async def delete_artifact(self, session_id: str, artifact_id: str, *, guard: Guard = NO_GUARD) -> bool:
        """Remove one artifact. False when there was none."""
        ...

    # -- schedules ----------------------------------------------------------------------------

    async def save_schedule(
        self, schedule: Schedule, *, keep_next_fire_at: bool = False, guard: Guard = NO_GUARD
    ) -> None:
        """Create or replace a schedule. `keep_next_fire_at` keeps the stored one, so an edit undoes no claimed fire."""
        ...

    async def list_schedules(self) -> list[Schedule]:
        """Every schedule with its last fire, oldest first."""
        ...

    async def delete_schedule(self, schedule_id: str, *, guard: Guard = NO_GUARD) -> bool:
        """Remove a schedule and its fires. False when there was none."""
        ...

    async def claim_schedule_fire(
        self, schedule_id: str, due_at: int, next_fire_at: int | None, *, guard: Guard = NO_GUARD
    ) -> bool:
        """Take the fire that is due at `due_at`, and set when the next one is.

        True for one caller only: False when another took it, or the schedule is gone, disabled or changed.
        """
        ...

    async def record_schedule_fire(self, fire: ScheduleFire, *, guard: Guard = NO_GUARD) -> None:
        """Insert the fire, or replace the one with its id. The 50 newest of a schedule are kept.

        Raises:
            ScheduleNotFoundError: no such schedule.
        """
        ...

    async def list_schedule_fires(self, schedule_id: str, limit: int) -> list[ScheduleFire]:
        """A schedule's fires, newest first; empty for an unknown schedule."""
        ...

    # -- ids ----------------------------------------------------------------------------------

    async def generate_session_id(self) -> str:
        """A new id that no session of this store has."""
        ...

    async def generate_turn_id(self) -> str:
        """A new id that no turn of this store has."""
        ...
