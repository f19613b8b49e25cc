"""The client: redirects, versions, secrets, bounds, clients handed in, asyncio and trio."""

from __future__ import annotations

import gzip
import importlib
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from zidane_core.errors import (
    ContentTooLargeError,
    StoreClosedError,
    StoreOptionError,
    StoreUnavailableError,
    StoreURLError,
)
from zidane_core.memory import MemoryStore
from zidane_core.records import SessionHeader, SessionTurn
from zidane_core.store import Guard
from zidane_store_remote import ProtocolMismatchError, RedirectRefusedError, RemoteStore
from zidane_store_remote.server import create_app

from .serving import served

Turn = Callable[..., SessionTurn]
Header = Callable[..., SessionHeader]


def answering(respond: Callable[[Request], Response]) -> Starlette:
    """A server that is none of ours."""

    async def endpoint(request: Request) -> Response:
        return respond(request)

    return Starlette(routes=[Route("/{path:path}", endpoint, methods=["GET", "POST"])])


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_refused_and_not_followed(status: int, library: str) -> None:
    """Neither token nor data goes to another host; the error names it, without what may be secret in its URL."""
    visitors: list[str] = []
    other = answering(lambda request: Response(visitors.append(request.url.path) or "ok"))
    with served(other) as elsewhere:
        host = elsewhere.replace("127.0.0.1", "localhost")
        to = {"location": f"{host}/take?token=secret"}
        redirecting = answering(lambda _: Response(status_code=status, headers=to))
        with served(redirecting) as url, pytest.raises(RedirectRefusedError, match="localhost") as caught:
            async with RemoteStore(url, token="secret", library=library):
                pass
        with served(redirecting) as url:
            async with importlib.import_module(library).AsyncClient(follow_redirects=True) as client:
                with pytest.raises(RedirectRefusedError):
                    await RemoteStore(url, token="secret", client=client).__aenter__()
    assert visitors == []
    assert "secret" not in str(caught.value)
    assert not caught.value.retryable


async def test_a_server_of_another_protocol_version_is_told_clearly() -> None:
    """Both sides' versions are named, whatever status the other server answers with."""
    newer = answering(lambda _: Response("{}", 404, {"zidane-protocol": "7, 8"}))
    with served(newer) as url, pytest.raises(ProtocolMismatchError) as caught:
        async with RemoteStore(url):
            pass
    assert (caught.value.offered, caught.value.spoken) == ([7, 8], [1])


async def test_a_client_of_another_protocol_version_is_told_clearly(memory_server: str) -> None:
    """The server names both versions in a problem document."""
    httpx = importlib.import_module("httpx")
    answer = httpx.get(memory_server + "/v1", headers={"zidane-protocol": "9"})
    assert answer.status_code == 400
    assert answer.json()["type"] == "urn:zidane:problem:protocol-mismatch"
    assert (answer.json()["offered"], answer.json()["spoken"]) == ([1], [9])


async def test_what_is_no_zidane_server_is_not_taken_for_one() -> None:
    """A web page with status 200 is an error that says so."""
    page = answering(lambda _: Response("<html>hello</html>"))
    with served(page) as url, pytest.raises(StoreUnavailableError, match="no zidane server"):
        async with RemoteStore(url, retry_for=0.1):
            pass


async def test_an_answer_that_decompresses_without_end_is_cut_off() -> None:
    """A few kilobytes that become hundreds of megabytes are refused at the bound."""
    bomb = gzip.compress(b"0" * 50_000_000)
    headers = {"zidane-protocol": "1", "content-encoding": "gzip"}
    bombing = answering(lambda _: Response(bomb, headers=headers))
    with served(bombing) as url, pytest.raises(StoreUnavailableError, match="more than 1000000 bytes"):
        async with RemoteStore(url, max_answer_bytes=1_000_000, compress=True):
            pass


@pytest.mark.parametrize("compress", [True, False])
async def test_compressed_or_not_the_history_is_the_same(
    compress: bool, library: str, memory_server: str, turn: Turn, header: Header
) -> None:
    """gzip in both directions changes nothing but the number of bytes."""
    name = uuid4().hex
    turns = [turn(f"t{number}", "words \ud800 \N{GRINNING FACE} " * 300) for number in range(30)]
    async with RemoteStore(memory_server, compress=compress, library=library) as store:
        await store.append_turns(name, turns, create=header())
        assert await store.get_turns(name) == turns
        session = await store.load(name)
        assert session is not None
        assert list(session.turns) == turns


async def test_a_client_that_was_handed_in_stays_open(library: str, memory_server: str) -> None:
    """It is used, and its owner closes it; after `aclose` the store is closed all the same."""
    module = importlib.import_module(library)
    async with module.AsyncClient(headers={"x-mine": "1"}) as client:
        store = RemoteStore(memory_server, client=client)
        async with store:
            assert await store.load("nothing") is None
        assert not client.is_closed
        with pytest.raises(StoreClosedError):
            await store.load("nothing")
        await store.aclose()


@pytest.mark.parametrize(
    "url", ["ftp://h", "http://", "https://user:hidden@host", "http://h?token=hidden", "http://h/#hidden"]
)
def test_a_url_that_is_not_usable_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(StoreURLError) as caught:
        RemoteStore(url)
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize("secret", ["hidden\n", "hidden ", "hid\0den", "hidden-\u00e9"])
def test_a_token_that_no_header_can_hold_is_refused_without_repeating_it(secret: str) -> None:
    """A line break read along with the token from a file is the usual case."""
    with pytest.raises(StoreOptionError, match="token") as caught:
        RemoteStore("http://127.0.0.1", token=secret)
    assert "hid" not in str(caught.value)
    with pytest.raises(StoreOptionError, match="x-key") as other:
        RemoteStore("http://127.0.0.1", headers={"x-key": secret})
    assert "hid" not in str(other.value)


async def test_more_than_the_server_takes_is_refused_on_either_side(turn: Turn, header: Header) -> None:
    """The capabilities tell the bound; past it nothing is sent, and a client that sends is answered with 413."""
    app = create_app(MemoryStore(), tokens=None, opens_store=True, max_body_bytes=200_000)
    with served(app) as url:
        async with RemoteStore(url) as store:
            assert store.capabilities.max_turn_bytes == 200_000 - 64 * 1024
            await store.append_turns("s", [], create=header())
            with pytest.raises(ContentTooLargeError) as one:
                await store.append_turns("s", [turn("t", "x" * 150_000)])
            assert (one.value.unit, one.value.limit) == ("bytes", 134_464)
            with pytest.raises(ContentTooLargeError) as many:
                await store.append_turns("s", [turn(f"t{number}", "x" * 100_000) for number in range(3)])
            assert many.value.limit == 200_000
            store._transport.max_body_bytes = None
            with pytest.raises(ContentTooLargeError) as told:
                await store.append_turns("s", [turn(f"t{number}", "x" * 100_000) for number in range(3)])
            assert told.value.limit == 200_000
            assert await store.get_turns("s") == []


def test_it_works_under_trio(library: str, memory_server: str, turn: Turn, header: Header) -> None:
    """Opening, writing, reading, a cancelled call and closing, without an asyncio loop."""
    trio = pytest.importorskip("trio")
    name = uuid4().hex

    async def talk() -> list[str]:
        async with RemoteStore(memory_server, library=library) as store:
            await store.append_turns(name, [turn("t1")], create=header())
            with trio.move_on_after(0.000_1):
                await store.append_turns(name, [turn("t2")])
            await store.append_turns(name, [turn("t2")])
            assert await store.load("nothing") is None
            return [each.id for each in await store.get_turns(name)]

    assert trio.run(talk) == ["t1", "t2"]


async def test_a_lost_pool_slot_is_made_good(memory_server: str) -> None:
    """A pool that is exhausted though no call is in flight is replaced by a new one, and the call goes on."""
    async with RemoteStore(memory_server, library="httpx", max_connections=1) as store:
        transport: Any = store._transport
        poisoned = transport._client
        pool = poisoned._transport._pool
        pool._max_connections = 0  # as if its one slot had been lost
        await poisoned._transport._pool.aclose()
        assert await store.load("nothing") is None
        assert transport._client is not poisoned


async def test_user_operation_ids_reach_the_served_store(memory_server: str, turn: Turn, header: Header) -> None:
    """A caller's own operation id is the one that is kept: repeating it in another process gets the first answer."""
    name, guard = uuid4().hex, Guard(op_id="mine/1")
    async with RemoteStore(memory_server) as one, RemoteStore(memory_server) as two:
        first = await one.append_turns(name, [turn("t1")], create=header(), guard=guard)
        await one.append_turns(name, [turn("t2")])
        assert await two.append_turns(name, [turn("t1")], create=header(), guard=guard) == first
