"""The command line, `zidane`. It needs the extra `zidane-core[cli]`."""

from __future__ import annotations

import sys
from importlib.util import find_spec


def main() -> None:
    """The entry point: says what to install where the extra is missing."""
    for needed in ("typer", "rich"):
        if find_spec(needed) is None:
            print(f"zidane needs {needed}: pip install 'zidane-core[cli]'", file=sys.stderr)
            sys.exit(2)
    from .app import app_with_plugins

    app_with_plugins()()
