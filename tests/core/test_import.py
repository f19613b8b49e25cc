"""What importing zidane_core costs: no driver, no plugin machinery, no test tool."""

from __future__ import annotations

import subprocess
import sys

import pytest

import zidane_core
import zidane_core.opening

HEAVY = {
    "aiosqlite",
    "asyncio",
    "httpx",
    "hypothesis",
    "importlib.metadata",
    "pluggy",
    "pytest",
    "redis",
    "rich",
    "sqlite3",
    "trio",
    "typer",
}


def imported_by(statement: str) -> set[str]:
    source = f"import sys; before = set(sys.modules); {statement}; print(*(set(sys.modules) - before))"
    answer = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True, timeout=60)
    return set(answer.stdout.split())


def test_importing_zidane_core_imports_nothing_heavy() -> None:
    """Plugins and drivers are imported by the store that needs them, when it is opened."""
    loaded = imported_by("import zidane_core")
    assert "zidane_core.opening" in loaded
    assert not loaded & HEAVY


def test_every_public_name_can_be_imported() -> None:
    """Those that are imported late as well."""
    for module in (zidane_core, zidane_core.opening, zidane_core.store):
        for name in module.__all__:
            assert getattr(module, name) is not None
        assert set(module.__all__) <= set(dir(module))


def test_a_misspelt_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="open_stor"):
        zidane_core.open_stor  # noqa: B018 # type: ignore[attr-defined]
