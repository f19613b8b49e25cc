"""The command line, `zidane`. It needs the extra `zidane-core[cli]`."""

from __future__ import annotations

import sys


def main() -> None:
    """The entry point: says what to install where the extra is missing."""
    try:
        import rich as _rich  # noqa: F401
        import typer as _typer  # noqa: F401
    except ImportError as error:
        print(f"zidane needs {error.name}: pip install 'zidane-core[cli]'", file=sys.stderr)
        sys.exit(2)
    from .app import app_with_plugins

    app_with_plugins()()
