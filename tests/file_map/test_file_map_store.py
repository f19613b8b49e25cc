"""`FileMapStore`: one session in the host's file map."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
import trio
from msgspec.structs import replace

from zidane_core import (
    CapacityError,
    CorruptRecordError,
    FileMapStore,
    FileMapStoreOptions,
    Guard,
    RevisionConflictError,
    SessionRun,
    StoreFullError,
    StoreUnavailableError,
    UnsupportedError,
    text,
)


class Shelf:
    """An adapter in memory, which can be told to fail."""

    def __init__(self, **files: str) -> None:
        self.files: dict[str, str] = dict(files)
        self.saves = 0
        self.failure: BaseException | None = None

    async def get(self) -> Mapping[str, str]:
        return dict(self.files)

    async def save(self, files: Mapping[str, str], /) -> None:
        await asyncio.sleep(0)
        if self.failure is not None:
            raise self.failure
        self.saves += 1
        self.files = dict(files)

    async def delete(self) -> None:
        self.files = {}


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


def run(run_id: str, **fields: Any) -> SessionRun:
    return SessionRun(**{"id": run_id, "status": "completed", "prompt": "p", "started_at": 1, **fields})


async def filled(shelf: Shelf, turn: Any, header: Any) -> FileMapStore:
    store = await FileMapStore(shelf, clock=lambda: 1_000).__aenter__()
    await store.append_turns(
        "s", [turn("t0"), turn("t1", "é\n\u2028", role="assistant")], create=header(), run=run("r")
    )
    await store.patch_meta("s", {"title": "a \ud83d title"})
    await store.claim_send_request("s", "request", "fingerprint")
    return store


async def test_another_store_on_the_same_map_goes_on_where_the_first_stopped(
    shelf: Shelf, turn: Any, header: Any
) -> None:
    first = await filled(shelf, turn, header)
    before = await first.load("s")
    assert before is not None
    async with FileMapStore(shelf) as second:
        assert await second.load("s") == before
        await second.append_turns("s", [turn("t1", "é\n\u2028", role="assistant"), turn("t2")])
        assert [each.id for each in await second.get_turns("s")] == ["t0", "t1", "t2"]
        assert not (await second.claim_send_request("s", "request", "fingerprint")).claimed


async def test_the_files_are_readable_json(shelf: Shelf, turn: Any, header: Any) -> None:
    await filled(shelf, turn, header)
    assert sorted(shelf.files) == ["meta.json", "send-requests.json", "turns.jsonl"]
    lines = [json.loads(line) for line in shelf.files["turns.jsonl"].split("\n")[:-1]]
    assert [line["turn"]["id"] for line in lines] == ["t0", "t1"]
    assert json.loads(shelf.files["meta.json"])["items"]["run"]["r"]["value"]["prompt"] == "p"
    assert json.loads(shelf.files["send-requests.json"])["items"]["send"]["request"]["value"]["requestId"] == "request"


async def test_the_files_have_the_names_that_the_host_gives(shelf: Shelf, turn: Any, header: Any) -> None:
    names = FileMapStoreOptions(meta_file="m", turns_file="t", send_requests_file="r")
    async with FileMapStore(shelf, names) as store:
        await store.append_turns("s", [turn("t0")], create=header())
        await store.claim_send_request("s", "request", "fingerprint")
    assert sorted(shelf.files) == ["m", "r", "t"]


async def test_files_of_the_host_survive_every_write(shelf: Shelf, turn: Any, header: Any) -> None:
    shelf.files["notes.md"] = "mine \ud83d"
    store = await filled(shelf, turn, header)
    await store.delete("s")
    assert shelf.files["notes.md"] == "mine \ud83d"


async def test_a_second_session_is_refused_and_the_first_untouched(shelf: Shelf, turn: Any, header: Any) -> None:
    store = await filled(shelf, turn, header)
    before = dict(shelf.files)
    with pytest.raises(CapacityError, match="'s'"):
        await store.append_turns("other", [turn("t")], create=header("another"))
    assert shelf.files == before
    assert await store.load("other") is None


async def test_revisions_go_on_after_the_session_is_deleted(shelf: Shelf, turn: Any, header: Any) -> None:
    """So what was read before can never match what was made anew."""
    store = await filled(shelf, turn, header)
    old = await store.load("s")
    assert old is not None
    assert await store.delete("s")
    assert sorted(shelf.files) == ["meta.json"]
    async with FileMapStore(shelf) as again:
        assert await again.load("s") is None
        made = await again.append_turns("s", [turn("t0")], create=header("another"))
        assert made.rev > (old.rev or 0)
        with pytest.raises(RevisionConflictError):
            await again.append_turns("s", [turn("t9")], guard=Guard(expected_rev=old.rev))


async def test_a_read_saves_nothing_and_neither_does_a_repeated_append(shelf: Shelf, turn: Any, header: Any) -> None:
    store = await filled(shelf, turn, header)
    saves = shelf.saves
    await store.load("s")
    await store.append_turns("s", [turn("t0")])
    await store.health()
    assert shelf.saves == saves


@pytest.mark.parametrize(
    ("failure", "becomes"), [(OSError("disk"), StoreUnavailableError), (StoreFullError("quota"), StoreFullError)]
)
async def test_a_save_that_fails_has_not_happened_and_the_store_stays_usable(
    failure: Exception, becomes: type[Exception], shelf: Shelf, turn: Any, header: Any
) -> None:
    store = await filled(shelf, turn, header)
    before = await store.load("s")
    shelf.failure = failure
    with pytest.raises(becomes):
        await store.append_turns("s", [turn("t9")])
    shelf.failure = None
    assert await store.load("s") == before
    await store.append_turns("s", [turn("t9")])
    assert len(await store.get_turns("s")) == 3


async def test_a_map_that_cannot_be_read_is_no_empty_map(shelf: Shelf, turn: Any, header: Any) -> None:
    class Deaf(Shelf):
        async def get(self) -> Mapping[str, str]:
            raise TimeoutError("no answer")

    async with FileMapStore(Deaf()) as store:
        with pytest.raises(StoreUnavailableError, match="no answer"):
            await store.load("s")
    with pytest.raises(CorruptRecordError):
        async with FileMapStore(Shelf(**{"meta.json": 5})) as store:  # type: ignore[arg-type] # the point of the test
            await store.load("s")


async def test_concurrent_appends_are_all_kept_each_once(shelf: Shelf, turn: Any, header: Any) -> None:
    store = await filled(shelf, turn, header)
    await asyncio.gather(*(store.append_turns("s", [turn(f"c{at}")]) for at in range(20)))
    assert [each.id for each in (await store.get_turns("s"))[2:]] == [f"c{at}" for at in range(20)]


async def test_every_flipped_bit_is_an_error_and_never_other_data(shelf: Shelf, turn: Any, header: Any) -> None:
    """In any of the files, at any place. What is not one of the session's records has no say."""
    store = await filled(shelf, turn, header)
    before = await store.load("s"), await store.find_send_request("s", "request")
    sound = dict(shelf.files)
    for name, whole in sound.items():
        raw = whole.encode("utf-8")
        for at in range(0, len(raw) * 8, 3):
            flipped = bytearray(raw)
            flipped[at // 8] ^= 1 << at % 8
            shelf.files = {**sound, name: flipped.decode("utf-8", "surrogateescape")}
            try:
                after = await store.load("s"), await store.find_send_request("s", "request")
            except CorruptRecordError:
                continue
            assert after == before, (name, at // 8)


async def test_a_damaged_turn_is_named_and_the_rest_can_be_read(shelf: Shelf, turn: Any, header: Any) -> None:
    """Writing goes on around it, and keeps the damaged line as it is."""
    store = await filled(shelf, turn, header)
    damaged = shelf.files["turns.jsonl"].replace('"hello"', '"jello"')
    shelf.files["turns.jsonl"] = damaged
    with pytest.raises(CorruptRecordError, match="turn 0 of session 's'"):
        await store.load("s")
    rest = await store.load("s", damaged="skip")
    assert rest is not None
    assert ([each.id for each in rest.turns], len(rest.damage or ())) == (["t1"], 1)
    await store.append_turns("s", [turn("t2")])
    assert shelf.files["turns.jsonl"].startswith(damaged)
    shelf.files["turns.jsonl"] = "rubbish\n" + shelf.files["turns.jsonl"].split("\n", 1)[1]
    await store.append_turns("s", [turn("t3")])
    assert shelf.files["turns.jsonl"].startswith("rubbish\n")


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("turns.jsonl", None),
        ("turns.jsonl", ""),
        ("turns.jsonl", lambda whole: whole[:-1]),
        ("turns.jsonl", lambda whole: whole.split("\n")[0] + "\n"),
        ("turns.jsonl", lambda whole: whole + whole),
        ("meta.json", None),
        ("meta.json", ""),
        ("meta.json", "{}"),
        ("meta.json", lambda whole: whole.replace('"rev":2', '"rev":1', 1)),
        ("meta.json", lambda whole: whole.replace('"r":{"check"', '"q":{"check"')),
        ("send-requests.json", ""),
    ],
)
async def test_a_missing_or_cut_file_is_damage_and_never_a_shorter_history(
    name: str, change: Any, shelf: Shelf, turn: Any, header: Any
) -> None:
    store = await filled(shelf, turn, header)
    whole = shelf.files.pop(name)
    if change is not None:
        shelf.files[name] = change(whole) if callable(change) else change
        assert shelf.files[name] != whole
    with pytest.raises(CorruptRecordError):
        await store.load("s")


async def test_it_declares_what_a_single_session_can_do(shelf: Shelf) -> None:
    async with FileMapStore(shelf) as store:
        declared = store.capabilities
        assert (declared.max_sessions, declared.shared, declared.durable) == (1, "instance", "no")
        with pytest.raises(UnsupportedError):
            store.in_scope("tenant")
        assert replace(declared, scopes=True).scopes


def test_it_works_under_trio(turn: Any, header: Any) -> None:
    class Plain(Shelf):
        async def save(self, files: Mapping[str, str], /) -> None:
            await trio.sleep(0)
            self.files = dict(files)

    async def main() -> None:
        async with FileMapStore(Plain()) as store:
            async with trio.open_nursery() as nursery:
                for at in range(5):
                    nursery.start_soon(append, store, at)
            assert len(await store.get_turns("s")) == 5

    async def append(store: FileMapStore, at: int) -> None:
        await store.append_turns("s", [turn(f"t{at}", content=[text("x")])], create=header())

    trio.run(main)
