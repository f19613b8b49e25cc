"""`zidane check`: run the conformance kit on a store."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .exits import FAILED, NOT_FOUND_OUT, WRONGLY_ASKED, told

if TYPE_CHECKING:
    from zidane_core.conformance import Report, Result


WIDE = 130
"""Columns that the matrix by layers takes."""


def check(
    target: Annotated[str, typer.Argument(help="A store URL, or module:attribute of an opener or a Target.")] = "",
    profile: Annotated[str, typer.Option(help="quick, full or thorough.")] = "full",
    only: Annotated[
        list[str] | None, typer.Option(help="A check id or pattern such as 'append.*'; repeatable.")
    ] = None,
    require: Annotated[str | None, typer.Option(help="Only a frozen set, such as 1.0.")] = None,
    baseline: Annotated[Path | None, typer.Option(help="A file of known failures: one check id a line.")] = None,
    seed: Annotated[int | None, typer.Option(help="Repeat a run.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    junit: Annotated[Path | None, typer.Option(help="Write a JUnit report.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write a Markdown report.")] = None,
    badge: Annotated[Path | None, typer.Option(help="Write a badge for shields.io.")] = None,
    list_checks: Annotated[bool, typer.Option("--list", help="List the checks, and run none.")] = False,
) -> None:
    """Check that a store keeps the contract.

    Exit codes: 0 it does, 1 it does not, 2 wrongly asked, 3 it could not be found out.
    """
    if list_checks:
        _list(only or [])
        return
    if not target:
        print("zidane: what is to be checked? Give a store URL or module:attribute", file=sys.stderr)
        raise typer.Exit(WRONGLY_ASKED)
    console = Console(stderr=as_json)
    with told():
        report = _run(target, profile, only or [], require, baseline, seed, None if as_json else console)
    _write(report, junit, markdown, badge)
    if as_json:
        from zidane_core.conformance.reports import to_json

        print(to_json(report))
    else:
        _show(report, console)
    raise typer.Exit(_exit_code(report))


def _run(
    target: str,
    profile: str,
    only: list[str],
    require: str | None,
    baseline: Path | None,
    seed: int | None,
    console: Console | None,
) -> Report:
    from zidane_core.conformance import Baseline, State, run_conformance

    if str(Path.cwd()) not in sys.path:  # a module:attribute is looked for where the command is run
        sys.path.insert(0, str(Path.cwd()))

    def progress(result: Result) -> None:
        if console is not None and result.state in (State.FAIL, State.KIT_ERROR):
            console.print(f"[red]{escape(result.message)}[/red]", highlight=False, soft_wrap=True)

    return run_conformance(
        target,
        profile=profile,
        seed=seed,
        only=only,
        requirements=require,
        baseline=None if baseline is None else Baseline.read(baseline),
        progress=progress,
    )


def _write(report: Report, junit: Path | None, markdown: Path | None, badge: Path | None) -> None:
    from zidane_core.conformance.reports import to_badge, to_junit, to_markdown

    for path, form in ((junit, to_junit), (markdown, to_markdown), (badge, to_badge)):
        if path is not None:
            path.write_text(form(report), encoding="utf-8")


def _show(report: Report, console: Console) -> None:
    from zidane_core.conformance.check import LAYERS
    from zidane_core.conformance.reports import verdict

    console.print(_matrix(report.results, LAYERS if console.width >= WIDE else [""]))
    colour = "green" if report.conformant else "yellow" if report.passed else "red"
    console.print(f"[{colour}]{escape(verdict(report))}[/{colour}] in {report.seconds:.1f} s (seed {report.seed})")


def _matrix(results: Sequence[Result], layers: Iterable[str]) -> Table:
    """Capabilities by layers, or in one column: how many checks ended how."""
    from zidane_core.conformance.check import CORE
    from zidane_core.store import CAPABILITIES

    table = Table("capability", *(layer or "checks" for layer in layers))
    for capability in (CORE, *CAPABILITIES):
        of_it = [each for each in results if each.check.capability == capability]
        if of_it:
            table.add_row(capability, *(_cell([e for e in of_it if layer in ("", e.check.layer)]) for layer in layers))
    return table


def _cell(results: list[Result]) -> str:
    from zidane_core.conformance.reports import SIGNS

    counts = {state: sum(each.state is state for each in results) for state in SIGNS}
    colours = {"✓": "green", "✗": "red", "!": "red", "~": "yellow"}
    return " ".join(
        f"[{colours.get(SIGNS[state], 'dim')}]{SIGNS[state]}{count}[/]" for state, count in counts.items() if count
    )


def _exit_code(report: Report) -> int:
    from zidane_core.conformance import State

    states = {result.state for result in report.results}
    if State.FAIL in states and not report.passed:
        return FAILED
    return NOT_FOUND_OUT if State.KIT_ERROR in states else 0


def _list(patterns: list[str]) -> None:
    from zidane_core.conformance import all_checks
    from zidane_core.conformance.conformance import chosen_checks

    with told():
        for each in chosen_checks(all_checks(), only=tuple(patterns), requirements=None):
            print(f"{each.id:45} {each.level:6} {each.capability:14} {each.layer:13} {each.doc}")
