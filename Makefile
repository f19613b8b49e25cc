# Works with Python (3.11 or newer) and make alone: the first target sets up the environment that it needs.

PYTHON ?= python3
PACKAGES = zidane_core[cli,conformance] zidane_store_sqlite zidane_store_redis zidane_store_remote[server]
BIN = .venv/bin
WORKERS ?= 2

.PHONY: setup demo test test-thorough check clean

setup: .venv/.ready

.venv/.ready: pyproject.toml $(wildcard zidane_*/pyproject.toml)
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "pip>=25.1" uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python $(addprefix -e ./,$(PACKAGES)) --group test --group check
	touch $@

demo: setup
	$(BIN)/python -m zidane_core.demo $(HISTORY)

test: setup
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadscope -m "not thorough" $(ARGS)

test-thorough: setup
	$(BIN)/python -m pytest $(ARGS)

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pyright

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis
