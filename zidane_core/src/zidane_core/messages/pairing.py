"""The pairing of calls and results that every provider demands, made good on the wire and nowhere else.

A run of consecutive assistant messages owns an *answer window*: the messages up to the next assistant message. A
provider takes the history when the results of the run's calls lead the window. Six things can be wrong:

    1  a call has no result in its window                            → a synthetic error result after the real ones
    2  the window holds no user message, or the run goes on          → a user message of synthetic results
    3  a result in the window for a call that the run does not own   → stripped
    4  a call id that was used before                                → stripped within a message, else renamed with
                                                                       its result (or stripped, if asked)
    5  a second result for one call                                  → the first is kept
    6  a result before any assistant message                         → stripped

Nothing here may be stored: synthetic results are not what happened.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, cast

import msgspec

from zidane_core.blocks import SYNTHETIC_TOOL_RESULT_PLACEHOLDER
from zidane_core.records import SessionMessage

from ._calls import Block, item_id, says_nothing
from .events import OnRepair, PairingRepair, PairingRepairKind

STRIPPED_RESULT_MARKER = "[A tool result without its call was left out.]"
"""What stands for a user message of which nothing else is left."""

ReusedCallIds: TypeAlias = Literal["rename", "strip"]


def ensure_tool_result_pairing(
    messages: Sequence[SessionMessage],
    *,
    reused_call_ids: ReusedCallIds = "rename",
    on_repair: OnRepair | None = None,
) -> list[SessionMessage]:
    """The messages with every call answered at once and every result answering a call: for the wire, never to store.

    Pure and idempotent; a message that needs nothing is the same object. The result for a longer history begins with
    the result for a shorter one, but for its last assistant run and what follows it: prompt caches keep their prefix.
    System messages may stand anywhere. Messages without content are left out.
    """
    return _Pairing(reused_call_ids, on_repair).run(messages)


def synthetic_result(call_id: str, output: str = SYNTHETIC_TOOL_RESULT_PLACEHOLDER) -> dict[str, Any]:
    return {"type": "tool_result", "callId": call_id, "output": output, "isError": True, "synthetic": True}


class _Answers:
    """What is known about the calls of one run, and the results that its window holds for them."""

    def __init__(self) -> None:
        self.owners: dict[str, str] = {}
        """Ids that a result may carry → the id that is sent."""
        self.stripped: set[str] = set()
        """Ids of reused calls that were stripped: their results go too, without a word."""
        self.found: dict[str, Block] = {}
        """The results in the order in which they came, by the id that is sent."""


class _Pairing:
    def __init__(self, reused_call_ids: ReusedCallIds, on_repair: OnRepair | None) -> None:
        self._reused = reused_call_ids
        self._on_repair = on_repair
        self._used: set[str] = set()
        self._sent: list[SessionMessage] = []

    def run(self, messages: Sequence[SessionMessage]) -> list[SessionMessage]:
        sendable = [
            (index, message)
            for index, message in enumerate(messages)
            if message.content and (message.role != "assistant" or self._is_sendable(index, message))
        ]
        at = 0
        while at < len(sendable):
            start = at
            at = _skip(sendable, at, assistant=True)
            run = sendable[start:at]
            start = at
            at = _skip(sendable, at, assistant=False)
            self._exchange(run, sendable[start:at])
        return self._sent

    def _report(self, mode: int, kind: PairingRepairKind, index: int, call_id: str | None = None) -> None:
        if self._on_repair is not None:
            self._on_repair(PairingRepair(mode=mode, kind=kind, index=index, call_id=call_id))

    def _is_sendable(self, index: int, message: SessionMessage) -> bool:
        if not says_nothing(message.content):
            return True
        self._report(0, "omitted-message", index)
        return False

    def _exchange(self, run: Sequence[_Indexed], window: Sequence[_Indexed]) -> None:
        """A run of assistant messages and what answers it. At the start of a history the run may be empty."""
        answers = _Answers()
        spoken = [(index, *self._speak(index, message, answers)) for index, message in run]
        spoken = [one for one in spoken if self._is_sendable(one[0], one[1])]
        rests = [self._collect(index, message, answers, led=bool(run)) for index, message in window]
        has_user = any(message.role == "user" for _, message in window)
        waiting: list[str] = []
        for number, (index, message, calls) in enumerate(spoken):
            self._sent.append(message)
            waiting += calls
            missing = [call_id for call_id in calls if call_id not in answers.found]
            is_last = number == len(spoken) - 1
            for call_id in missing:
                mode, kind = _MISSING if is_last and has_user else _UNANSWERED
                self._report(mode, kind, index, call_id)
            if missing and not is_last:  # answered here or not at all: the next message would break the pair
                self._sent.append(_user(_results(waiting, answers)))
                waiting = []
        self._send_window(_results(waiting, answers), window, rests)

    def _speak(self, index: int, message: SessionMessage, answers: _Answers) -> tuple[SessionMessage, list[str]]:
        """What is sent of an assistant message, and the ids of its calls."""
        calls: dict[str, str] = {}
        content: list[Any] = []
        for block in message.content:
            if block.get("type") != "tool_call":
                content.append(block)
                continue
            call = cast("Block", block)
            call_id = call["id"]
            sent_id = self._sent_id(index, call_id, calls)
            if sent_id is None:
                _strip_call(call_id, calls, content, answers)
                continue
            calls[call_id] = sent_id
            self._used.add(sent_id)
            answers.owners[call_id] = sent_id
            answers.owners.setdefault(item_id(call) or call_id, sent_id)
            content.append(call if sent_id == call_id else {**call, "id": sent_id})
        if not _same(content, message.content):
            message = msgspec.structs.replace(message, content=content)
        return message, list(calls.values())

    def _sent_id(self, index: int, call_id: str, own: Collection[str]) -> str | None:
        """The id to send a call under; `None` strips the call."""
        if call_id in own:
            self._report(4, "duplicate-call", index, call_id)
            return None
        if call_id not in self._used:
            return call_id
        self._report(4, "reused-call-id", index, call_id)
        if self._reused == "strip":
            return None
        number = 2
        while (renamed := f"{call_id}_r{number}") in self._used:
            number += 1
        return renamed

    def _collect(self, index: int, message: SessionMessage, answers: _Answers, *, led: bool) -> _Rest:
        """Move the results of a window's message into `answers`, and return what else is in it."""
        if message.role != "user":
            return _Rest(message.content, stripped=False)
        content: list[Any] = []
        stripped = False
        for block in message.content:
            if block.get("type") != "tool_result":
                content.append(block)
                continue
            result = cast("Block", block)
            sent_id = answers.owners.get(result["callId"])
            if sent_id is not None and sent_id not in answers.found:
                answers.found[sent_id] = result if sent_id == result["callId"] else {**result, "callId": sent_id}
                continue
            stripped = True
            self._report_stripped(index, result["callId"], answers, led=led)
        return _Rest(content, stripped=stripped)

    def _report_stripped(self, index: int, call_id: str, answers: _Answers, *, led: bool) -> None:
        if not led:
            self._report(6, "leading-result", index, call_id)
        elif call_id in answers.owners:
            self._report(5, "duplicate-result", index, call_id)
        elif call_id not in answers.stripped:
            self._report(3, "foreign-result", index, call_id)

    def _send_window(self, results: list[Block], window: Sequence[_Indexed], rests: Sequence[_Rest]) -> None:
        """The window's messages, with the results in front of the first of them."""
        if results and (not window or window[0][1].role != "user"):
            self._sent.append(_user(results))
            results = []
        for (_, message), rest in zip(window, rests, strict=True):
            content = [*results, *rest.content]
            results = []
            if not content and rest.stripped:
                content = [{"type": "text", "text": STRIPPED_RESULT_MARKER}]
            if _same(content, message.content):
                self._sent.append(message)
            elif content:  # where nothing is left, its results were moved to where they belong
                self._sent.append(msgspec.structs.replace(message, content=content))


class _Rest(NamedTuple):
    content: Sequence[Any]
    stripped: bool


_Indexed: TypeAlias = tuple[int, SessionMessage]
_MISSING: tuple[int, PairingRepairKind] = (1, "missing-result")
_UNANSWERED: tuple[int, PairingRepairKind] = (2, "unanswered-call")


def _skip(messages: Sequence[_Indexed], at: int, *, assistant: bool) -> int:
    while at < len(messages) and (messages[at][1].role == "assistant") is assistant:
        at += 1
    return at


def _strip_call(call_id: str, own: Collection[str], content: list[Any], answers: _Answers) -> None:
    if call_id not in own:
        answers.stripped.add(call_id)
    while content and content[-1].get("type") == "thinking" and content[-1].get("itemId"):
        content.pop()  # an OpenAI reasoning item may not stay without the item that it led to


def _results(calls: Sequence[str], answers: _Answers) -> list[Block]:
    """The results of these calls: the real ones in the order in which they came, then the synthetic ones."""
    wanted = set(calls)
    real = [result for call_id, result in answers.found.items() if call_id in wanted]
    return real + [synthetic_result(call_id) for call_id in calls if call_id not in answers.found]


def _user(content: Sequence[Any]) -> SessionMessage:
    return SessionMessage(role="user", content=list(content))


def _same(content: Sequence[Any], original: Sequence[Any]) -> bool:
    return len(content) == len(original) and all(one is other for one, other in zip(content, original, strict=True))
