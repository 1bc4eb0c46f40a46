# What people run. Needs only Python 3.11+ and a package index; everything else comes with `make`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PYTEST := $(BIN)/python -m pytest

.PHONY: run demo test test-long check bench fmt lock venv postgres clean

venv: $(READY)

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed") if sys.version_info < (3, 11) else None'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(BIN)/python -m ensurepip --upgrade
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

# With pointsman.yaml: the service. Without: the service in front of demo models.
run: venv
	@exec $(BIN)/python -m pointsman run

demo: venv
	@exec $(BIN)/python -m pointsman demo

# Tests find a PostgreSQL server by themselves; where there is none it is installed if we may, else the part is NOT RUN.
postgres:
	@if command -v initdb >/dev/null 2>&1 || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
		echo "installing PostgreSQL for the store tests"; \
		(apt-get update -qq && DEBIAN_FRONTEND=noninteractive timeout 300 apt-get install -y -qq postgresql) >/dev/null 2>&1 \
			|| echo "NOT RUN: PostgreSQL tests, the package could not be installed"; \
	else echo "NOT RUN: PostgreSQL tests, no server binary found and not allowed to install one"; fi

test: venv postgres
	$(PYTEST) -n 2 -m "not long"

test-long: venv postgres
	$(PYTEST) -n 2 -m long

check: venv
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/mypy

fmt: venv
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: venv
	$(BIN)/python bench/run.py

# Versions of everything, for all platforms, without naming any index.
lock:
	uv pip compile --universal --no-emit-index-url --no-header --extra dev pyproject.toml -o requirements.lock

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
