"""The page `docs/http-api.md` is enough to write a client in another language: its JavaScript runs, in Node."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from zidane_store_remote._wire.problems import PROBLEMS
from zidane_store_remote._wire.routes import ROUTES

from .serving import ServerProcess

PAGE = Path(__file__).parents[2] / "docs" / "http-api.md"
NODE = shutil.which("node")


@pytest.mark.skipif(NODE is None, reason="Node is not installed")
def test_the_javascript_of_the_page_runs_in_order(tmp_path: Path) -> None:
    """It creates, appends, retries, conflicts, edits, pages, claims and reads errors, with Node's own fetch."""
    blocks = re.findall(r"^```js\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 9
    script = tmp_path / "page.mjs"
    script.write_text("\n".join(f"{{\n{block}\n}}" if "const turns" in block else block for block in blocks), "utf-8")
    (tmp_path / "tokens").write_text("s3cret\n")
    with ServerProcess("memory://", "--token-file", str(tmp_path / "tokens"), "--max-page", "1") as server:
        environment = {**os.environ, "ZIDANE_URL": server.url, "ZIDANE_TOKEN": "s3cret"}
        run = subprocess.run(
            [str(NODE), str(script)], env=environment, capture_output=True, text=True, timeout=60, check=False
        )
    assert run.returncode == 0, run.stderr
    said = run.stdout.splitlines()
    assert said[0] == f"{64 * 1024 * 1024} 1"
    assert re.fullmatch(r'(\d+) 1 "\1"', said[1])
    assert re.fullmatch(r"412 \d+ \d+", said[2])
    assert said[3] == "Notes 1"
    assert said[4] == "404 urn:zidane:problem:session-not-found no such session"


def test_the_page_names_every_call_and_every_problem() -> None:
    """A route, a parameter or a problem that is added without a word there fails here."""
    page = PAGE.read_text("utf-8")
    for route in ROUTES:
        assert f"`{route.method} {route.path}`" in page
        assert all(f"`{query.name}`" in page for query in route.query)
    for problem in PROBLEMS:
        assert f"| `{problem.slug}` | {problem.status} |" in page
