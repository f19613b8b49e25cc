"""`open_store`: from a URL to an open store, or to an error that says what to do."""

from __future__ import annotations

import asyncio
import pickle
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from zidane_core import (
    MemoryStore,
    PluginLoadError,
    PluginVersionError,
    SchemeConflictError,
    SessionStore,
    StoreClosedError,
    StoreMiddleware,
    StoreNotInstalledError,
    StoreOptionError,
    StoreURLError,
    UnknownSchemeError,
    ZidaneError,
    installed_stores,
    open_store,
)

from .distributions import STORE_PLUGIN, install

Install = Callable[..., None]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Installs distributions that are gone after the test, with the modules imported from them."""
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)

    def add(name: str, **rest: Any) -> None:
        install(tmp_path, name, **rest)

    yield add
    for module in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[module], "__file__", "")):
            del sys.modules[module]


@pytest.fixture
def acme(site: Install) -> Install:
    """With the store `acme://` installed."""
    site("acme-store", entries={"acme": "acme_plugin"}, modules={"acme_plugin": STORE_PLUGIN})
    return site


async def opened(*args: Any, **keywords: Any) -> Any:
    return await open_store(*args, **keywords)


# -- opening --------------------------------------------------------------------------------------


async def test_a_store_is_opened_by_async_with_and_closed_at_its_end() -> None:
    async with open_store("memory://") as store:
        assert await store.list_ids() == []
    with pytest.raises(StoreClosedError):
        await store.list_ids()


async def test_a_store_is_opened_by_await_and_closed_by_its_user() -> None:
    store = await open_store("memory://")
    assert await store.list_ids() == []
    await store.aclose()
    with pytest.raises(StoreClosedError):
        await store.list_ids()


async def test_a_memory_store_without_a_name_is_private_and_one_with_a_name_is_shared(turn: Any, header: Any) -> None:
    async with open_store("memory://shared-here") as one, open_store("memory://shared-here") as two:
        await one.append_turns("s", [turn("t")], create=header())
        assert await two.list_ids() == ["s"]
        assert one.capabilities.shared == "process"
    async with open_store("memory://shared-here") as again, open_store("memory://") as private:
        assert await again.list_ids() == ["s"]
        assert await private.list_ids() == []
        assert private.capabilities.shared == "instance"
        await again.delete("s")


async def test_the_environment_names_the_store_when_the_call_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZIDANE_STORE", "memory://")
    async with open_store() as store:
        assert isinstance(store, MemoryStore)


@pytest.mark.parametrize("value", [None, ""])
def test_no_store_named_at_all_is_an_error_rather_than_a_store_that_forgets(
    value: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ZIDANE_STORE", raising=False)
    if value is not None:
        monkeypatch.setenv("ZIDANE_STORE", value)
    with pytest.raises(StoreURLError, match="ZIDANE_STORE"):
        open_store()


async def test_a_built_store_passes_through_opened_and_is_not_closed() -> None:
    built = MemoryStore()
    async with open_store(built) as store:
        assert store is built
        assert await store.list_ids() == []
    assert await built.list_ids() == []
    await built.aclose()


async def test_an_object_path_names_a_store_or_what_makes_one(site: Install) -> None:
    site(
        "host-app",
        entries={},
        modules={
            "host_app": "from zidane_core import MemoryStore\n"
            "built = MemoryStore()\nclass inner: make = MemoryStore\nnumber = 5\nnumbers = lambda: 5\n"
        },
    )
    async with open_store("host_app:built") as store:
        assert store is sys.modules["host_app"].built
    assert await store.list_ids() == [], "it was built by the module, so it stays open"
    async with open_store("host_app:inner.make", name="mine") as made:
        assert "mine" in repr(made)
    with pytest.raises(StoreClosedError):
        await made.list_ids()
    for path in ("host_app:number", "host_app:numbers", "host_app:missing", "no_such_app:built"):
        with pytest.raises(StoreURLError, match=path):
            open_store(path)


def test_what_is_neither_a_url_nor_a_store_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="not a int"):
        open_store(5)  # type: ignore[arg-type] # the point of the test


async def test_a_scope_is_another_tenant_and_closing_it_releases_the_backend(turn: Any, header: Any) -> None:
    async with open_store("memory://scoped") as whole, open_store("memory://scoped", scope="a") as tenant:
        await tenant.append_turns("s", [turn("t")], create=header())
        assert (tenant.scope, await tenant.list_ids(), await whole.list_ids()) == ("a", ["s"], [])
        await tenant.delete("s")
    backend = MemoryStore()
    async with open_store("memory://scoped", scope="a", middleware=[lambda _: backend]):
        pass
    with pytest.raises(StoreClosedError):
        await backend.list_ids()


async def test_the_first_middleware_is_the_outermost_and_sees_scoped_calls_too() -> None:
    calls: list[str] = []

    class Noting(StoreMiddleware):
        def __init__(self, store: SessionStore, name: str) -> None:
            super().__init__(store)
            self.name = name

        async def around(self, operation: Any, proceed: Any) -> Any:
            calls.append(f"{self.name}.{operation.name}")
            return await proceed()

    wraps = [lambda store: Noting(store, "outer"), lambda store: Noting(store, "inner")]
    async with open_store("memory://", middleware=wraps, scope="t") as store:
        assert store.scope == "t"
        await store.list_ids()
    assert calls == ["outer.list_ids", "inner.list_ids"]


class Suspending(MemoryStore):
    """Suspends while it opens, and knows what it left open."""

    connections = 0

    async def _open(self) -> None:
        type(self).connections += 1
        try:
            await asyncio.Event().wait()
        except BaseException:
            type(self).connections -= 1
            raise


async def test_cancelling_while_a_store_opens_leaks_nothing() -> None:
    opening = asyncio.ensure_future(opened("memory://", middleware=[lambda _: Suspending()]))
    while Suspending.connections == 0:
        await asyncio.sleep(0)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert Suspending.connections == 0


async def test_a_store_whose_scope_is_refused_is_closed_again() -> None:
    backend = MemoryStore()
    with pytest.raises(ZidaneError):
        await open_store("memory://", middleware=[lambda _: backend], scope="\0")
    with pytest.raises(StoreClosedError):
        await backend.list_ids()


# -- picking the plugin ---------------------------------------------------------------------------


async def test_a_third_party_store_opens_by_its_url(acme: Install) -> None:
    async with open_store("acme://host/?shards=4") as store:
        assert store.options.shards == 4  # type: ignore[attr-defined] # the plugin's own
    assert "acme_plugin" in sys.modules


def test_no_plugin_is_imported_but_the_one_that_the_scheme_selects(acme: Install) -> None:
    acme("bomb-store", entries={"bomb": "bomb_plugin"}, modules={"bomb_plugin": "raise RuntimeError('boom')"})
    open_store("acme://")
    assert "bomb_plugin" not in sys.modules


def test_only_the_selected_plugin_is_asked(acme: Install) -> None:
    acme("other-store", entries={"other": "other_plugin"}, modules={"other_plugin": STORE_PLUGIN})
    open_store("acme://")
    open_store("other://")
    assert [len(sys.modules[name].opened) for name in ("acme_plugin", "other_plugin")] == [1, 1]


def test_a_known_store_that_is_not_installed_comes_with_its_pip_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zidane_core.opening.schemes.store_entries", list)
    with pytest.raises(StoreNotInstalledError, match=r"pip install zidane-store-redis$") as caught:
        open_store("redis://user:hunter2@localhost")
    assert "hunter2" not in str(caught.value)


def test_an_unknown_scheme_gets_a_suggestion() -> None:
    with pytest.raises(UnknownSchemeError, match=r"did you mean redis://\?") as caught:
        open_store("reddis://user:hunter2@x")
    assert (caught.value.scheme, caught.value.suggestion) == ("reddis", "redis")
    assert "hunter2" not in str(caught.value)


def test_a_plugin_that_fails_to_import_is_named_with_its_version_and_the_cause(site: Install) -> None:
    site("bomb-store", entries={"bomb": "bomb_plugin"}, modules={"bomb_plugin": "import no_such_driver"})
    with pytest.raises(PluginLoadError, match=r"bomb-store 1\.2\.3 .*no_such_driver") as caught:
        open_store("bomb://")
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)


@pytest.mark.parametrize("source", ["ZIDANE_STORE_API = 2", "ZIDANE_STORE_API = '1'", "pass"])
def test_a_plugin_for_another_store_interface_is_refused_before_it_is_asked(source: str, site: Install) -> None:
    site("old-store", entries={"old": "old_plugin"}, modules={"old_plugin": source})
    with pytest.raises(PluginVersionError, match="old-store"):
        open_store("old://")


@pytest.mark.parametrize(
    "source",
    [
        "ZIDANE_STORE_API = 1",
        "from zidane_core import hookimpl\nZIDANE_STORE_API = 1\n@hookimpl\ndef zidane_open_store(url): return 5",
        "from zidane_core import hookimpl\nZIDANE_STORE_API = 1\n@hookimpl\ndef zidane_open_store(uri): ...",
    ],
)
def test_a_plugin_that_gives_no_store_is_named(source: str, site: Install) -> None:
    site("odd-store", entries={"odd": "odd_plugin"}, modules={"odd_plugin": source})
    with pytest.raises(PluginLoadError, match=r"odd-store 1\.2\.3"):
        open_store("odd://")


def test_two_distributions_for_one_scheme_are_an_error_until_one_is_chosen(acme: Install) -> None:
    acme("Evil_Store", entries={"acme": "evil_plugin"}, modules={"evil_plugin": STORE_PLUGIN})
    with pytest.raises(SchemeConflictError, match="acme-store and evil-store"):
        open_store("acme://")
    open_store("acme://", plugin="evil.store")
    assert len(sys.modules["evil_plugin"].opened) == 1
    with pytest.raises(StoreNotInstalledError, match="none-such"):
        open_store("acme://", plugin="none-such")


@pytest.mark.parametrize("scheme", ["memory", "sqlite", "redis", "redis+cluster", "https"])
def test_a_scheme_of_ours_cannot_be_taken_over_unasked(scheme: str, site: Install) -> None:
    """Whether our own package for it is installed or not."""
    site("evil-store", entries={scheme: "evil_plugin"}, modules={"evil_plugin": STORE_PLUGIN})
    with pytest.raises(SchemeConflictError, match="evil-store"):
        open_store(f"{scheme}://")
    assert "evil_plugin" not in sys.modules
    open_store(f"{scheme}://", plugin="evil-store")
    assert len(sys.modules["evil_plugin"].opened) == 1


def test_choosing_a_distribution_goes_with_a_url_only() -> None:
    with pytest.raises(StoreOptionError, match="plugin"):
        open_store(MemoryStore(), plugin="acme-store")


# -- options --------------------------------------------------------------------------------------


def options(url: str, **keywords: object) -> Any:
    """What the plugin was given."""
    return open_store(url, **keywords)._store.options  # type: ignore[attr-defined] # the plugin's own attribute


def test_options_are_coerced_to_their_declared_types(acme: Install) -> None:
    read = options("acme://?shards=64&busy_timeout=500ms&mode=normal&eager=true&prefix=a%2Bb")
    assert (read.shards, read.busy_timeout, read.mode, read.eager, read.prefix) == (64, 0.5, "normal", True, "a+b")


@pytest.mark.parametrize(("text", "seconds"), [("2", 2), ("1.5s", 1.5), ("10m", 600), ("2h", 7200), ("30d", 2_592_000)])
def test_durations_are_seconds_or_have_a_unit(text: str, seconds: float, acme: Install) -> None:
    assert options(f"acme://?busy_timeout={text}").busy_timeout == seconds
    assert options("acme://", busy_timeout=text).busy_timeout == seconds


def test_keyword_arguments_go_over_the_query_and_may_be_any_object(acme: Install) -> None:
    client = object()
    read = options("acme://?shards=64", shards=2, client=client, busy_timeout=3)
    assert (read.shards, read.busy_timeout) == (2, 3.0)
    assert read.client is client


def test_an_unknown_option_gets_a_suggestion(acme: Install) -> None:
    with pytest.raises(StoreOptionError, match=r"'busy_timout'.*did you mean 'busy_timeout'\?"):
        open_store("acme://?busy_timout=5")
    with pytest.raises(StoreOptionError, match=r"did you mean 'shards'\?"):
        open_store("acme://", shard=5)
    with pytest.raises(StoreOptionError, match="no such option"):
        open_store("memory://?shards=5")


@pytest.mark.parametrize(
    "query", ["shards=many", "busy_timeout=soon", "busy_timeout=-1", "mode=fast", "eager=perhaps", "token=hunter2"]
)
def test_an_option_of_the_wrong_kind_is_named_without_its_secret(query: str, acme: Install) -> None:
    with pytest.raises(StoreOptionError) as caught:
        open_store(f"acme://?{query}")
    assert caught.value.option == query.partition("=")[0]
    assert "hunter2" not in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_options_that_exclude_one_another_are_the_stores_to_refuse(acme: Install) -> None:
    with pytest.raises(StoreOptionError, match="exclude one another"):
        open_store("acme://?eager=1", client=object())


def test_a_required_option_is_asked_for(site: Install) -> None:
    source = STORE_PLUGIN.replace("shards: int = 1", "shards: int")
    site("acme-store", entries={"acme": "acme_plugin"}, modules={"acme_plugin": source})
    with pytest.raises(StoreOptionError, match="'shards': is required"):
        open_store("acme://")


# -- what is installed ----------------------------------------------------------------------------


def test_the_list_of_installed_stores_survives_broken_plugins(acme: Install) -> None:
    acme("bomb-store", entries={"bomb": "bomb_plugin"}, modules={"bomb_plugin": "raise RuntimeError('boom')"})
    acme("evil-store", entries={"memory": "evil_plugin"}, modules={"evil_plugin": STORE_PLUGIN})
    rows = {(row.scheme, row.distribution): row for row in installed_stores()}
    assert rows["acme", "acme-store"].capabilities is not None
    assert (rows["acme", "acme-store"].version, rows["acme", "acme-store"].error) == ("1.2.3", None)
    assert "boom" in str(rows["bomb", "bomb-store"].error)
    assert "evil-store" in str(rows["memory", "zidane-core"].error)
