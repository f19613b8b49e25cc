"""The built wheels, as users install them."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from configparser import ConfigParser
from email.parser import Parser
from pathlib import Path

import pytest

from zidane_core.opening.schemes import OUR_SCHEMES

ROOT = Path(__file__).parents[2]
PACKAGES = ("zidane_core", "zidane_store_redis", "zidane_store_remote", "zidane_store_sqlite")
UV = Path(sys.executable).with_name("uv")

pytestmark = pytest.mark.skipif(not UV.exists(), reason="uv, which `make setup` installs, is not here")


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Each package's wheel, built from its source distribution, so that both are complete."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([UV, "build", "--quiet", "--all-packages", "--out-dir", folder], cwd=ROOT, check=True, timeout=100)
    return {wheel.name.split("-")[0]: wheel for wheel in folder.glob("*.whl")}


@pytest.fixture(scope="module")
def bare(wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a fresh environment where zidane-core alone is installed."""
    environment = tmp_path_factory.mktemp("bare")
    python = environment / "bin" / "python"
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, "--clear", environment], check=True, timeout=60)
    install = [UV, "pip", "install", "--quiet", "--python", python, wheels["zidane_core"]]
    subprocess.run(install, check=True, timeout=60)
    return python


def names_in(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def text_in(wheel: Path, ending: str) -> str:
    with zipfile.ZipFile(wheel) as archive:
        found = [name for name in archive.namelist() if name.endswith(ending)]
        return archive.read(found[0]).decode() if found else ""


def opening(python: Path, url: str) -> str:
    """What opening a URL answers in that environment: the error and its sentence, and the whole traceback."""
    source = "import sys, zidane_core as z\nz.open_store(sys.argv[1])"
    answer = subprocess.run([python, "-c", source, url], capture_output=True, text=True, timeout=60, check=False)
    assert answer.returncode == 1
    return answer.stderr


@pytest.mark.parametrize("name", PACKAGES)
def test_a_wheel_has_its_types_its_licence_and_nothing_of_the_workspace(name: str, wheels: dict[str, Path]) -> None:
    names = names_in(wheels[name])
    assert f"{name}/py.typed" in names
    assert any(each.endswith("licenses/LICENSE") for each in names)
    assert {each.split("/")[0].split("-")[0] for each in names} == {name}
    assert not [each for each in names if "test" in each.lower() and "conformance" not in each]
    assert text_in(wheels[name], "licenses/LICENSE") == (ROOT / "LICENSE").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PACKAGES)
def test_a_wheel_has_every_file_of_the_source_tree(name: str, wheels: dict[str, Path]) -> None:
    """Scripts in .sql and .lua files too."""
    source = ROOT / name / "src"
    files = [path for path in source.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert {str(path.relative_to(source)) for path in files} <= set(names_in(wheels[name]))


@pytest.mark.parametrize("name", [name for name in PACKAGES if name != "zidane_core"])
def test_a_store_takes_a_range_of_cores_and_never_just_one(name: str, wheels: dict[str, Path]) -> None:
    metadata = Parser().parsestr(text_in(wheels[name], ".dist-info/METADATA"))
    (core,) = [need for need in metadata.get_all("Requires-Dist", []) if need.startswith("zidane-core")]
    assert "==" not in core
    assert ">=" in core
    assert "<" in core


@pytest.mark.parametrize("name", PACKAGES)
def test_a_wheel_claims_the_schemes_that_the_core_reserves_for_it(name: str, wheels: dict[str, Path]) -> None:
    entry_points = ConfigParser(delimiters=("=",))
    entry_points.read_string(text_in(wheels[name], "entry_points.txt") or "[zidane.stores]")
    claimed = set(entry_points["zidane.stores"])
    reserved = {scheme for scheme, distribution in OUR_SCHEMES.items() if distribution == name.replace("_", "-")}
    assert claimed <= reserved


def test_a_known_store_that_is_not_installed_comes_with_the_line_that_installs_it(bare: Path) -> None:
    shown = opening(bare, "redis://user:hunter2@localhost")
    assert "StoreNotInstalledError: redis:// needs" in shown
    assert "pip install zidane-store-redis" in shown
    assert "hunter2" not in shown


def test_a_misspelt_scheme_gets_a_suggestion(bare: Path) -> None:
    shown = opening(bare, "reddis://user:hunter2@x")
    assert "UnknownSchemeError" in shown
    assert "did you mean redis://?" in shown
    assert "installed: memory)" in shown
    assert "hunter2" not in shown


def test_a_file_where_the_host_belongs_gets_the_right_spelling(bare: Path) -> None:
    shown = opening(bare, "sqlite://user:hunter2@file.db")
    assert "StoreURLError: sqlite://user:***@file.db names no file" in shown
    assert "sqlite:///" in shown
    assert "hunter2" not in shown


def test_the_core_alone_keeps_a_session_in_memory(bare: Path) -> None:
    source = """
import asyncio, zidane_core as z
async def main():
    async with z.open_store("memory://") as store:
        header = z.SessionHeader(creation_id="c", created_at=1)
        turn = z.SessionTurn(id="t", role="user", content=[z.text("hello")], created_at=1)
        print(await store.append_turns("s", [turn], create=header))
    print([row.scheme for row in z.installed_stores()])
asyncio.run(main())
"""
    answer = subprocess.run([bare, "-W", "error", "-c", source], capture_output=True, text=True, timeout=60, check=True)
    assert answer.stdout.split("\n")[:2] == ["Written(rev=1, added=1)", "['memory']"]


def test_every_public_name_of_the_core_imports_without_the_extras(bare: Path) -> None:
    source = "import zidane_core as z\nfor name in z.__all__: getattr(z, name)"
    subprocess.run([bare, "-W", "error", "-c", source], timeout=60, check=True)
