"""What the documentation shows is true: its Python blocks run, in order, in an empty folder."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)

_GIVEN = {"README.md": "_given_readme.py"}
"""What a page takes for granted, such as a model to ask."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_python_blocks_of_a_page_run_in_order(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader who copies a page's blocks one after another gets no error."""
    blocks = _BLOCK.findall(page.read_text(encoding="utf-8"))
    if not blocks:
        pytest.skip("no Python on this page")
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "documented"}
    if page.name in _GIVEN:
        exec((Path(__file__).parent / _GIVEN[page.name]).read_text(encoding="utf-8"), namespace)
    with asyncio.Runner() as runner:
        for number, block in enumerate(blocks, 1):
            code = compile(block, f"{page.name} block {number}", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            result = eval(code, namespace)
            if inspect.iscoroutine(result):
                runner.run(result)


def test_every_page_that_is_linked_exists() -> None:
    """A link between pages leads somewhere."""
    for page in [*PAGES, ROOT / "CONTRIBUTING.md"]:
        for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
