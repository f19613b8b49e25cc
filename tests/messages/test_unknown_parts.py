"""Parts that OpenAI's formats do not list, or that lack something, are kept as they came."""

from __future__ import annotations

from typing import Any

import pytest

from zidane_core.messages import from_openai, from_openai_responses

UNREADABLE = [{"type": "hologram", "depth": 3}, {"type": "refusal"}]


@pytest.mark.parametrize("part", UNREADABLE, ids=["unknown type", "missing field"])
def test_a_part_that_cannot_be_read_becomes_an_opaque_block(part: dict[str, Any]) -> None:
    """Verbatim, under the name of the format that it came in."""
    message = {"role": "user", "content": [part]}
    assert list(from_openai(message).content) == [{"type": "opaque", "provider": "openai_chat", "raw": part}]
    [read] = from_openai_responses([message])
    assert list(read.content) == [{"type": "opaque", "provider": "openai", "raw": part}]
