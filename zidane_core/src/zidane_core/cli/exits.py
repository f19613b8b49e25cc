"""Exit codes: 0 yes, 1 the store fails, 2 wrongly asked, 3 it could not be found out."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager

import typer

from zidane_core.errors import StoreError, StoreURLError

FAILED = 1
WRONGLY_ASKED = 2
NOT_FOUND_OUT = 3


@contextmanager
def told() -> Generator[None]:
    """Errors of the user's or of the backend become a sentence and an exit code; no traceback."""
    try:
        yield
    except (StoreURLError, LookupError, ValueError, FileNotFoundError) as error:
        raise _exit(error, WRONGLY_ASKED) from error
    except (StoreError, OSError) as error:
        raise _exit(error, NOT_FOUND_OUT) from error


def _exit(error: Exception, code: int) -> typer.Exit:
    sentence = str(error.args[0]) if isinstance(error, LookupError) and error.args else str(error)
    print(f"zidane: {sentence}", file=sys.stderr)
    return typer.Exit(code)
