"""`sqlite://` URLs."""

from __future__ import annotations

from pathlib import Path

import pytest

from zidane_core.errors import StoreOptionError, StoreURLError
from zidane_core.opening import StoreURL, open_store
from zidane_store_sqlite import SqliteStore, plugin

from .sample import header, turn


async def test_a_relative_url_is_a_file_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three slashes: relative to the folder the program runs in."""
    monkeypatch.chdir(tmp_path)
    async with open_store("sqlite:///a%20b.db?synchronous=normal&busy_timeout=500ms") as store:
        await store.append_turns("s", [turn("t")], create=header())
        details = (await store.health()).details
        assert (details["path"], details["synchronous"]) == (str(tmp_path / "a b.db"), "normal")
    assert (tmp_path / "a b.db").exists()


async def test_an_absolute_url_is_that_file(tmp_path: Path) -> None:
    """Four slashes: the path from the root; options may be keyword arguments."""
    async with open_store(f"sqlite:///{tmp_path}/a.db", readers=0) as store:
        assert isinstance(store, SqliteStore)
        assert await store.list_ids() == []
    assert (tmp_path / "a.db").exists()


async def test_memory_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`sqlite:///:memory:` makes no file."""
    monkeypatch.chdir(tmp_path)
    async with open_store("sqlite:///:memory:") as store:
        await store.append_turns("s", [turn("t")], create=header())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("query", ["synchronous=off", "busy_timeout=soon", "readers=-1", "reader=2"])
def test_a_wrong_option_is_refused_before_anything_is_opened(query: str) -> None:
    """The error names the option."""
    with pytest.raises(StoreOptionError) as caught:
        open_store(f"sqlite:///a.db?{query}")
    assert caught.value.option == query.partition("=")[0]


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///", "sqlite://file.db"])
def test_a_url_without_a_file_says_how_to_write_one(url: str) -> None:
    """Two slashes are the common slip."""
    with pytest.raises(StoreURLError, match="three slashes"):
        open_store(url)


def test_the_capabilities_are_known_without_opening() -> None:
    """What a URL's store will promise, options included."""
    of = plugin.zidane_store_capabilities
    assert of(StoreURL("sqlite:///a.db")).durable == "power"
    assert of(StoreURL("sqlite:///a.db?synchronous=normal")).durable == "process"
    assert of(StoreURL("sqlite:///:memory:")).shared == "instance"
