"""The commands, and those that plugins add."""

from __future__ import annotations

import typer

from .check import check
from .stores import stores

app = typer.Typer(
    name="zidane",
    help="Sessions for AI agents: look at stores, check them, move between them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def _commands() -> None:
    """Typer would make a lone command the whole program."""


app.command()(check)
app.command()(stores)


def app_with_plugins() -> typer.Typer:
    """The program with the commands of installed plugins."""
    from zidane_core.opening.extras import ask_plugins

    ask_plugins("zidane_cli", app=app)
    return app
