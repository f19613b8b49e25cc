"""The third-party store as its users get it: built, installed beside the built core, opened by URL, checked."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = Path(__file__).parent / "zidane_store_jsondir"

USE = """
import asyncio, sys
import zidane_core, zidane_store_jsondir
from zidane_core import create_session, installed_stores, load_session, open_store, user_turn

async def main(url):
    for module in (zidane_core, zidane_store_jsondir):
        assert "site-packages" in module.__file__, module.__file__
    assert "jsondir" in [store.scheme for store in installed_stores()]
    async with open_store(url) as store:
        session = await create_session(store, id="s")
        await session.append_turns([user_turn("hello")])
    async with open_store(url) as store:
        assert len((await load_session(store, "s")).turns) == 1

asyncio.run(main(sys.argv[1]))
"""


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run([str(each) for each in command], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a fresh environment with both wheels and what they need."""
    uv = shutil.which("uv") or Path(sys.executable).with_name("uv")
    if not Path(uv).exists():
        pytest.skip("uv is not installed")
    folder = tmp_path_factory.mktemp("wheel")
    for project in (ROOT / "zidane_core", PROJECT):
        run(uv, "build", "--wheel", "--out-dir", folder, project, cwd=folder)
    run(uv, "venv", "--python", sys.executable, folder / "venv", cwd=folder)
    interpreter = folder / "venv" / "bin" / "python"
    core, store = (next(folder.glob(f"{name}-*.whl")) for name in ("zidane_core", "zidane_store_jsondir"))
    run(uv, "pip", "install", "--python", interpreter, f"{core}[cli,conformance]", store, cwd=folder)
    return interpreter


@pytest.mark.thorough
def test_the_installed_store_is_opened_by_its_url(python: Path, tmp_path: Path) -> None:
    """Nothing of the repository is on the path."""
    run(python, "-I", "-c", USE, f"jsondir:///{tmp_path}/sessions", cwd=tmp_path)


@pytest.mark.thorough
@pytest.mark.timeout(900)
def test_the_installed_store_passes_the_kit(python: Path, tmp_path: Path) -> None:
    """Its own tests, which are the kit's pytest face, in an environment without any plugin of ours."""
    tests = shutil.copytree(PROJECT / "tests", tmp_path / "tests")
    out = run(
        python,
        "-m",
        "pytest",
        "-q",
        "--tb=short",
        "--durations=8",
        "-p",
        "no:cacheprovider",
        "-k",
        "TestJsonDir",
        tests,
        cwd=tmp_path,
    )
    assert " passed" in out
