"""`python -m zidane_core.cli` is `zidane`."""

from __future__ import annotations

from . import main

main()
