# Two commands do everything on a machine with Python 3.11+, git and make:
#   make suites   virtualenv, install, the failure suites on the emulated cluster
#   make test     everything: ruff, mypy, import-linter, the product's own tests, the suites
# The rest are parts of them:
#   make lint | unit | bench | fuzz | clean      PYTHON=python3.12 chooses the interpreter, WORKERS=4 the workers

PYTHON ?= python3
WORKERS ?= auto
VENV := .venv
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest -n $(WORKERS)

.PHONY: help suites test lint unit bench fuzz clean

help:
	@sed -n 's/^# \{0,1\}//p' $(firstword $(MAKEFILE_LIST))

$(BIN)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Kaput needs Python 3.11 or newer, this is " + sys.version.split()[0] + "; name one with: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

suites: $(BIN)/.installed
	$(PYTEST) suites

lint: $(BIN)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

unit: $(BIN)/.installed
	$(PYTEST) tests

test: lint
	$(PYTEST) tests suites

bench: $(BIN)/.installed
	$(BIN)/python -m benchmarks

fuzz: $(BIN)/.installed
	KAPUT_FUZZ=long $(PYTEST) tests/fuzz

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
