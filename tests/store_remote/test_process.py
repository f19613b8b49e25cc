"""`python -m zidane_store_remote` as a process: tokens, graceful ends, death under load."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from zidane_core.errors import AuthenticationError, StoreUnavailableError
from zidane_core.opening import open_store
from zidane_core.records import SessionHeader, SessionTurn
from zidane_store_remote import RemoteStore

from .serving import ServerProcess

Turn = Callable[..., SessionTurn]
Header = Callable[..., SessionHeader]


async def test_it_serves_any_store_by_url_to_those_with_a_token(tmp_path: Path, turn: Turn, header: Header) -> None:
    """What is written through it is in the store's own file, and stays there when it ends."""
    tokens = tmp_path / "tokens"
    tokens.write_text("alpha\n")
    url = f"sqlite:///{tmp_path / 's.db'}"
    with ServerProcess(url, "--token-file", str(tokens)) as server:
        with pytest.raises(AuthenticationError):
            async with RemoteStore(server.url):
                pass
        async with RemoteStore(server.url, token="alpha") as remote:
            assert remote.capabilities.durable == "power"
            await remote.append_turns("a/b", [turn("t1")], create=header())
        assert server.stop() == 0
    async with open_store(url) as local:
        assert [each.id for each in await local.get_turns("a/b")] == ["t1"]


async def test_sigterm_finishes_the_writes_that_were_begun(tmp_path: Path, turn: Turn, header: Header) -> None:
    """Appends are going on when the signal comes: each one that was answered is stored, each other one says so."""
    url = f"sqlite:///{tmp_path / 's.db'}"
    with ServerProcess(url) as server:
        async with RemoteStore(server.url, retry_for=0) as remote:
            await remote.append_turns("s", [], create=header())
            acknowledged: list[str] = []

            async def write(number: int) -> None:
                await remote.append_turns("s", [turn(f"t{number}")])
                acknowledged.append(f"t{number}")

            tasks = [asyncio.ensure_future(write(number)) for number in range(60)]
            while len(acknowledged) < 5:
                await asyncio.sleep(0.001)
            server.send_signal(15)
            results = await asyncio.gather(*tasks, return_exceptions=True)
        assert server.wait() == 0
        assert all(result is None or isinstance(result, StoreUnavailableError) for result in results)
    async with open_store(url) as local:
        assert {each.id for each in await local.get_turns("s")} >= set(acknowledged)


async def test_a_killed_server_loses_and_doubles_nothing(tmp_path: Path, turn: Turn, header: Header) -> None:
    """SIGKILL twice under four writers, restarted each time: their calls go on, every turn is there once, in order."""
    writers, each_writes = 4, 25
    with ServerProcess(f"sqlite:///{tmp_path / 's.db'}") as server:
        async with RemoteStore(server.url, timeout=60, retry_for=60) as remote:
            await remote.append_turns("s", [], create=header())
            done = 0

            async def write(writer: int) -> None:
                nonlocal done
                for number in range(each_writes):
                    written = await remote.append_turns("s", [turn(f"{writer}.{number}")])
                    assert written.added == 1, "a repeated call gets the first answer"
                    done += 1

            async def kill_at(point: int) -> None:
                while done < point:
                    await asyncio.sleep(0.002)
                server.kill()
                await asyncio.to_thread(server.start)

            async def kill_twice() -> None:
                await kill_at(20)
                await kill_at(60)

            await asyncio.gather(kill_twice(), *(write(writer) for writer in range(writers)))
            stored = [each.id for each in await remote.get_turns("s")]
    assert len(stored) == len(set(stored)) == writers * each_writes
    for writer in range(writers):
        mine = [name for name in stored if name.startswith(f"{writer}.")]
        assert mine == [f"{writer}.{number}" for number in range(each_writes)]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["memory://", "--host", "0.0.0.0"], "--token-file is required"),
        (["nonsense"], "begins with a scheme"),
        (["memory://", "--token-file", "/nowhere/tokens"], "/nowhere/tokens"),
    ],
)
def test_what_is_wrong_with_the_arguments_is_said_in_a_sentence(arguments: list[str], said: str) -> None:
    """No traceback, and an exit status that is not 0."""
    command = [sys.executable, "-m", "zidane_store_remote", *arguments]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode != 0
    assert said in run.stderr
    assert "Traceback" not in run.stderr
