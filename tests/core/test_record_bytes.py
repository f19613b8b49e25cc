"""What a record costs on its way to the store."""

from __future__ import annotations

import msgspec

from zidane_core.records import EXTRA_KEY, SessionTurn


def test_a_record_without_unknown_keys_is_encoded_in_one_go() -> None:
    """The codec's mark for unknown keys, which sends a record the slow way, is absent where there are none."""
    turn = SessionTurn(id="t", role="user", content=[], created_at=1)
    assert EXTRA_KEY.encode() not in msgspec.json.encode(turn)
