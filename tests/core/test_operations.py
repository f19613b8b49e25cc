"""Operation ids on sessions that do not exist."""

from __future__ import annotations

from zidane_core.conformance import samples
from zidane_core.memory import MemoryData, MemoryStore
from zidane_core.store import Guard


async def test_an_operation_on_an_unknown_session_leaves_nothing_behind() -> None:
    """Its answer is kept with no session, so it takes no room and stands in nobody's way."""
    data = MemoryData(max_sessions=1)
    async with MemoryStore(data=data) as store:
        guard = Guard(op_id="op")
        assert await store.settle_send_request("unknown", "q", 1, guard=guard) is False
        assert await store.delete_artifact("unknown", "a", guard=Guard(op_id="op2")) is False
        assert list(data.scopes[""].sessions) == []
        written = await store.append_turns("known", samples.turns(0, 1), create=samples.header("c"), guard=guard)
        assert written.added == 1
