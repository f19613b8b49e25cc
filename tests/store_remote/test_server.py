"""The server: bounds, mounting, operators' routes, secrets kept, errors as documents."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import socket
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from fastapi import FastAPI
from starlette.applications import Starlette

from zidane_core.errors import AuthenticationError, StoreBusyError, StoreReadOnlyError, StoreUnavailableError
from zidane_core.memory import MemoryStore
from zidane_core.records import RunOwner, SessionHeader, SessionRun, SessionTurn
from zidane_core.store import Guard
from zidane_store_remote import RemoteStore
from zidane_store_remote.server import create_app

from .serving import served

Turn = Callable[..., SessionTurn]
Header = Callable[..., SessionHeader]


@pytest.fixture(scope="module")
def small_server() -> Iterator[str]:
    app = create_app(MemoryStore(), tokens=None, opens_store=True, max_body_bytes=100_000, read_timeout=0.5, max_page=2)
    with served(app) as url:
        yield url


def problem(answer: httpx.Response) -> str:
    """The slug of a problem document, which is checked to be one."""
    document = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    assert document["status"] == answer.status_code
    assert document["requestId"] == answer.headers["x-request-id"]
    assert document["title"]
    assert document["detail"]
    return str(document["type"]).removeprefix("urn:zidane:problem:")


def test_a_body_past_the_bound_is_413_however_it_comes(small_server: str) -> None:
    """Announced, in chunks of unknown number, or as a small gzip that grows."""
    url = small_server + "/v1/sessions/~cw/turns"
    large = b'{"turns":[],"x":"' + b"x" * 200_000 + b'"}'
    chunks = (large[at : at + 10_000] for at in range(0, len(large), 10_000))
    packed = gzip.compress(large)
    assert len(packed) < 1_000
    assert problem(httpx.post(url, content=large)) == "content-too-large"
    assert problem(httpx.post(url, content=chunks)) == "content-too-large"
    assert problem(httpx.post(url, content=packed, headers={"content-encoding": "gzip"})) == "content-too-large"


def test_a_body_that_does_not_arrive_is_408(small_server: str) -> None:
    """A request whose body stops half-way does not hold the server for ever."""
    parts = urlsplit(small_server)
    with socket.create_connection((parts.hostname, parts.port), timeout=20) as client:
        client.sendall(b"POST /v1/sessions/~cw/turns HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{")
        assert client.recv(4096).startswith(b"HTTP/1.1 408")


TURNS = "/v1/sessions/~cw/turns"


@pytest.mark.parametrize(
    ("method", "path", "more", "slug"),
    [
        ("GET", "/v1/nothing", {}, "no-such-route"),
        ("PATCH", "/v1/sessions", {}, "method-not-allowed"),
        ("GET", "/v1/sessions/plain", {}, "invalid-id"),
        ("GET", "/v1/sessions/~AA", {}, "invalid-id"),
        ("GET", "/v1/sessions/~cw", {}, "session-not-found"),
        ("GET", "/v1/sessions?limit=-1", {}, "invalid-argument"),
        ("GET", "/v1/sessions?limit=1&limit=2", {}, "invalid-argument"),
        ("GET", "/v1/sessions?colour=red", {}, "invalid-argument"),
        ("GET", "/v1/sessions?status=odd", {}, "invalid-argument"),
        ("GET", "/v1/sessions?after=odd", {}, "invalid-argument"),
        ("GET", "/v1/sessions/~cw/turns?last=1&start=0", {}, "invalid-argument"),
        ("POST", TURNS, {"content": b"{"}, "invalid-content"),
        ("POST", TURNS, {"content": b"[]"}, "invalid-content"),
        ("POST", TURNS, {"json": {"turns": [], "more": 1}}, "invalid-content"),
        ("POST", TURNS, {"json": {"turns": [], "metadata": {"add": {}}}}, "invalid-content"),
        ("POST", TURNS, {"json": {"turns": []}, "headers": {"if-match": "*"}}, "invalid-argument"),
        ("POST", TURNS, {"json": {"turns": []}, "headers": {"zidane-fence": "x"}}, "invalid-argument"),
        ("POST", TURNS, {"content": b"x", "headers": {"content-encoding": "br"}}, "unsupported-encoding"),
        ("POST", TURNS, {"content": b"x", "headers": {"content-encoding": "gzip"}}, "invalid-content"),
        ("PUT", "/v1/sessions/~cw/history", {"json": {"turns": []}}, "invalid-argument"),
        ("POST", "/v1/sessions/~cw/claim/renew", {}, "invalid-argument"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_request_is_a_problem_document(
    small_server: str, method: str, path: str, more: dict[str, Any], slug: str
) -> None:
    assert problem(httpx.request(method, small_server + path, **more)) == slug


def test_a_request_keeps_the_id_it_came_with(small_server: str) -> None:
    """So that a log line of the client's host and one of the server's can be brought together; odd ids are replaced."""
    kept = httpx.get(small_server + "/v1", headers={"x-request-id": "host-7.req_1"})
    assert kept.headers["x-request-id"] == "host-7.req_1"
    odd = httpx.get(small_server + "/v1", headers={"x-request-id": "<script>"})
    assert odd.headers["x-request-id"] != "<script>"


def test_an_unchanged_session_is_304(small_server: str) -> None:
    """A client that polls sends the revision it has."""
    created = httpx.put(small_server + "/v1/sessions/~cG9sbA", json=SNAPSHOT)
    etag = created.headers["etag"]
    assert etag == f'"{created.json()["rev"]}"'
    for path in ("/v1/sessions/~cG9sbA", "/v1/sessions/~cG9sbA/meta"):
        first = httpx.get(small_server + path)
        assert first.headers["etag"] == etag
        again = httpx.get(small_server + path, headers={"if-none-match": etag})
        assert (again.status_code, again.content) == (304, b"")
        assert httpx.get(small_server + path, headers={"if-none-match": '"999"'}).status_code == 200


SNAPSHOT = {
    "header": {"createdAt": 1, "updatedAt": 1, "status": "idle", "creationId": "c"},
    "turns": [],
    "runs": [],
    "metadata": {},
    "create": True,
}


def test_operators_see_life_and_readiness_without_a_token() -> None:
    """Alive as soon as it answers, ready once its store does."""
    store = MemoryStore()
    with served(create_app(store, tokens=["t"])) as url:
        assert httpx.get(url + "/healthz").status_code == 200
        assert httpx.get(url + "/readyz").status_code == 503
        asyncio.run(store.__aenter__())
        assert httpx.get(url + "/readyz").status_code == 200
        assert httpx.get(url + "/v1/health").status_code == 401


@pytest.mark.parametrize("kind", [Starlette, FastAPI])
async def test_it_mounts_into_a_host_below_a_path(kind: type[Starlette], turn: Turn, header: Header) -> None:
    """The host opens the store; the token check still finds the paths that need none."""
    async with MemoryStore() as store:
        host = kind()
        host.mount("/deep/sessions", create_app(store, tokens=["t"]))
        with served(host) as url:
            async with RemoteStore(url + "/deep/sessions/", token="t") as remote:
                await remote.append_turns("a/b", [turn("t1")], create=header())
                assert [each.id for each in await remote.get_turns("a/b")] == ["t1"]
            assert httpx.get(url + "/deep/sessions/healthz").status_code == 200
            assert httpx.get(url + "/deep/sessions/v1").status_code == 401


class Blocking(MemoryStore):
    """Answers `load` once it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.let = asyncio.Event()
        self.waiting = 0

    async def _load(self, session_id: str, *, skip_damaged: bool) -> Any:
        self.waiting += 1
        await self.let.wait()
        return await super()._load(session_id, skip_damaged=skip_damaged)


async def test_a_crowd_is_turned_away_with_429(header: Header) -> None:
    """One request more than `max_concurrent` is refused at once, does nothing, and says when to come back."""
    store = Blocking()
    with served(create_app(store, tokens=None, opens_store=True, max_concurrent=2)) as url:
        async with httpx.AsyncClient(timeout=20) as client, RemoteStore(url, retry_for=0.1) as remote:
            held = [asyncio.ensure_future(client.get(url + "/v1/sessions/~cw")) for _ in range(2)]
            while store.waiting < 2:
                await asyncio.sleep(0.01)
            refused = await client.get(url + "/v1/session-ids")
            assert (problem(refused), refused.headers["retry-after"]) == ("too-many-requests", "1")
            with pytest.raises(StoreBusyError):
                await remote.append_turns("s", [], create=header())
            assert (await client.get(url + "/healthz")).status_code == 200
            store.let._loop.call_soon_threadsafe(store.let.set)  # type: ignore[attr-defined] # the server's loop
            assert [(await each).status_code for each in held] == [404, 404]
            assert await remote.list_ids() == []


class Failing(MemoryStore):
    """Raises what it is given."""

    error: Exception = RuntimeError("password=hunter2 in a message")

    async def _append_turns(self, request: Any, guard: Guard) -> Any:
        raise self.error


@pytest.mark.parametrize(
    ("error", "status", "slug"),
    [
        (RuntimeError("password=hunter2 in a message"), 500, "internal-error"),
        (AuthenticationError("hunter2 refused by redis"), 503, "store-unavailable"),
        (StoreReadOnlyError("the disk"), 403, "read-only"),
        (StoreBusyError("a lock"), 503, "store-busy"),
    ],
)
async def test_a_failure_behind_the_server_tells_no_secrets(
    error: Exception, status: int, slug: str, header: Header, caplog: pytest.LogCaptureFixture
) -> None:
    """An unexpected error is 500 and its text is in the log alone; the backend's door is not the server's."""
    caplog.set_level(logging.CRITICAL + 1)
    store = Failing()
    store.error = error
    with served(create_app(store, tokens=None, opens_store=True)) as url:
        answer = httpx.post(url + TURNS, json={"turns": []})
        assert (answer.status_code, problem(answer)) == (status, slug)
        assert "hunter2" not in answer.text
        async with RemoteStore(url, retry_for=0.05) as remote:
            expected = StoreUnavailableError if slug in {"internal-error", "store-unavailable"} else type(error)
            with pytest.raises(expected) as caught:
                await remote.append_turns("s", [], create=header())
            assert "hunter2" not in str(caught.value)
            assert getattr(caught.value, "outcome_unknown", False) is (slug == "internal-error")


async def test_an_owner_is_the_clients_and_never_the_servers(small_server: str, header: Header) -> None:
    """What a claim records is what the client sent, nothing included."""
    async with RemoteStore(small_server) as store:
        await store.claim_run("nobody's", create=header())
        unowned = await store.get_meta("nobody's")
        assert unowned is not None
        assert (unowned.status, unowned.run_owner) == ("running", None)
        owner = RunOwner(host_id="elsewhere", pid=7, token="t", start_ticks=9)
        await store.claim_run("mine", create=header(), owner=owner)
        owned = await store.get_meta("mine")
        assert owned is not None
        assert owned.run_owner == owner


async def test_lists_come_in_bounded_pages_and_the_client_walks_them(small_server: str, header: Header) -> None:
    """The server answers with two at a time, whatever is asked for; the client's caller does not notice."""
    async with RemoteStore(small_server) as root:
        store = root.in_scope("pages")
        for number in range(7):
            await store.update_run(
                f"s{number}",
                SessionRun(id="r", status="completed", prompt="p", started_at=1),
                create=header(),
            )
        assert await store.list_ids() == [f"s{number}" for number in range(7)]
        assert await store.list_ids(limit=5, after="s0") == [f"s{number}" for number in range(1, 6)]
        page = await store.list_meta(limit=5)
        rest = await store.list_meta(limit=5, after=page.next)
        assert sorted(row.id for row in [*page.items, *rest.items]) == [f"s{number}" for number in range(7)]
        assert rest.next is None
    answer = httpx.get(small_server + "/v1/session-ids?limit=100", headers={"zidane-scope": "pages"}).json()
    assert answer == {"items": ["s0", "s1"], "next": "s1"}


async def test_a_history_comes_as_json_or_as_lines(small_server: str, turn: Turn, header: Header) -> None:
    """The same session, one document or one record a line, by the Accept header."""
    async with RemoteStore(small_server) as store:
        await store.append_turns("forms", [turn("t1"), turn("t2")], create=header())
    url = small_server + "/v1/sessions/~Zm9ybXM"
    whole = httpx.get(url).json()
    lines = httpx.get(url, headers={"accept": "application/x-ndjson"}).text.splitlines()
    head, *turns = map(json.loads, lines)
    assert (head["turns"], head.get("runs", 0)) == (2, 0)
    assert turns == whole["turns"]
    assert {**head["session"], "turns": turns} == whole
