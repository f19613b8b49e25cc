"""`zidane check` and `zidane stores`: what they print, and exit codes that can be trusted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from typer.testing import CliRunner, Result

from zidane_core.cli.app import app_with_plugins

BROKEN = "tests.conformance.mutants.windows:ZeroIsAll"


def zidane(*arguments: object) -> Result:
    return CliRunner().invoke(app_with_plugins(), [str(each) for each in arguments])


def check(*arguments: object) -> Result:
    return zidane("check", *arguments, "--profile", "quick", "--seed", "1")


def test_a_store_that_keeps_the_rules_exits_with_0() -> None:
    """The verdict says that a part of the checks proves nothing."""
    found = check("memory://", "--only", "turns.*")
    assert (found.exit_code, "proves no conformance" in found.stdout) == (0, True)


def test_a_broken_store_exits_with_1_and_is_told_why() -> None:
    """The message has the rule, expected and found, the seed, the calls and the command that repeats it."""
    found = check(BROKEN, "--only", "turns.window")
    assert found.exit_code == 1
    for part in ("rule", "expected   []", "seed       1", "get_turns(", f"zidane check {BROKEN} --only turns.window"):
        assert part in found.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("memry://",),
        ("memory://", "--only", "no.such"),
        ("memory://", "--require", "9.9"),
        ("no_such_module:opener",),
        (),
        ("memory://", "--baseline", "/nowhere/baseline"),
    ],
)
def test_a_wrong_question_exits_with_2(arguments: tuple[str, ...]) -> None:
    """A sentence on stderr says what is wrong, without a traceback."""
    found = check(*arguments)
    assert (found.exit_code, found.stderr.startswith("zidane: "), found.stdout) == (2, True, "")


def test_a_store_that_cannot_be_opened_exits_with_3(tmp_path: Path) -> None:
    """Nothing is said of a store that could not be looked at."""
    file = tmp_path / "no.db"
    file.write_bytes(b"this is no database" * 100)
    found = check(f"sqlite:///{file}")
    assert (found.exit_code, found.stderr.startswith("zidane: ")) == (3, True)


def test_json_is_all_that_is_printed() -> None:
    """The report has a header, the results, and a footer that counts them."""
    found = check("memory://", "--only", "turns.*", "--only", "kill.*", "--json")
    report = json.loads(found.stdout)
    counts = report["footer"]["counts"]
    assert report["header"]["target"] == "memory://"
    assert (report["header"]["seed"], report["header"]["complete"]) == (1, False)
    assert sum(counts.values()) == len(report["results"]) == counts["pass"] + counts["n/a"]
    assert (report["footer"]["passed"], report["footer"]["conformant"]) == (True, False)


def test_secrets_of_a_url_are_in_no_output() -> None:
    """Reports and errors mask the password."""
    found = check("memory://x?token=s3cret", "--only", "turns.*", "--json")
    assert "s3cret" not in found.stdout + found.stderr


def test_other_reports_are_written_to_files(tmp_path: Path) -> None:
    """JUnit, Markdown and a badge, of a run with failures."""
    junit, page, badge = tmp_path / "r.xml", tmp_path / "r.md", tmp_path / "r.json"
    check(BROKEN, "--only", "turns.*", "--junit", junit, "--markdown", page, "--badge", badge)
    suites = ET.parse(junit).getroot()
    assert {each.get("name") for each in suites.iter("testcase") if each.find("failure") is not None} == {
        "turns.window",
        "turns.tail",
    }
    assert "## ✗ turns.window" in page.read_text(encoding="utf-8")
    assert json.loads(badge.read_text(encoding="utf-8"))["message"] == "not conformant"


def test_a_baseline_names_known_failures_strictly(tmp_path: Path) -> None:
    """A listed failure is known; a listed check that passes is a failure; an unknown id is an error."""
    baseline = tmp_path / "baseline"
    arguments = (BROKEN, "--only", "turns.*", "--baseline", baseline)
    baseline.write_text("turns.window # as documented\nturns.tail\n", encoding="utf-8")
    assert check(*arguments).exit_code == 0
    baseline.write_text("turns.window\nturns.tail\nturns.numbers\n", encoding="utf-8")
    found = check(*arguments)
    assert (found.exit_code, "take it off the list" in found.stdout) == (1, True)
    baseline.write_text("turns.windows\n", encoding="utf-8")
    assert check(*arguments).exit_code == 2


def test_the_checks_can_be_listed() -> None:
    """With their rules, and nothing is run."""
    found = zidane("check", "--list", "--only", "append.order")
    assert (found.exit_code, "whatever their `created_at` says" in found.stdout) == (0, True)


def test_installed_stores_are_listed() -> None:
    """Schemes with their distributions and capabilities, as JSON too."""
    assert zidane("stores").exit_code == 0
    rows = {row["scheme"]: row for row in json.loads(zidane("stores", "--json").stdout)}
    assert rows["memory"]["distribution"] == "zidane-core"
    assert rows["sqlite"]["capabilities"]["durable"] == "power"


def test_without_the_extra_the_program_says_what_to_install() -> None:
    """A missing Typer is a sentence and exit code 2."""
    script = "import sys; sys.modules['typer'] = None; from zidane_core.cli import main; main()"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr.strip()) == (2, "zidane needs typer: pip install 'zidane-core[cli]'")
