"""Every error zidane raises. Each carries its facts as attributes and makes its own sentence.

    ZidaneError
    ├── InvalidContentError          a value that JSON cannot hold
    ├── ContentTooLargeError         a turn or batch past the store's limit
    ├── InvalidIdError               an id that no store accepts
    ├── StoreURLError                picking a store by URL went wrong
    │   ├── UnknownSchemeError · StoreNotInstalledError · PluginLoadError
    │   └── PluginVersionError · SchemeConflictError · StoreOptionError
    └── StoreError
        ├── StoreUnavailableError    the backend did not answer, or not usably
        │   └── StoreBusyError       it answered: try again
        ├── StoreFullError · StoreReadOnlyError · StoreClosedError · StoreForkedError
        ├── SchemaTooNewError · AuthenticationError · PermissionDeniedError
        ├── SessionNotFoundError · SessionExistsError · TurnNotFoundError · ScheduleNotFoundError
        ├── TurnConflictError · RevisionConflictError · OperationConflictError
        ├── RunFencedError · RunInProgressError · SendInProgressError
        └── CorruptRecordError · CapacityError · UnsupportedError

All of them survive pickling, with their facts, so they can cross a process boundary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .records import RunOwner


def _rebuild(cls: type[ZidaneError], args: tuple[Any, ...], facts: dict[str, Any]) -> ZidaneError:
    error = cls.__new__(cls)
    error.args = args
    error.__dict__.update(facts)
    return error


class ZidaneError(Exception):
    """The root: `except ZidaneError` catches all that zidane raises on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.args, self.__dict__.copy())


# -- what a caller handed in ------------------------------------------------------------------


class InvalidContentError(ZidaneError, ValueError):
    """A value that JSON cannot hold without changing it. `path` says where, as in `$.content[0].input`."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path, self.reason = path, reason


class ContentTooLargeError(ZidaneError, ValueError):
    """More than the store takes at once. `size` and `limit` are in `unit` (bytes, turns)."""

    def __init__(self, what: str, *, size: int, limit: int, unit: str = "bytes") -> None:
        super().__init__(f"{what} has {size} {unit}; this store takes at most {limit}")
        self.what, self.size, self.limit, self.unit = what, size, limit, unit


class InvalidIdError(ZidaneError, ValueError):
    """An id outside the rule: 1 to 512 characters of well-formed Unicode without NUL."""

    def __init__(self, what: str, value: object, reason: str) -> None:
        shown = ascii(value) if len(ascii(value)) <= 80 else ascii(value)[:77] + "..."
        super().__init__(f"{what} {shown} {reason}")
        self.what, self.value, self.reason = what, value if isinstance(value, str) else shown, reason


# -- picking a store by URL -------------------------------------------------------------------


class StoreURLError(ZidaneError, ValueError):
    """A store URL that cannot be used. The sentence never holds a password."""


class UnknownSchemeError(StoreURLError):
    """No installed or known store has this scheme."""

    def __init__(self, scheme: str, *, installed: Sequence[str], suggestion: str | None = None) -> None:
        hint = f"; did you mean {suggestion}://?" if suggestion else ""
        super().__init__(f"no store has the URL scheme {scheme!r}{hint} (installed: {', '.join(installed)})")
        self.scheme, self.installed, self.suggestion = scheme, list(installed), suggestion


class StoreNotInstalledError(StoreURLError):
    """A known store whose package is missing."""

    def __init__(self, scheme: str, distribution: str) -> None:
        super().__init__(f"{scheme}:// needs a package that is not installed: pip install {distribution}")
        self.scheme, self.distribution = scheme, distribution


class PluginLoadError(StoreURLError):
    """The store's package is installed, but does not import. The cause is chained."""

    def __init__(self, scheme: str, *, distribution: str, version: str, reason: str) -> None:
        super().__init__(f"{distribution} {version} claims {scheme}:// but failed to load: {reason}")
        self.scheme, self.distribution, self.version, self.reason = scheme, distribution, version, reason


class PluginVersionError(StoreURLError):
    """The store's package speaks another version of the store interface."""

    def __init__(self, scheme: str, *, distribution: str, found: object, supported: int) -> None:
        super().__init__(
            f"{distribution} speaks store API {found!r}, and this zidane-core speaks {supported}: "
            f"upgrade the older of the two to use {scheme}://"
        )
        self.scheme, self.distribution, self.found, self.supported = scheme, distribution, found, supported


class SchemeConflictError(StoreURLError):
    """Two distributions claim one scheme."""

    def __init__(self, scheme: str, distributions: Sequence[str]) -> None:
        super().__init__(
            f"{scheme}:// is claimed by {' and '.join(distributions)}: "
            "uninstall one, or choose with open_store(..., plugin=NAME)"
        )
        self.scheme, self.distributions = scheme, list(distributions)


class StoreOptionError(StoreURLError):
    """An option that the store does not have, given twice, or of the wrong kind."""

    def __init__(self, option: str, reason: str, *, suggestion: str | None = None) -> None:
        hint = f"; did you mean {suggestion!r}?" if suggestion else ""
        super().__init__(f"store option {option!r}: {reason}{hint}")
        self.option, self.reason, self.suggestion = option, reason, suggestion


# -- what a store answers ---------------------------------------------------------------------


class StoreError(ZidaneError):
    """A store could not do what was asked."""


class StoreUnavailableError(StoreError):
    """The backend cannot be reached or did not answer.

    `retryable`: trying the same call again later may work. `outcome_unknown`: the call may have taken effect;
    repeating it is harmless all the same.
    """

    def __init__(self, reason: str, *, retryable: bool = True, outcome_unknown: bool = False) -> None:
        unknown = " (the call may have taken effect; it is safe to repeat)" if outcome_unknown else ""
        super().__init__(f"the store is unavailable: {reason}{unknown}")
        self.reason, self.retryable, self.outcome_unknown = reason, retryable, outcome_unknown


class StoreBusyError(StoreUnavailableError):
    """The backend is alive, but another user of it holds what this call needs. Nothing happened."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, retryable=True, outcome_unknown=False)


class StoreFullError(StoreError):
    """The backend has no room left. Nothing happened; reading and deleting still work."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the store is full: {reason}")
        self.reason = reason


class StoreReadOnlyError(StoreError):
    """The backend may be read, but not written."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the store is read-only: {reason}")
        self.reason = reason


class StoreClosedError(StoreError):
    """The store is not open: it was closed, or never opened."""

    def __init__(self, store: str, *, opened: bool = True) -> None:
        super().__init__(
            f"{store} is closed" if opened else f"{store} is not open yet: use `async with`, or open_store"
        )
        self.store, self.opened = store, opened


class StoreForkedError(StoreError):
    """The store was opened before a fork; a child process must open its own."""

    def __init__(self, store: str, *, opened_in: int, used_in: int) -> None:
        super().__init__(f"{store} was opened in process {opened_in} and cannot be used in its fork {used_in}")
        self.store, self.opened_in, self.used_in = store, opened_in, used_in


class SchemaTooNewError(StoreError):
    """The data was written by a newer version of the store's package."""

    def __init__(self, what: str, *, found: int, supported: int) -> None:
        super().__init__(f"{what} has schema version {found}; this version knows up to {supported}: upgrade it")
        self.what, self.found, self.supported = what, found, supported


class AuthenticationError(StoreError):
    """The backend does not accept who we are."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"not authenticated: {reason}")
        self.reason = reason


class PermissionDeniedError(StoreError):
    """The backend knows who we are, and does not allow this."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"not permitted: {reason}")
        self.reason = reason


class SessionNotFoundError(StoreError):
    """No session has this id."""

    def __init__(self, session_id: str) -> None:
        super().__init__(f"no session {session_id!r}")
        self.session_id = session_id


class SessionExistsError(StoreError):
    """Another creation holds this id. The stored session is untouched."""

    def __init__(self, session_id: str) -> None:
        super().__init__(f"session {session_id!r} exists already; load it, or choose another id")
        self.session_id = session_id


class TurnNotFoundError(StoreError):
    """The session has no turn with this id."""

    def __init__(self, session_id: str, turn_id: str) -> None:
        super().__init__(f"session {session_id!r} has no turn {turn_id!r}")
        self.session_id, self.turn_id = session_id, turn_id


class ScheduleNotFoundError(StoreError):
    """No schedule has this id."""

    def __init__(self, schedule_id: str) -> None:
        super().__init__(f"no schedule {schedule_id!r}")
        self.schedule_id = schedule_id


class TurnConflictError(StoreError):
    """A turn with this id is stored with other content. Nothing was written."""

    def __init__(self, session_id: str, turn_id: str) -> None:
        super().__init__(f"session {session_id!r} has another turn with the id {turn_id!r}")
        self.session_id, self.turn_id = session_id, turn_id


class RevisionConflictError(StoreError):
    """The session has moved on since it was read. Nothing was written."""

    def __init__(self, session_id: str, *, expected: int, found: int) -> None:
        super().__init__(f"session {session_id!r} is at revision {found}, not {expected}")
        self.session_id, self.expected, self.found = session_id, expected, found


class OperationConflictError(StoreError):
    """An operation id was used before, for something else."""

    def __init__(self, op_id: str) -> None:
        super().__init__(f"operation id {op_id!r} was already used with another request")
        self.op_id = op_id


class RunFencedError(StoreError):
    """This run lost its claim: another took it over, or it ended. Nothing was written."""

    def __init__(self, session_id: str, *, fence: int, epoch: int | None) -> None:
        now = "no run holds it" if epoch is None else f"the claim is now {epoch}"
        super().__init__(f"the run's claim {fence} on session {session_id!r} is over; {now}")
        self.session_id, self.fence, self.epoch = session_id, fence, epoch


class RunInProgressError(StoreError):
    """A run holds the session. `holder` says whose, where that is known; `quiet_ms` how long it has been silent."""

    def __init__(self, session_id: str, *, holder: RunOwner | None = None, quiet_ms: int | None = None) -> None:
        who = f" (process {holder.pid} on host {holder.host_id})" if holder is not None else ""
        super().__init__(f"a run holds session {session_id!r}{who}")
        self.session_id, self.holder, self.quiet_ms = session_id, holder, quiet_ms


class SendInProgressError(StoreError):
    """The same send is going on elsewhere, and has no result yet. `holder` says whose it is, where that is known."""

    def __init__(self, session_id: str, request_id: str, *, holder: RunOwner | None = None) -> None:
        super().__init__(f"send request {request_id!r} of session {session_id!r} is still in progress")
        self.session_id, self.request_id, self.holder = session_id, request_id, holder


class CorruptRecordError(StoreError):
    """A stored record cannot be read. `where` names it, as in `turn 5` or `run 'r1'`."""

    def __init__(self, session_id: str | None, where: str, reason: str) -> None:
        owner = f"session {session_id!r}" if session_id is not None else "the store"
        super().__init__(f"{where} of {owner} is damaged: {reason}")
        self.session_id, self.where, self.reason = session_id, where, reason


class CapacityError(StoreError):
    """The store holds as many sessions as it can."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class UnsupportedError(StoreError):
    """The store does not declare the capability that this call needs. Nothing happened."""

    def __init__(self, store: str, capability: str, what: str) -> None:
        super().__init__(f"{store} does not support {what}: it lacks the capability {capability!r}")
        self.store, self.capability, self.what = store, capability, what
