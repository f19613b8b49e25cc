"""A store that notes every call, for the transcript of a failure."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from zidane_core.store import SessionStore

from .brief import brief, brief_call


@dataclass(frozen=True)
class _Call:
    """Told only when it is asked for: most checks pass."""

    name: str
    args: tuple[object, ...]
    kwargs: Mapping[str, object]

    def __str__(self) -> str:
        return brief_call(self.name, self.args, self.kwargs)


class Transcript:
    """The newest calls of a check, and the errors that came out of its stores."""

    def __init__(self, size: int = 30) -> None:
        self._lines: deque[tuple[object, object]] = deque(maxlen=size)
        self._count = 0
        self._raised: list[BaseException] = []
        self.is_open = True
        """False while the kit itself prepares and cleans up."""

    @property
    def lines(self) -> list[str]:
        left_out = self._count - len(self._lines)
        told = [
            f"{call} {'✗' if isinstance(answer, BaseException) else '→'} {brief(answer)}"
            for call, answer in self._lines
        ]
        return [*([f"… {left_out} calls before"] if left_out else []), *told]

    def clear(self) -> None:
        """Forget the calls so far."""
        self._lines.clear()
        self._count = 0

    def note(self, call: object, answer: object) -> None:
        if self.is_open:
            self._count += 1
            self._lines.append((call, answer))

    def note_error(self, call: object, error: BaseException) -> None:
        self.note(call, error)
        self._raised.append(error)

    def came_from_store(self, error: BaseException | None) -> bool:
        """Whether the error, or what caused it, left one of the check's stores."""
        while error is not None:
            if any(error is raised for raised in self._raised):
                return True
            error = error.__cause__
        return False


class RecordingStore:
    """Forwards all that a `SessionStore` has, and notes the calls."""

    def __init__(self, store: SessionStore, name: str, transcript: Transcript) -> None:
        self._store, self._name, self._transcript = store, name, transcript

    def __getattr__(self, attribute: str) -> Any:
        try:
            value = getattr(self._store, attribute)
        except AttributeError as error:
            self._transcript.note_error(f"{self._name}.{attribute}", error)
            raise
        if not callable(value):
            return value
        return self._noting(attribute, cast("Callable[..., Awaitable[object]]", value))

    def in_scope(self, scope: str) -> SessionStore:
        try:
            handle = self._store.in_scope(scope)
        except BaseException as error:
            self._transcript.note_error(f"{self._name}.in_scope({scope!a})", error)
            raise
        return recorded(handle, f"{self._name}[{scope!a}]", self._transcript)

    def _noting(self, method: str, call: Callable[..., Awaitable[object]]) -> Callable[..., Awaitable[object]]:
        async def noted(*args: object, **kwargs: object) -> object:
            shown = _Call(f"{self._name}.{method}", args, kwargs)
            try:
                answer = await call(*args, **kwargs)
            except BaseException as error:
                self._transcript.note_error(shown, error)
                raise
            self._transcript.note(shown, answer)
            return answer

        return noted


def recorded(store: SessionStore, name: str, transcript: Transcript) -> SessionStore:
    """The store, with its calls noted under `name`."""
    return cast("SessionStore", RecordingStore(store, name, transcript))


def unrecorded(store: SessionStore) -> SessionStore:
    """The store itself, for a target's hooks and for questions about the object."""
    inner: object = vars(store).get("_store") if isinstance(store, RecordingStore) else None
    return store if inner is None else cast("SessionStore", inner)
