"""`StoreURL`: parsed once, never showing a secret."""

from __future__ import annotations

import pickle
import traceback

import pytest

from zidane_core import StoreOptionError, StoreURL, StoreURLError

SECRET = "hunter2"


def test_the_parts_of_a_url_are_decoded() -> None:
    url = StoreURL("redis://al%40ice:p%2Fw@localhost:6380/0?prefix=a%20b&ttl=30d")
    assert (url.scheme, url.username, url.password) == ("redis", "al@ice", "p/w")
    assert (url.host, url.port, url.path) == ("localhost", 6380, "/0")
    assert dict(url.query) == {"prefix": "a b", "ttl": "30d"}


def test_a_composite_scheme_names_several_hosts() -> None:
    url = StoreURL("redis+cluster://a:7000,b:7001,[::1]:7002,c")
    assert url.scheme == "redis+cluster"
    assert url.hosts == (("a", 7000), ("b", 7001), ("::1", 7002), ("c", None))


def test_a_scheme_is_case_insensitive() -> None:
    assert StoreURL("SQLite:///x.db").scheme == "sqlite"


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("sqlite:///rel.db", "rel.db"),
        ("sqlite:///a/b@c.db", "a/b@c.db"),
        ("sqlite:////var/abs.db", "/var/abs.db"),
        ("sqlite:///:memory:", ":memory:"),
        ("sqlite:///my%20file%3F.db?readers=2", "my file?.db"),
        ("sqlite:///with space.db", "with space.db"),
    ],
)
def test_three_slashes_are_a_relative_file_and_four_an_absolute_one(text: str, path: str) -> None:
    assert StoreURL(text).file_path == path


def test_a_file_where_the_host_belongs_gets_a_hint() -> None:
    with pytest.raises(StoreURLError, match=r"sqlite:///sessions\.db") as caught:
        StoreURL("sqlite://file.db")
    assert "sqlite://file.db" in str(caught.value)


@pytest.mark.parametrize("text", ["sqlite://", "sqlite:///", "jsondir://host/x"])
def test_a_url_that_names_no_file_has_no_file_path(text: str) -> None:
    with pytest.raises(StoreURLError, match="names no file"):
        _ = StoreURL(text).file_path


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("sessions.db", "begins with a scheme"),
        ("", "begins with a scheme"),
        ("my_store://x", "underscore"),
        ("1x://x", "a letter"),
        ("redis://h:port", "number where the port belongs"),
        ("redis://h:99999", "number where the port belongs"),
        ("redis://::1:6379", "IPv6"),
        ("redis://a,,b", "host"),
        ("redis://h/?shards", "option without a value"),
        ("redis://h/#x", "fragment"),
        ("redis://h/\n", "control character"),
    ],
)
def test_what_is_no_store_url_is_refused_with_the_reason(text: str, says: str) -> None:
    with pytest.raises(StoreURLError, match=says):
        StoreURL(text)


def test_an_option_given_twice_with_different_values_is_an_error() -> None:
    with pytest.raises(StoreOptionError, match="twice"):
        StoreURL("redis://h/?shards=1&shards=2")
    assert StoreURL("redis://h/?shards=1&shards=1").query == {"shards": "1"}


@pytest.mark.parametrize(
    "text",
    [
        f"redis://user:{SECRET}@host/0",
        f"redis://:{SECRET}@host",
        f"https://host/?token={SECRET}",
        f"https://host/?API_KEY={SECRET}&a=1",
        f"https://host/?db_password={SECRET}",
        f"https://host/?client%5Fsecret={SECRET}",
        f"https://host/?authorization=Bearer+{SECRET}",
    ],
)
def test_a_url_never_shows_its_secrets(text: str) -> None:
    url = StoreURL(text)
    assert SECRET not in f"{url} {url!r} {url}"
    assert "***" in str(url)
    assert SECRET in url.reveal()


def test_what_is_not_secret_is_shown_as_it_was_written() -> None:
    assert str(StoreURL(f"redis://u:{SECRET}@h:1,[::2]:3/0?prefix=a%20b&token=x")) == (
        "redis://u:***@h:1,[::2]:3/0?prefix=a%20b&token=***"
    )


@pytest.mark.parametrize(
    "text",
    [
        f"redis://user:{SECRET}#x@host",
        f"redis://user:{SECRET}/x@host",
        f"redis://user:12/{SECRET}@host",
        f"redis://user:{SECRET}?x@host",
        f"redis://user:12?{SECRET}@host",
        f"redis://user:{SECRET}",
        f"redis://user:{SECRET}@host:{SECRET}",
        f"redis://user:{SECRET}@[::1",
        f"redis://user:{SECRET}@host\n",
        f"sqlite://user:{SECRET}@file.db",
        f"https://h/?token={SECRET}&token=other",
        f"user:{SECRET}@host",
    ],
)
def test_no_refusal_repeats_a_password_that_was_written_wrongly(text: str) -> None:
    """Unescaped characters move parts of a password into the path, the query or the port."""
    with pytest.raises(StoreURLError) as caught:
        StoreURL(text)
    shown = "".join(traceback.format_exception(caught.value)).split("StoreURL(text)")[-1]
    assert SECRET not in shown
    assert caught.value.__context__ is None


def test_a_url_pickles_with_its_secrets_and_compares_by_content() -> None:
    """A worker process has to open the same store."""
    url = StoreURL(f"redis://u:{SECRET}@h")
    again = pickle.loads(pickle.dumps(url))
    assert again == url
    assert hash(again) == hash(url)
    assert again.password == SECRET
    assert url != StoreURL("redis://u:other@h")


def test_a_client_gets_the_url_with_or_without_the_options() -> None:
    url = StoreURL(f"redis://u:{SECRET}@h/0?prefix=x")
    assert url.reveal(query=False) == f"redis://u:{SECRET}@h/0"
