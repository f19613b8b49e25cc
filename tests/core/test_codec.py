"""The codec: what comes back is what went in, and what would not is refused with its place."""

from __future__ import annotations

import collections
import enum
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_core import (
    CorruptRecordError,
    InvalidContentError,
    RunEstimate,
    RunOwner,
    SessionData,
    SessionHeader,
    SessionRun,
    SessionTurn,
    codec,
    from_json_object,
    text,
    to_json_object,
)


def turn_of(block: Any, **fields: Any) -> SessionTurn:
    return SessionTurn(**{"id": "t", "role": "user", "content": [block], "created_at": 5, **fields})


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


# -- what survives --------------------------------------------------------------------------------

KEPT = {
    "text": "plain",
    "empty": {"": "", "list": [], "object": {}},
    "NUL": "a\0b",
    "astral": "\U0001f600 \U0010ffff",
    "lone surrogate": "cut \ud83d",
    "lone surrogate in a key": {"\udc00": 1},
    "line separators": "\u2028\u2029\x85\r\n",
    "replacement character": "\ufffd",
    "64-bit integers": [2**63 - 1, -(2**63), 2**64 - 1],
    "bigger integers": [2**64, -(2**63) - 1, 10**4_000],
    "floats": [0.1, 1e308, 5e-324, -0.0, 1.0, 1e16],
    "constants": [True, False, None],
    "look-alikes": [1, True, 1.0, "1", None, "null"],
    "what looks like a class": {"__class__": "os.system", "py/object": "x", "$extra": 5},
    "an unknown type of block": {"type": "hologram", "data": [{"deep": [1]}]},
    "a deep value": nested(190),
}


@pytest.mark.parametrize("value", KEPT.values(), ids=KEPT.keys())
def test_every_json_value_comes_back_as_it_went_in_types_included(value: Any) -> None:
    stored = codec.encode(turn_of({"type": "x", "value": value}))
    back = codec.decode(SessionTurn, stored).content[0]["value"]  # type: ignore[typeddict-item] # any block
    assert repr(back) == repr(value)
    assert repr(codec.decode_value(codec.encode_value(value))) == repr(value)


def test_the_order_of_keys_is_kept() -> None:
    block = {"type": "x", "b": 1, "a": {"z": 1, "y": 2}}
    back = codec.decode(SessionTurn, codec.encode(turn_of(block)))
    assert repr(back.content[0]) == repr(block)


def test_a_pair_of_surrogates_is_joined_and_a_lone_one_kept() -> None:
    assert codec.copy_of(turn_of({"type": "x", "value": "\ud83d\ude00 \ud83d"})).content[0] == {
        "type": "x",
        "value": "\U0001f600 \ud83d",
    }


def test_unknown_keys_are_kept_on_every_record_nested_ones_too() -> None:
    plain = {
        "id": "r",
        "status": "completed",
        "prompt": "p",
        "startedAt": 1,
        "future": {"deep": [1, None]},
        "estimate": {"at": 1, "initialMs": 2, "totalMs": 3, "highMs": 4, "revisions": 5, "mood": "good"},
        "streamRetries": [{"attempt": 1, "maxAttempts": 2, "delayMs": 3, "message": "m", "turnId": "t", "later": True}],
    }
    run = from_json_object(SessionRun, plain)
    assert run.extra == {"future": {"deep": [1, None]}}
    assert isinstance(run.estimate, RunEstimate)
    assert run.estimate.extra == {"mood": "good"}
    assert to_json_object(codec.decode(SessionRun, codec.encode(run))) == plain


def test_a_key_with_the_codecs_own_name_stays_data() -> None:
    """Content cannot forge what the codec keeps aside."""
    turn = turn_of({"type": "x", "$extra": {"role": "system"}}, extra={"note": "$extra"})
    assert codec.decode(SessionTurn, codec.encode(turn)) == turn
    plain = {"id": "t", "role": "user", "content": [], "createdAt": 1, "$extra": {"role": "system"}}
    forged = from_json_object(SessionTurn, plain)
    assert forged.role == "user"
    assert to_json_object(codec.decode(SessionTurn, codec.encode(forged))) == plain


def test_absent_fields_are_left_out_and_names_are_those_of_the_wire() -> None:
    header = SessionHeader(creation_id="c", created_at=1, agent_id="a")
    assert to_json_object(header) == {"creationId": "c", "createdAt": 1, "agentId": "a"}
    assert codec.json_of(codec.encode(header)) == b'{"creationId":"c","createdAt":1,"agentId":"a"}'


def test_what_comes_back_is_nobody_elses() -> None:
    block = {"type": "x", "value": [1]}
    turn = turn_of(block)
    stored = codec.encode(turn)
    block["value"].append(2)  # type: ignore[attr-defined] # a list
    one, two = codec.decode(SessionTurn, stored), codec.decode(SessionTurn, stored)
    assert one.content[0] == {"type": "x", "value": [1]}
    assert one.content[0] is not two.content[0]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
any_text = st.text(alphabet=st.characters(exclude_categories=()), max_size=8)


@given(value=json_values, words=any_text, unknown=st.dictionaries(any_text.map("x".__add__), json_values, max_size=3))
def test_any_turn_comes_back_equal_with_an_equal_digest(value: Any, words: str, unknown: dict[str, Any]) -> None:
    turn = codec.copy_of(turn_of({"type": "x", "value": value, "words": words}, extra=unknown))
    encoded = codec.encode_turn(turn)
    back = codec.decode(SessionTurn, encoded.stored)
    assert repr(back) == repr(turn)
    assert codec.encode_turn(back) == encoded
    assert codec.digest(turn) == encoded.digest
    assert repr(from_json_object(SessionTurn, to_json_object(turn))) == repr(turn)


# -- digests --------------------------------------------------------------------------------------


def test_a_digest_ignores_the_order_of_keys_and_nothing_else() -> None:
    def digest(block: dict[str, Any], **fields: Any) -> str:
        return codec.digest(turn_of(block, **fields))

    base = digest({"type": "x", "a": 1, "b": [1, 2]})
    assert digest({"b": [1, 2], "a": 1, "type": "x"}) == base
    others = [
        digest({"type": "x", "a": 1.0, "b": [1, 2]}),
        digest({"type": "x", "a": True, "b": [1, 2]}),
        digest({"type": "x", "a": 1, "b": [2, 1]}),
        digest({"type": "x", "a": 1, "b": [1, 2], "c": None}),
        digest({"type": "x", "a": 1, "b": [1, 2]}, extra={"y": 1}),
        digest({"type": "x", "a": 1, "b": [1, 2]}, created_at=6),
    ]
    assert len({base, *others}) == len(others) + 1


# -- bytes that are released ----------------------------------------------------------------------

GOLDEN = [
    (
        b'1j:0deeadfb:{"id":"t1","role":"user","content":[{"type":"text","text":"h\xc3\xa9llo"}],"createdAt":1700000000000}',
        SessionTurn(id="t1", role="user", content=[text("h\u00e9llo")], created_at=1_700_000_000_000),
    ),
    (
        b'1e:1c117a11:{"id":"t1","role":"user","content":[{"type":"text","text":"cut \\ud83d"}],"createdAt":17}',
        SessionTurn(id="t1", role="user", content=[text("cut \ud83d")], created_at=17),
    ),
    (
        b'1j:55e064a8:{"future":[1],"id":"t1","role":"user","content":[],"createdAt":1}',
        SessionTurn(id="t1", role="user", content=[], created_at=1, extra={"future": [1]}),
    ),
]


@pytest.mark.parametrize(("stored", "turn"), GOLDEN, ids=["plain", "escaped", "unknown key"])
def test_bytes_of_format_1_load_for_ever(stored: bytes, turn: SessionTurn) -> None:
    assert codec.decode(SessionTurn, stored) == turn
    assert codec.encode(turn) == stored


def test_digests_stay_the_same_for_ever() -> None:
    """They are stored beside the turns, and compared with those of later versions."""
    assert codec.digest(GOLDEN[0][1]) == "ddd2903887ee5356f1dc173873fa6a09"


# -- damage ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", ["hello", "cut \ud83d"], ids=["plain", "escaped"])
def test_every_flipped_bit_of_a_stored_record_is_noticed(words: str) -> None:
    stored = codec.encode(turn_of({"type": "text", "text": words}))
    for bit in range(len(stored) * 8):
        damaged = bytearray(stored)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(CorruptRecordError):
            codec.decode(SessionTurn, bytes(damaged))


def test_every_cut_of_a_stored_record_is_noticed() -> None:
    stored = codec.encode(turn_of({"type": "text", "text": "hello"}))
    for length in range(len(stored)):
        with pytest.raises(CorruptRecordError):
            codec.decode(SessionTurn, stored[:length])
    with pytest.raises(CorruptRecordError):
        codec.decode(SessionTurn, stored + b" ")


def test_damage_says_whose_record_it_is_and_where() -> None:
    with pytest.raises(CorruptRecordError, match="turn 5 of session 's' is damaged") as caught:
        codec.decode(SessionTurn, b"rubbish", session_id="s", where="turn 5")
    assert (caught.value.session_id, caught.value.where) == ("s", "turn 5")


def test_a_record_of_another_kind_is_damage_too() -> None:
    stored = codec.encode(RunOwner(host_id="h", pid=1, token="t"))
    with pytest.raises(CorruptRecordError):
        codec.decode(SessionTurn, stored)


# -- refusals -------------------------------------------------------------------------------------


class Words(str):
    __slots__ = ()


class Colour(enum.IntEnum):
    RED = 1


PLACE = "$.content[0].value"
REFUSED: list[tuple[str, Any]] = [
    (PLACE, float("nan")),
    (PLACE, math.inf),
    (PLACE, b"bytes"),
    (PLACE, (1, 2)),
    (PLACE, {1, 2}),
    (PLACE, 1j),
    (PLACE, object()),
    (PLACE, Words("x")),
    (PLACE, Colour.RED),
    (PLACE, collections.OrderedDict(a=1)),
    (PLACE, {1: "a", "1": "b"}),
    (PLACE, {None: 1}),
    (PLACE, {Words("k"): 1}),
    (f"{PLACE}.a[1]", {"a": [1, math.nan]}),
    (f"{PLACE}.a[1]", {"a": [1, Words("x")]}),
    (f"{PLACE}['a b']", {"a b": b"x"}),
]


@pytest.mark.parametrize(("path", "value"), REFUSED, ids=lambda each: repr(each)[:30].partition(" at 0x")[0])
def test_what_json_cannot_hold_unchanged_is_refused_with_its_place(path: str, value: Any) -> None:
    turn = turn_of({"type": "x", "value": value})
    for encode in (codec.encode, codec.encode_turn, codec.copy_of, codec.digest, to_json_object):
        with pytest.raises(InvalidContentError) as caught:
            encode(turn)  # type: ignore[operator] # all take a turn
        assert caught.value.path == path
    with pytest.raises(InvalidContentError):
        codec.encode_value(value)


def test_nesting_has_a_limit() -> None:
    codec.encode(turn_of({"type": "x", "value": nested(190)}))
    for depth in (201, 5_000):
        with pytest.raises(InvalidContentError, match="nested more than 200 deep"):
            codec.encode(turn_of({"type": "x", "value": nested(depth)}))
        with pytest.raises(InvalidContentError, match="nested more than 200 deep"):
            codec.encode_value(nested(depth))


def test_a_value_that_contains_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(InvalidContentError):
        codec.encode(turn_of({"type": "x", "value": loop}))


def test_an_integer_that_python_would_not_read_again_is_refused() -> None:
    with pytest.raises(InvalidContentError, match="digits"):
        codec.encode(turn_of({"type": "x", "value": 10**5_000}))


@pytest.mark.parametrize(
    "fields", [{"id": 5}, {"role": "robot"}, {"content": "text"}, {"content": [5]}, {"created_at": "now"}]
)
def test_a_record_with_a_field_of_the_wrong_kind_is_refused(fields: dict[str, Any]) -> None:
    """Structs do not check their fields when they are made."""
    turn = turn_of({"type": "x"}, **fields)
    with pytest.raises(InvalidContentError):
        codec.encode(turn)


@pytest.mark.parametrize("plain", [{}, {"id": "t"}, [], "x", None, {"id": 5, "role": "user", "content": []}])
def test_a_plain_object_that_is_no_such_record_is_refused(plain: Any) -> None:
    with pytest.raises(InvalidContentError):
        from_json_object(SessionTurn, plain)


def test_a_whole_session_with_strange_content_round_trips() -> None:
    session = SessionData(
        id="s",
        created_at=1,
        updated_at=2,
        status="idle",
        turns=[turn_of({"type": "x", "value": value}, id=name) for name, value in KEPT.items()],
        runs=[SessionRun(id="r", status="running", prompt="\ud83d", started_at=1)],
        metadata={"title": "\ud83d", "none": None},
        run_owner=RunOwner(host_id="h", pid=1, token="t"),
        extra={"future": 1},
    )
    assert repr(codec.decode(SessionData, codec.encode(session))) == repr(session)
