"""`zidane stores`: what is installed, and what it declares."""

from __future__ import annotations

import json
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from zidane_core.opening import InstalledStore, installed_stores
from zidane_core.store import CAPABILITIES, Capabilities

from .exits import FAILED


def stores(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the URL schemes that are installed, with their distributions and capabilities.

    The exit code is 1 when one of them cannot be used.
    """
    rows = installed_stores()
    if as_json:
        print(json.dumps([msgspec.to_builtins(row) for row in rows], indent=2))
    else:
        Console().print(_table(rows))
    if any(row.error for row in rows):
        raise typer.Exit(FAILED)


def _table(rows: list[InstalledStore]) -> Table:
    table = Table("scheme", "distribution", "version", "durable", "shared", "capabilities")
    for row in rows:
        declared = row.capabilities
        if declared is None:
            told = ["", "", f"[red]{row.error}[/red]"]
        else:
            told = [declared.durable, declared.shared, row.error or _told(declared)]
        table.add_row(f"{row.scheme}://", row.distribution, row.version, *told)
    return table


def _told(declared: Capabilities) -> str:
    """Its capabilities in few words."""
    names = [name for name in CAPABILITIES if getattr(declared, name)]
    return "all" if len(names) == len(CAPABILITIES) else ", ".join(names) or "told once it is open"
