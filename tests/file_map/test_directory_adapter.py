"""`DirectoryAdapter`: the old map or the new one, whenever the machine stops."""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import errno
import io
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from zidane_core import (
    CorruptRecordError,
    DirectoryAdapter,
    FileMapStore,
    InvalidContentError,
    InvalidIdError,
    PermissionDeniedError,
    StoreFullError,
    StoreReadOnlyError,
    StoreUnavailableError,
)

OLD = {"meta.json": "old", "turns.jsonl": "one\ntwo\r\n", "notes.md": "é"}
NEW = {"meta.json": "new", "turns.jsonl": ""}


def entries(path: Path) -> list[str]:
    return sorted(entry.name.split("-")[0] for entry in path.iterdir())


async def test_what_is_saved_is_what_is_read(tmp_path: Path) -> None:
    adapter = DirectoryAdapter(tmp_path / "not" / "there")
    assert await adapter.get() == {}
    await adapter.save(OLD)
    assert await DirectoryAdapter(tmp_path / "not" / "there").get() == OLD
    await adapter.save(NEW)
    assert await adapter.get() == NEW
    assert entries(tmp_path / "not" / "there") == ["current", "generation"], "the old generation is cleaned up"
    await adapter.delete()
    assert await adapter.get() == {}
    assert entries(tmp_path / "not" / "there") == []
    await adapter.delete()


async def test_a_session_in_a_directory_is_declared_to_survive_a_power_cut(
    tmp_path: Path, turn: Any, header: Any
) -> None:
    async with FileMapStore(DirectoryAdapter(tmp_path)) as store:
        assert store.capabilities.durable == "power"
        await store.append_turns("s", [turn("t")], create=header())
    async with FileMapStore(DirectoryAdapter(tmp_path)) as again:
        assert [each.id for each in await again.get_turns("s")] == ["t"]


# -- stopping anywhere ----------------------------------------------------------------------------


class Stopped(BaseException):
    """The process is dead: nothing it would still do happens."""


class Machine:
    """Counts the file operations of a save and stops at one of them: that one and all later ones do not happen."""

    NAMES = ("mkdir", "open", "fsync", "replace", "rename", "unlink", "rmdir", "close")

    def __init__(self, monkeypatch: pytest.MonkeyPatch, stop_at: int | None, root: Path) -> None:
        self.count, self.stop_at, self.trace = 0, stop_at, list[str]()
        self.root = str(root)
        for name in self.NAMES:
            monkeypatch.setattr(os, name, self.counted(name, getattr(os, name)))
        monkeypatch.setattr(io, "open", self.counted("write", io.open))
        monkeypatch.setattr(builtins, "open", io.open)

    def counted(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def operation(*args: Any, **keywords: Any) -> Any:
            ours = isinstance(args[0], int) or self.root in os.fspath(args[0])
            if ours and threading.current_thread() is not threading.main_thread():
                self.count += 1
                self.trace.append(name)
                if self.stop_at is not None and self.count >= self.stop_at and name != "close":
                    raise Stopped
            return real(*args, **keywords)

        return operation


async def operations_of_a_save(path: Path) -> list[str]:
    with pytest.MonkeyPatch.context() as patch:
        machine = Machine(patch, None, path)
        await DirectoryAdapter(path).save(NEW)
    return machine.trace


async def test_a_save_stopped_at_any_file_operation_leaves_the_old_map_or_the_new_one(tmp_path: Path) -> None:
    probe = tmp_path / "probe"
    await DirectoryAdapter(probe).save(OLD)
    total = len(await operations_of_a_save(probe))
    assert total > 15
    seen = []
    for stop_at in range(1, total + 1):
        path = tmp_path / str(stop_at)
        await DirectoryAdapter(path).save(OLD)
        with pytest.MonkeyPatch.context() as patch:
            Machine(patch, stop_at, path)
            with contextlib.suppress(Stopped):
                await DirectoryAdapter(path).save(NEW)
        found = await DirectoryAdapter(path).get()
        assert found in (OLD, NEW), stop_at
        seen.append(found == NEW)
        await DirectoryAdapter(path).save(OLD)
        assert await DirectoryAdapter(path).get() == OLD, "and saving goes on"
    assert seen == sorted(seen), "new from some operation on, and never old again"
    assert seen[0] is False
    assert seen[-1] is True


@pytest.mark.parametrize(
    ("number", "becomes"),
    [
        (errno.ENOSPC, StoreFullError),
        (errno.EROFS, StoreReadOnlyError),
        (errno.EACCES, PermissionDeniedError),
        (errno.EIO, StoreUnavailableError),
    ],
)
async def test_a_file_operation_that_fails_is_a_typed_error_and_leaves_no_rubbish(
    number: int, becomes: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    adapter = DirectoryAdapter(tmp_path)
    await adapter.save(OLD)
    real, calls = os.fsync, iter(range(10))

    def fsync(handle: int) -> None:
        if next(calls) == 2:
            raise OSError(number, os.strerror(number))
        real(handle)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fsync)
        with pytest.raises(becomes, match=os.strerror(number)):
            await adapter.save(NEW)
    assert await adapter.get() == OLD
    assert entries(tmp_path) == ["current", "generation"]


async def test_everything_is_synced_before_the_pointer_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await DirectoryAdapter(tmp_path).save(OLD)
    trace = await operations_of_a_save(tmp_path)
    switch = next(at for at, name in enumerate(trace) if name in {"replace", "rename"})
    assert trace[:switch].count("fsync") == len(NEW) + 3, "each file, the generation, the pointer, the directory"
    assert "fsync" in trace[switch:], "and the switch itself"


# -- several at once ------------------------------------------------------------------------------


async def test_a_cancelled_save_never_undoes_a_later_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread of a cancelled call cannot be stopped; it may come late, and then it does nothing."""
    adapter = DirectoryAdapter(tmp_path)
    await adapter.save(OLD)
    entered, release, done, real = threading.Event(), threading.Event(), threading.Event(), adapter._locked

    def late(work: Callable[[], Any]) -> Any:
        entered.set()
        release.wait(30)
        try:
            return real(work)
        finally:
            done.set()

    monkeypatch.setattr(adapter, "_locked", late)
    stranded = asyncio.ensure_future(adapter.save({"meta.json": "stranded"}))
    await asyncio.to_thread(entered.wait, 30)
    stranded.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stranded
    monkeypatch.undo()
    await adapter.save(NEW)
    release.set()
    assert await asyncio.to_thread(done.wait, 30)
    assert await adapter.get() == NEW


WRITER = """
import asyncio, sys
from zidane_core import DirectoryAdapter

async def main(path, name):
    adapter = DirectoryAdapter(path)
    for at in range(40):
        await adapter.save({"meta.json": f"{name}{at}", "turns.jsonl": f"{name}{at}"})

asyncio.run(main(*sys.argv[1:]))
"""


async def test_two_processes_that_save_never_mix_their_files(tmp_path: Path) -> None:
    """One store at a time is the rule; breaking it must not corrupt anything."""
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), name]) for name in "ab"]
    adapter = DirectoryAdapter(tmp_path)
    reads = 0
    while any(writer.poll() is None for writer in writers):
        files = await adapter.get()
        reads += bool(files)
        assert not files or files["meta.json"] == files["turns.jsonl"]
    assert [writer.returncode for writer in writers] == [0, 0]
    assert reads > 0
    assert (await adapter.get())["meta.json"] in {"a39", "b39"}


async def test_what_a_dead_writer_left_is_swept_once_it_is_old(tmp_path: Path) -> None:
    adapter = DirectoryAdapter(tmp_path)
    for name, age in (("generation-" + "a" * 32, 7_200), ("generation-" + "b" * 32, 60)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "meta.json").write_text("rest", encoding="utf-8")
        then = (tmp_path / name).stat().st_mtime - age
        os.utime(tmp_path / name, (then, then))
    await adapter.save(OLD)
    assert not (tmp_path / ("generation-" + "a" * 32)).exists()
    assert (tmp_path / ("generation-" + "b" * 32)).exists()
    assert await adapter.get() == OLD


# -- damage and names -----------------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"", b"generation-../../etc", b"..", b"\xff", b"generation-" + b"0" * 32])
async def test_a_pointer_that_names_no_generation_is_damage(content: bytes, tmp_path: Path) -> None:
    await DirectoryAdapter(tmp_path).save(OLD)
    (tmp_path / "current").write_bytes(content)
    with pytest.raises(CorruptRecordError):
        await DirectoryAdapter(tmp_path).get()


async def test_a_generation_that_is_gone_or_unreadable_is_damage_and_not_an_empty_map(tmp_path: Path) -> None:
    await DirectoryAdapter(tmp_path).save(OLD)
    (generation,) = tmp_path.glob("generation-*")
    (generation / "meta.json").write_bytes(b"\xff\xfe")
    with pytest.raises(CorruptRecordError, match=r"meta\.json"):
        await DirectoryAdapter(tmp_path).get()
    shutil.rmtree(generation)
    with pytest.raises(CorruptRecordError, match="not there"):
        await DirectoryAdapter(tmp_path).get()


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../x",
        "/etc/passwd",
        "a/b",
        "a\\b",
        "C:x",
        "con",
        "NUL.txt",
        "com1",
        "LPT¹",
        "aux .md",
        "x\0y",
        "x\n",
        "dot.",
        "space ",
        " space",
        "\u2024\u2024",
        "a\uff0fb",
        "\ud800",
        "x" * 201,
        "é" * 101,
        "what?",
    ],
)
async def test_a_file_name_that_could_leave_the_directory_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidIdError):
        await DirectoryAdapter(tmp_path / "root").save({"meta.json": "", name: ""})
    assert not (tmp_path / "root").exists()


async def test_names_that_some_file_systems_take_for_one_are_refused(tmp_path: Path) -> None:
    for pair in (("Notes.md", "notes.md"), ("\u00e9", "e\u0301"), ("stra\u00dfe", "STRASSE")):
        with pytest.raises(InvalidIdError, match="differs"):
            await DirectoryAdapter(tmp_path).save(dict.fromkeys(pair, ""))


async def test_a_text_that_is_no_text_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(InvalidContentError, match=r"notes\.md"):
        await DirectoryAdapter(tmp_path / "root").save({"notes.md": "\ud83d"})
    assert not (tmp_path / "root").exists()
