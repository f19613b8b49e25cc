"""The public API as an agent host uses it. Checked by mypy and pyright; never run."""

from __future__ import annotations

from typing import Any, assert_type

from zidane_core import (
    UNSET,
    Capabilities,
    DirectoryAdapter,
    FileMapStore,
    Guard,
    MemoryStore,
    Opening,
    Operation,
    Page,
    Proceed,
    RunClaim,
    SessionArtifact,
    SessionData,
    SessionFilter,
    SessionHeader,
    SessionMetaRow,
    SessionStore,
    SessionTurn,
    StoreMiddleware,
    StoreURL,
    ToolCallBlock,
    Written,
    installed_stores,
    open_store,
    text,
    tool_call,
    tool_result,
)


async def opening() -> None:
    assert_type(open_store("sqlite:///sessions.db", busy_timeout="500ms"), Opening)
    async with open_store(StoreURL("memory://"), scope="tenant", middleware=[Traced]) as store:
        assert_type(store, SessionStore)
        assert_type(store.capabilities, Capabilities)
        assert_type(store.in_scope("other"), SessionStore)
    assert_type(await open_store(), SessionStore)
    assert_type([row.capabilities for row in installed_stores()], list[Capabilities | None])


async def keeping(store: SessionStore) -> None:
    call = tool_call("c1", "search", {"query": "green", "deep": [1, None, {"a": True}]})
    assert_type(call, ToolCallBlock)
    turn = SessionTurn(
        id="t1", role="assistant", content=[text("hello"), call, tool_result("c1", [text("found")])], created_at=1
    )
    header = SessionHeader(creation_id="c", created_at=1, metadata={"title": "x"})
    written = await store.append_turns("s", [turn], create=header, metadata={"old": UNSET, "new": None})
    assert_type(written, Written)
    assert_type(await store.load("s"), SessionData | None)
    assert_type(await store.get_turns("s", last=20), list[SessionTurn])
    assert_type(await store.list_meta(SessionFilter(agent_id=None), limit=20), Page[SessionMetaRow])
    assert_type(await store.claim_run("s", guard=Guard(expected_rev=written.rev)), RunClaim)
    assert_type(await store.list_artifacts(), list[SessionArtifact])
    for block in turn.content:
        if block["type"] == "text":
            assert_type(block["text"], str)
        elif block["type"] == "tool_call":
            assert_type(block["name"], str)


class Traced(StoreMiddleware):
    async def around(self, operation: Operation, proceed: Proceed[Any]) -> Any:
        assert_type(operation.session_id, str | None)
        return await proceed()


STORES: list[SessionStore] = [MemoryStore(), FileMapStore(DirectoryAdapter("here")), Traced(MemoryStore())]
