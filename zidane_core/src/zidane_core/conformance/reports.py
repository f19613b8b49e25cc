"""A report in the forms that others read: JSON, JUnit, Markdown, a badge, and the matrix of several stores."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from xml.etree import ElementTree as ET

from .check import CAPABILITIES, CORE
from .results import Report, Result, State

SIGNS = {
    State.PASS: "✓",
    State.FAIL: "✗",
    State.KNOWN_FAILURE: "~",
    State.NOT_APPLICABLE: "-",
    State.NOT_RUN: "?",
    State.KIT_ERROR: "!",
}


def verdict(report: Report) -> str:
    """The run in a sentence."""
    counts = ", ".join(f"{count} {state}" for state, count in report.counts.items() if count)
    if report.conformant:
        return f"conformant: {counts}"
    if report.passed:
        return f"passed, which proves no conformance: {counts}"
    return f"NOT conformant: {counts}"


def to_json(report: Report) -> str:
    return json.dumps(report.to_object(), indent=2, ensure_ascii=True)


def to_junit(report: Report) -> str:
    """One test case for each check, in a suite for each capability."""
    root = ET.Element("testsuites", name=f"zidane conformance of {report.target}")
    for capability in (CORE, *CAPABILITIES):
        results = [each for each in report.results if each.check.capability == capability]
        if results:
            _add_suite(root, capability, results)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode")


def _add_suite(root: ET.Element, capability: str, results: Sequence[Result]) -> None:
    states = [each.state for each in results]
    suite = ET.SubElement(
        root,
        "testsuite",
        name=capability,
        tests=str(len(results)),
        failures=str(states.count(State.FAIL)),
        errors=str(states.count(State.KIT_ERROR)),
        skipped=str(sum(states.count(each) for each in _SKIPPED)),
    )
    for result in results:
        case = ET.SubElement(
            suite, "testcase", classname=capability, name=result.check.id, time=f"{result.seconds:.3f}"
        )
        tag = _TAGS.get(result.state)
        if tag is not None:
            note = ET.SubElement(case, tag, message=_legal(result.reason or str(result.state)))
            note.text = _legal(result.message)


_SKIPPED = (State.NOT_APPLICABLE, State.NOT_RUN, State.KNOWN_FAILURE)
_TAGS = {State.FAIL: "failure", State.KIT_ERROR: "error", **dict.fromkeys(_SKIPPED, "skipped")}


def _legal(text: str) -> str:
    """XML cannot hold most control characters."""
    return "".join(each if each in "\n\t" or each.isprintable() else ascii(each)[1:-1] for each in text)


def to_markdown(report: Report) -> str:
    """A page about the run: the verdict, a table of capabilities by layer, every failure in full."""
    lines = [
        f"# Conformance of `{report.target}`",
        "",
        f"**{verdict(report)}** (profile {report.profile}, seed {report.seed}, requirements {report.requirements})",
        "",
        "| capability | passed | not applicable | failed | known failures | not run | kit errors |",
        "|---|---|---|---|---|---|---|",
    ]
    for capability, states in _by_capability(report.results).items():
        order = (
            State.PASS,
            State.NOT_APPLICABLE,
            State.FAIL,
            State.KNOWN_FAILURE,
            State.NOT_RUN,
            State.KIT_ERROR,
        )
        lines.append(f"| {capability} | " + " | ".join(str(states.count(each) or "") for each in order) + " |")
    lines += ["", "| " + " | ".join(report.versions) + " |", "|" + "---|" * len(report.versions)]
    lines.append("| " + " | ".join(report.versions.values()) + " |")
    for result in report.results:
        if result.state in (State.FAIL, State.KIT_ERROR, State.KNOWN_FAILURE):
            lines += ["", f"## {SIGNS[result.state]} {result.check.id}", "", "```text", result.message, "```"]
    return "\n".join(lines) + "\n"


def _by_capability(results: Iterable[Result]) -> dict[str, list[State]]:
    found: dict[str, list[State]] = {}
    for result in results:
        found.setdefault(result.check.capability, []).append(result.state)
    return found


def to_badge(report: Report) -> str:
    """What shields.io shows for a URL of this JSON."""
    word, colour = ("conformant", "brightgreen") if report.conformant else ("not conformant", "red")
    if report.passed and not report.conformant:
        word, colour = ("known failures", "yellow") if report.complete else ("partly checked", "lightgrey")
    version = "" if report.requirements == "all" else f" {report.requirements}"
    return json.dumps({"schemaVersion": 1, "label": f"zidane{version}", "message": word, "color": colour})


def matrix(reports: Sequence[Mapping[str, Any]]) -> str:
    """Stores by capabilities, as a Markdown table, from JSON reports."""
    columns = [CORE, *CAPABILITIES]
    lines = ["| store | " + " | ".join(columns) + " |", "|---|" + "---|" * len(columns)]
    for report in reports:
        cells = [_cell([r for r in report["results"] if r["capability"] == column]) for column in columns]
        lines.append(f"| `{report['header']['target']}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(results: Sequence[Mapping[str, Any]]) -> str:
    states = [result["state"] for result in results]
    passed, failed = states.count(State.PASS), states.count(State.FAIL) + states.count(State.KIT_ERROR)
    known = states.count(State.KNOWN_FAILURE)
    if failed or known:
        return f"✗ {failed + known} of {len(states)}"
    return f"✓ {passed}" if passed else "-"
