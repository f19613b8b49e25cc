"""Who gets in, and what for: no token, a wrong one, an expired one, one that may only read, one of a scope."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from zidane_core.errors import AuthenticationError, PermissionDeniedError, UnsupportedError
from zidane_core.memory import MemoryStore
from zidane_core.opening import open_store
from zidane_core.records import SessionHeader
from zidane_store_remote import RemoteStore
from zidane_store_remote.server import Token, create_app, read_token_file

from .serving import served

NOW = 1_800_000_000.0
TOKENS = (
    "writer-token",
    Token(secret="reader-token", read_only=True),
    Token(secret="old-token", expires_at=NOW - 1),
    Token(secret="young-token", expires_at=NOW + 1),
    Token(secret="acme-token", scope="acme"),
)


@pytest.fixture(scope="module")
def guarded_server() -> Iterator[str]:
    app = create_app(MemoryStore(), tokens=TOKENS, opens_store=True, clock=lambda: NOW)
    with served(app) as url:
        yield url


@pytest.mark.parametrize("token", [None, "wrong", "old-token", "writer-token2", "writer-tokeN", "é"])
@pytest.mark.parametrize("path", ["/v1", "/v1/sessions/~cw", "/v1/nothing", "/v1/sessions/~cw/turns"])
def test_without_a_good_token_everything_is_401(guarded_server: str, token: str | None, path: str) -> None:
    """The same answer for what exists, what does not and what never could, before any lookup."""
    headers = {} if token is None else {"authorization": b"Bearer " + token.encode()}
    answer = httpx.post(guarded_server + path, headers=headers)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.json()["type"] == "urn:zidane:problem:unauthorized"


@pytest.mark.parametrize(("token", "reason"), [(None, "asks for"), ("wrong", "not known"), ("old-token", "expired")])
async def test_the_client_raises_the_typed_error(guarded_server: str, token: str | None, reason: str) -> None:
    """Opening fails with AuthenticationError, which does not show the token."""
    with pytest.raises(AuthenticationError, match=reason) as caught:
        async with RemoteStore(guarded_server, token=token):
            pass
    assert "old-token" not in str(caught.value)


async def test_good_tokens_work_until_they_expire(guarded_server: str, header: Callable[..., SessionHeader]) -> None:
    async with RemoteStore(guarded_server, token="young-token") as store:
        assert (await store.append_turns("young", [], create=header())).rev


async def test_a_read_only_token_reads_and_does_not_write(
    guarded_server: str, header: Callable[..., SessionHeader]
) -> None:
    """Every write is PermissionDeniedError, whether the session exists or not; reads work."""
    async with RemoteStore(guarded_server, token="writer-token") as writer:
        await writer.append_turns("shared", [], create=header())
    async with RemoteStore(guarded_server, token="reader-token") as reader:
        assert await reader.load("shared") is not None
        for session_id in ("shared", "unknown"):
            with pytest.raises(PermissionDeniedError, match="only read"):
                await reader.append_turns(session_id, [], create=header())
            with pytest.raises(PermissionDeniedError):
                await reader.delete(session_id)


async def test_a_bound_token_sees_its_scope_and_no_other(
    guarded_server: str, header: Callable[..., SessionHeader]
) -> None:
    """Its bearer needs to name no scope, cannot name another, and is told so by the capabilities."""
    async with RemoteStore(guarded_server, token="writer-token") as writer:
        await writer.append_turns("outside", [], create=header())
        await writer.in_scope("acme").append_turns("inside", [], create=header())
    async with RemoteStore(guarded_server, token="acme-token") as bound:
        assert await bound.list_ids() == ["inside"]
        assert await bound.load("outside") is None
        with pytest.raises(UnsupportedError):
            bound.in_scope("other")
    headers = {"authorization": "Bearer acme-token", "zidane-scope": "other"}
    assert httpx.get(guarded_server + "/v1/session-ids", headers=headers).status_code == 403


async def test_the_token_of_a_url_is_used_and_never_shown(guarded_server: str) -> None:
    """`?token=` in the URL lets in; neither the store's repr nor any error repeats it."""
    async with open_store(f"{guarded_server}?token=writer-token&timeout=20s") as store:
        assert await store.load("nothing") is None
        assert "writer-token" not in repr(store)
    with pytest.raises(AuthenticationError) as caught:
        async with open_store(f"{guarded_server}?token=secret-but-wrong"):
            pass
    assert "secret-but-wrong" not in f"{caught.value!r} {caught.value.__cause__!r}"


def test_tokens_come_from_a_file(tmp_path: Path) -> None:
    """A line each; what is wrong names the line and never shows the secret."""
    file = tmp_path / "tokens"
    file.write_text("# ours\nalpha\nbeta expires=2027-01-31T00:00:00Z read-only  # until then\n\ngamma scope=acme\n")
    alpha, beta, gamma = read_token_file(file)
    assert alpha == Token(secret="alpha")
    assert beta == Token(secret="beta", expires_at=1_801_353_600.0, read_only=True)
    assert gamma == Token(secret="gamma", scope="acme")
    assert "alpha" not in repr(alpha)
    file.write_text("alpha\nhidden-secret admin\n")
    with pytest.raises(ValueError, match="line 2") as caught:
        read_token_file(file)
    assert "hidden-secret" not in str(caught.value)


def test_no_token_at_all_is_a_mistake_and_not_an_open_door() -> None:
    """Only None, in so many words, lets everyone in."""
    with pytest.raises(ValueError, match="nobody could call"):
        create_app(MemoryStore(), tokens=[])
    with pytest.raises(ValueError, match="empty one"):
        create_app(MemoryStore(), tokens=["good", ""])
