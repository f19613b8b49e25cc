"""A conversation that outlives its process: `python -m zidane_core.demo [HISTORY]`."""
