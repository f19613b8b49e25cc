"""Histories handed on as the JSON texts that are stored, and many records decoded at once."""

from __future__ import annotations

from typing import Any

import pytest

from zidane_core import codec
from zidane_core.errors import CorruptRecordError, StoreClosedError
from zidane_core.memory import MemoryStore
from zidane_core.records import SessionHeader, SessionRun, SessionTurn


def turn(number: int, value: Any = "x", **more: Any) -> SessionTurn:
    content = [{"type": "text", "text": value}]
    return SessionTurn(id=f"t{number}", role="user", content=content, created_at=number, **more)  # type: ignore[arg-type]


STRANGE = [turn(0), turn(1, "\ud83d"), turn(2, '"$extra"'), turn(3, extra={"later": [1]}), turn(4, "a\0b")]


async def test_the_texts_decode_to_the_turns_and_runs_that_load_gives(store: MemoryStore) -> None:
    """Unknown keys, lone surrogates and all."""
    run = SessionRun(id="r", status="completed", prompt="p", started_at=1, extra={"k": 1})
    header = SessionHeader(creation_id="c", created_at=1, metadata={"title": "t"})
    await store.append_turns("s", STRANGE, create=header, run=run)
    texts, loaded = await store.load_texts("s"), await store.load("s")
    assert texts is not None
    assert loaded is not None
    assert [codec.from_json(SessionTurn, text) for text in texts.turns] == loaded.turns == STRANGE
    assert [codec.from_json(SessionRun, text) for text in texts.runs] == loaded.runs == [run]
    assert (texts.session.rev, texts.session.metadata) == (loaded.rev, loaded.metadata)


async def test_an_unknown_session_has_no_texts_and_a_closed_store_gives_none() -> None:
    async with MemoryStore() as store:
        assert await store.load_texts("unknown") is None
    with pytest.raises(StoreClosedError):
        await store.load_texts("unknown")


def test_many_records_decode_as_each_does_alone() -> None:
    stored = [codec.encode(each) for each in STRANGE]
    damaged: list[CorruptRecordError] = []
    found = codec.decode_many(
        SessionTurn, stored, session_id="s", where=lambda at: f"turn {at}", damaged=damaged.append
    )
    assert found == [codec.decode(SessionTurn, each) for each in stored] == STRANGE
    assert damaged == []


@pytest.mark.parametrize("position", [0, 5, 11, 12, 40])
def test_a_flipped_bit_in_one_of_many_is_reported_and_the_others_are_read(position: int) -> None:
    stored = [codec.encode(turn(number)) for number in range(3)]
    spoilt = bytearray(stored[1])
    spoilt[position] ^= 1
    stored[1] = bytes(spoilt)
    damaged: list[CorruptRecordError] = []
    found = codec.decode_many(
        SessionTurn, stored, session_id="s", where=lambda at: f"turn {at}", damaged=damaged.append
    )
    assert [each.id for each in found] == ["t0", "t2"]
    assert [(error.session_id, error.where) for error in damaged] == [("s", "turn 1")]
    with pytest.raises(CorruptRecordError):
        codec.stored_json(stored[1], session_id="s", where="turn 1")
