# Two commands do everything on a machine with Python 3.11+, git and make:
#   make suites   virtualenv, install, the failure suites on the emulated cluster, the report
#   make test     the product's own tests: ruff, mypy, import-linter, unit, integration, the suites

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest

.PHONY: suites test lint unit bench fuzz clean help

help:
	@sed -n '2,4p' $(MAKEFILE_LIST); echo "#   make lint | unit | bench | fuzz | clean"

$(BIN)/.installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Kaput needs Python 3.11 or newer; give one with: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

suites: $(BIN)/.installed
	$(PYTEST) suites -n auto

lint: $(BIN)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

unit: $(BIN)/.installed
	$(PYTEST) tests -n auto

test: lint
	$(PYTEST) tests suites -n auto

bench: $(BIN)/.installed
	$(BIN)/python -m benchmarks

fuzz: $(BIN)/.installed
	KAPUT_FUZZ=long $(PYTEST) tests/fuzz -x

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
