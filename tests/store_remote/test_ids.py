"""Ids that look like paths, queries, escapes or nothing at all."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from zidane_core.errors import InvalidIdError
from zidane_core.records import SessionHeader, SessionRun, SessionTurn
from zidane_core.store import Guard, SessionFilter
from zidane_store_remote import RemoteStore
from zidane_store_remote._wire.texts import from_segment, from_text, to_segment, to_text

AWKWARD = (
    "a/b", "a", "b", "..", ".", "../..", "/", "//", "%2F", "%252F", "?x", "#", "a?b#c", " ", "\t\n", "~", "~YQ", "null",
    "\N{GRINNING FACE}", "é", "e\u0301", "A", "\u212a", "K", "\x7f", "\\", '"', "http://evil.example/", "{id}", "*",
    "turns", "meta", "x" * 512, "\N{GRINNING FACE}" * 512,
)  # fmt: skip


async def test_every_legal_id_works_and_none_meet(
    memory_server: str, header: Callable[..., SessionHeader], turn: Callable[..., SessionTurn]
) -> None:
    """Each names its own session, through every kind of call, as session, turn, run, request and operation."""
    async with RemoteStore(memory_server) as root:
        store = root.in_scope("awkward/../ids")
        for each in AWKWARD:
            guard = Guard(op_id=each)
            run = SessionRun(id=each, status="completed", prompt="p", started_at=1)
            written = await store.append_turns(each, [turn(each, each)], create=header(each), run=run, guard=guard)
            assert (written.added, written.previous) == (1, 0), each
            assert (await store.claim_send_request(each, each, each)).claimed
        assert await store.list_ids() == sorted(AWKWARD, key=str.encode)
        for each in AWKWARD:
            session = await store.load(each)
            assert session is not None
            assert (session.id, [one.id for one in session.turns], [run.id for run in session.runs]) == (
                each,
                [each],
                [each],
            )
            assert (
                await store.list_ids(after=each, limit=1)
                == sorted(AWKWARD, key=str.encode)[sorted(AWKWARD, key=str.encode).index(each) + 1 :][:1]
            )
            found = await store.find_send_request(each, each)
            assert found is not None
            assert [one.id for one in await store.truncate(each, each)] == [each]
        assert await root.list_ids(SessionFilter(agent_id="awkward")) == []
        for each in AWKWARD:
            assert await store.delete(each) is True
        assert await store.list_ids() == []


@pytest.mark.parametrize("each", ["", "\0", "a\0b", "\ud800", "x" * 513])
async def test_illegal_ids_are_refused_before_anything_is_sent(each: str, memory_server: str) -> None:
    """By the very same error as on every other store."""
    async with RemoteStore(memory_server) as store:
        with pytest.raises(InvalidIdError):
            await store.load(each)


@pytest.mark.parametrize("text", [*AWKWARD, "", "\ud800", "a\0"])
def test_texts_survive_paths_and_queries(text: str) -> None:
    """What a path, query or header carries reads back as it was."""
    assert from_text(to_text(text)) == text
    assert to_text(text).isascii()
    if text:
        assert from_segment(to_segment(text)) == text


@pytest.mark.parametrize("segment", ["", "~", "YQ", "~YR", "~YQ==", "~Y", "~é", "~YQ/", "~____", "~ YQ"])
def test_an_id_has_one_spelling(segment: str) -> None:
    """A segment that is not the one spelling of an id is refused: two URLs never name one session."""
    with pytest.raises(InvalidIdError):
        from_segment(segment)
