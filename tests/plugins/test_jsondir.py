"""The third-party store, in this process and several others; its own kit run is in `test_jsondir_wheel`."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from zidane_core import open_store
from zidane_core.errors import CorruptRecordError, StoreFullError, StoreUnavailableError, TurnConflictError
from zidane_core.store import SessionStore

from .distributions import install

PROJECT = Path(__file__).parent / "zidane_store_jsondir"
PAGE = Path(__file__).parents[2] / "docs" / "writing-a-store.md"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder for `sys.path` in which the distribution's metadata is, beside its sources."""
    folder = tmp_path / "site"
    install(folder, "zidane-store-jsondir", entries={"jsondir": "zidane_store_jsondir.plugin"}, modules={})
    (folder / "zidane_store_jsondir").symlink_to(PROJECT / "src" / "zidane_store_jsondir")
    return folder


@pytest.fixture
def opened(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Any]:
    monkeypatch.syspath_prepend(str(site))
    return lambda: open_store(f"jsondir:///{tmp_path}/sessions", fsync=False)


WRITER = """
import asyncio, sys
from zidane_core import SessionTurn, open_store, text

async def main(url, name, count):
    async with open_store(url) as store:
        for at in range(count):
            turn = SessionTurn(id=f"{name}-{at}", role="user", content=[text("hello")], created_at=1)
            await store.append_turns("s", [turn])
            print(turn.id, flush=True)

asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
"""


def writer(site: Path, url: str, name: str, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, url, name, str(count)],
        env={**os.environ, "PYTHONPATH": str(site)},
        stdout=subprocess.PIPE,
        text=True,
    )


async def ids_of(store: SessionStore) -> list[str]:
    return [turn.id for turn in await store.get_turns("s")]


async def test_a_session_is_there_for_the_next_one_who_opens_the_url(opened: Any, turn: Any, header: Any) -> None:
    async with opened() as store:
        assert (store.capabilities.durable, store.capabilities.shared) == ("process", "host")
        await store.append_turns("../a b", [turn("t0", "h\u00e9\ud83d\x00")], create=header())
    async with opened() as store:
        assert await store.list_ids() == ["../a b"]
        assert (await store.get_turns("../a b"))[0] == turn("t0", "h\u00e9\ud83d\x00")


async def test_processes_append_to_one_session_and_each_turn_is_there_once(
    opened: Any, site: Path, tmp_path: Path, turn: Any, header: Any
) -> None:
    """Three processes race on one session; nothing is lost, and each one's turns are in its order."""
    async with opened() as store:
        await store.append_turns("s", [turn("first")], create=header())
        url = f"jsondir:///{tmp_path}/sessions?fsync=false"
        writers = [writer(site, url, name, 30) for name in "abc"]
        for each in writers:
            await asyncio.to_thread(each.communicate)
            assert each.returncode == 0
        stored = await ids_of(store)
    assert len(stored) == 91
    for name in "abc":
        assert [each for each in stored if each.startswith(name)] == [f"{name}-{at}" for at in range(30)]


async def test_what_a_killed_process_had_acknowledged_is_kept_and_the_session_stays_usable(
    opened: Any, site: Path, tmp_path: Path, turn: Any, header: Any
) -> None:
    async with opened() as store:
        await store.append_turns("s", [turn("first")], create=header())
        process = writer(site, f"jsondir:///{tmp_path}/sessions", "k", 10_000)
        assert process.stdout is not None
        told = [process.stdout.readline().strip() for _ in range(5)]
        process.send_signal(signal.SIGKILL)
        told += process.communicate()[0].split()
        stored = await ids_of(store)
        assert stored[1 : len(told) + 1] == told
        assert len(stored) <= len(told) + 2
        await store.append_turns("s", [turn("after")])
        assert (await ids_of(store))[-1] == "after"


async def test_a_damaged_file_is_loud(opened: Any, tmp_path: Path, turn: Any, header: Any) -> None:
    async with opened() as store:
        await store.append_turns("s", [turn("t0")], create=header())
        (file,) = (tmp_path / "sessions").glob("*.json")
        group = json.loads(file.read_text())
        sound = group["entries"]["turn-000000000000"]
        group["entries"]["turn-000000000000"] = sound.replace("hello", "hellO")
        file.write_text(json.dumps(group))
        with pytest.raises(CorruptRecordError, match="turn 0"):
            await store.load("s")
        file.write_bytes(file.read_bytes()[:-20])
        for read in (store.load("s"), store.list_ids(), store.append_turns("s", [turn("t1")])):
            with pytest.raises(CorruptRecordError, match=file.name):
                await read


async def test_a_full_disk_and_a_missing_folder_are_typed_errors_that_change_nothing(
    opened: Any, tmp_path: Path, turn: Any, header: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened() as store:
        await store.append_turns("s", [turn("t0")], create=header())
        with monkeypatch.context() as patch:

            def full(*_: Any, **__: Any) -> None:
                raise OSError(28, "No space left on device")

            patch.setattr(Path, "write_text", full)
            with pytest.raises(StoreFullError):
                await store.append_turns("s", [turn("t1")])
        assert await ids_of(store) == ["t0"]
        (tmp_path / "sessions").rename(tmp_path / "away")
        for call in (store.append_turns("s", [turn("t1")], create=header()), store.load("s"), store.list_ids()):
            with pytest.raises(StoreUnavailableError):
                await call
        (tmp_path / "away").rename(tmp_path / "sessions")
        assert (await store.append_turns("s", [turn("t1")])).added == 1
        with pytest.raises(TurnConflictError):
            await store.append_turns("s", [turn("t1", "other")])


def test_the_page_shows_the_files_of_the_store() -> None:
    """Every block with a title is a file, to the letter, and all files of the distribution are shown."""
    shown = dict(re.findall(r'^```\w+ title="(.+?)"\n(.*?)^```', PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL))
    files = [
        "pyproject.toml",
        "src/zidane_store_jsondir/store.py",
        "src/zidane_store_jsondir/plugin.py",
        "tests/test_contract.py",
    ]
    assert sorted(shown) == sorted(files)
    for name in files:
        assert shown[name] == (PROJECT / name).read_text("utf-8"), name
