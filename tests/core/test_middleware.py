"""`StoreMiddleware`: a store around a store, with one method to override. The kit checks that it takes nothing away."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from zidane_core import (
    MEMORY_CAPABILITIES,
    MemoryStore,
    Operation,
    Proceed,
    SessionNotFoundError,
    SessionStore,
    StoreClosedError,
    StoreMiddleware,
    StoreUnavailableError,
)

METHODS = [
    name
    for name, member in vars(SessionStore).items()
    if inspect.iscoroutinefunction(member) and not name.startswith("_") and name != "aclose"
]


async def test_tracing_takes_five_lines(turn: Any, header: Any) -> None:
    spans: list[str] = []

    class Traced(StoreMiddleware):
        async def around(self, operation: Operation, proceed: Proceed[Any]) -> Any:
            spans.append(f"{operation.name} {operation.session_id} {operation.write}")
            return await proceed()

    async with Traced(MemoryStore()) as store:
        await store.append_turns("s", [turn("t")], create=header())
        data = await store.load("s")
        assert data is not None
        await store.save(data)
        await store.list_ids()
    assert spans == ["append_turns s True", "load s False", "save s True", "list_ids None False"]


@pytest.mark.parametrize("name", METHODS)
def test_every_method_of_the_protocol_is_forwarded_with_its_own_signature(name: str) -> None:
    """Explicitly, so that type checkers see a SessionStore; and a new method cannot be forgotten."""
    wanted, found = (inspect.signature(getattr(kind, name)) for kind in (SessionStore, StoreMiddleware))
    assert list(found.parameters.values()) == list(wanted.parameters.values())


async def test_a_call_may_be_repeated(turn: Any, header: Any) -> None:
    class Flaky(StoreMiddleware):
        failures = 2

        async def around(self, operation: Operation, proceed: Proceed[Any]) -> Any:
            answer = await proceed()
            if self.failures:
                self.failures -= 1
                raise StoreUnavailableError("the answer was lost", outcome_unknown=True)
            return answer

    class Retrying(StoreMiddleware):
        async def around(self, operation: Operation, proceed: Proceed[Any]) -> Any:
            while True:
                try:
                    return await proceed()
                except StoreUnavailableError:
                    continue

    async with Retrying(Flaky(MemoryStore())) as store:
        await store.append_turns("s", [turn("t")], create=header())
        assert len(await store.get_turns("s")) == 1


async def test_arguments_and_answers_may_be_replaced(turn: Any, header: Any) -> None:
    """As an encrypting middleware does."""

    class Shouting(StoreMiddleware):
        async def around(self, operation: Operation, proceed: Proceed[Any]) -> Any:
            if operation.name == "append_turns":
                return await proceed(turns=[turn(each.id, "HELLO") for each in operation.arguments["turns"]])
            if operation.name == "get_turns":
                return [turn(each.id, "(decrypted)") for each in await proceed()]
            return await proceed()

    inner = MemoryStore()
    async with Shouting(inner) as store:
        await store.append_turns("s", [turn("t")], create=header())
        assert (await inner.get_turns("s"))[0].content == [{"type": "text", "text": "HELLO"}]
        assert (await store.get_turns("s"))[0].content == [{"type": "text", "text": "(decrypted)"}]


async def test_capabilities_scopes_errors_and_closing_are_those_of_the_wrapped_store(turn: Any, header: Any) -> None:
    inner = MemoryStore()
    async with StoreMiddleware(inner) as store:
        assert store.capabilities == MEMORY_CAPABILITIES
        with pytest.raises(SessionNotFoundError):
            await store.append_turns("s", [turn("t")])
        tenant = store.in_scope("tenant")
        assert isinstance(tenant, StoreMiddleware)
        assert (tenant.scope, store.scope) == ("tenant", "")
        await tenant.append_turns("s", [turn("t")], create=header())
        assert await store.list_ids() == []
        await tenant.aclose()
        assert await store.list_ids() == [], "a scoped handle closes alone"
    with pytest.raises(StoreClosedError):
        await inner.list_ids()
