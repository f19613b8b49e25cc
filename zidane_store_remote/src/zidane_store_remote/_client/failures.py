"""Why an exchange gave no answer, and whether the call may be tried again."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from zidane_core.errors import StoreUnavailableError, ZidaneError

from .library import Library

FIRST_DELAY_SECONDS = 0.05
LONGEST_DELAY_SECONDS = 1.0


class Failure(Exception):  # noqa: N818 -- no error yet: perhaps the next try succeeds
    """One exchange without a usable answer.

    `error` is what the caller gets if it stays at that. `perhaps_done`: the call may have taken effect. `again`:
    another try may succeed. `after`: the seconds that the server asks us to wait.
    """

    def __init__(
        self, error: ZidaneError, *, perhaps_done: bool, again: bool = True, after: float | None = None
    ) -> None:
        super().__init__(str(error))
        self.error, self.perhaps_done, self.again, self.after = error, perhaps_done, again, after


def unusable(reason: str, *, again: bool = True) -> Failure:
    """The failure where something answered, but not what we asked for."""
    return Failure(StoreUnavailableError(reason, retryable=again), perhaps_done=True, again=again)


def failure_of(error: Exception, library: Library) -> Failure:
    """The failure that one of the library's exceptions stands for."""
    names = library.names
    reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    not_sent = (names.ConnectError, names.ConnectTimeout, names.PoolTimeout, names.ProxyError)
    again = isinstance(error, names.TransportError) and not isinstance(
        error, (names.LocalProtocolError, names.UnsupportedProtocol)
    )
    return Failure(
        StoreUnavailableError(reason, retryable=again), perhaps_done=not isinstance(error, not_sent), again=again
    )


def final_error(failure: Failure, *, perhaps_done: bool) -> ZidaneError:
    """What the caller gets at last. `perhaps_done`: one of the tries may have taken effect, whatever the last says."""
    error = failure.error
    if not perhaps_done or not isinstance(error, StoreUnavailableError) or error.outcome_unknown:
        return error
    return StoreUnavailableError(error.reason, retryable=error.retryable, outcome_unknown=True)


def delay_before(attempt: int, failure: Failure) -> float:
    """Seconds to wait before the next try; `attempt` counts from 0."""
    if failure.after is not None:
        return failure.after
    longest: float = min(FIRST_DELAY_SECONDS * 2.0**attempt, LONGEST_DELAY_SECONDS)
    return longest * random.uniform(0.5, 1)  # noqa: S311 -- jitter


def retry_after(header: str | None) -> float | None:
    """The seconds that a Retry-After header asks for."""
    if header is None:
        return None
    if header.strip().isdecimal():
        return float(header)
    try:
        moment = parsedate_to_datetime(header)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
