"""A backend that can hold other types than bytes may hand back anything once it is damaged."""

from __future__ import annotations

from typing import Any

import pytest

from zidane_core import codec
from zidane_core.errors import CorruptRecordError
from zidane_core.records import SessionTurn


@pytest.mark.parametrize("stored", [None, 7, 1.5, "1j:1c291ca3:{}"], ids=repr)
def test_what_is_not_bytes_is_a_damaged_record(stored: Any) -> None:
    """Whatever comes back in place of stored bytes, the error names the record."""
    with pytest.raises(CorruptRecordError) as caught:
        codec.decode(SessionTurn, stored, session_id="s", where="turn 5")
    assert (caught.value.session_id, caught.value.where) == ("s", "turn 5")
    with pytest.raises(CorruptRecordError):
        codec.decode_value(stored)
