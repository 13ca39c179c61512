# Every target does its own set-up: Python 3.11+, make and a package index are all it takes.

REPO ?= .
Q ?= How does a search query flow from the command line to the ranked results?

ifeq ($(OS),Windows_NT)
BIN := .venv/Scripts
else
BIN := .venv/bin
endif
READY := .venv/.ready

# Those for which each locked package has a wheel come first. PYTHON=... names another.
PYTHONS := $(or $(PYTHON),python3.13 python3.12 python3.11 python3 python3.14 python)
# Tests at once, one a processor if nothing else is said. Whoever is done takes over half of what another has left, from its
# end: what the tests of a module share is seldom made twice, and all end at about the same time.
WORKERS ?= logical
PARALLEL := -n $(WORKERS) --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help setup demo test coverage fuzz evals lint format lock clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /  make \1	/p' Makefile

$(READY): pyproject.toml uv.lock requirements.lock tools/setup/environment.py
	@for python in $(PYTHONS); do \
	  if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
	    exec "$$python" tools/setup/environment.py; \
	  fi; \
	done; \
	if [ -z "$(PYTHON)" ] && command -v uv >/dev/null 2>&1; then \
	  exec uv run --no-project --python '>=3.11' tools/setup/environment.py; \
	fi; \
	echo "CodeRAG needs Python 3.11 or newer, and none of these is one: $(PYTHONS)." >&2; \
	echo "Install one (https://www.python.org/downloads/), or name it: make PYTHON=/path/to/python3" >&2; \
	exit 1

setup: $(READY) ## make .venv with the locked versions

demo: export DEMO_REPO = $(value REPO)
demo: export DEMO_QUESTION = $(value Q)
demo: $(READY) ## index a repository and answer a question about it: REPO=path Q="..."
	$(BIN)/coderag index -C "$$DEMO_REPO"
	$(BIN)/coderag ask -C "$$DEMO_REPO" "$$DEMO_QUESTION"

test: $(READY) ## run the tests, WORKERS=2 at once; ARGS="-k scan" runs some in turn
	$(BIN)/python -m pytest $(if $(ARGS),$(ARGS),$(PARALLEL))

coverage: $(READY) ## run the tests with the coverage gate, which takes nearly twice as long
	$(BIN)/python -m pytest --cov --cov-report=term $(PARALLEL)

fuzz: $(READY) ## the property tests with new random examples, many of each
	$(BIN)/python -m pytest -m hypothesis --hypothesis-profile=fuzz $(PARALLEL) $(ARGS)

evals: $(READY) ## our own golden sets, against evals/thresholds.toml
	$(BIN)/coderag eval run evals/datasets/coderag.jsonl -C . --thresholds evals/thresholds.toml
	$(BIN)/python -m evals.projects --fixtures tests/fixtures/repos --thresholds evals/thresholds.toml

lint: $(READY) ## ruff, mypy strict, the import contracts, names and prose
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/style/check_names.py
	$(BIN)/python tools/style/check_commits.py
	$(BIN)/python tools/style/check_prose.py --help-output

format: $(READY) ## apply ruff's fixes and its format
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

lock: ## resolve uv.lock again and export requirements.lock from it (needs uv)
	uv lock --no-config --default-index https://pypi.org/simple $(ARGS)
	uv export --no-config --frozen --all-groups --no-hashes --no-annotate --no-header --no-emit-project \
	  --quiet --output-file requirements.lock

clean: ## remove .venv, caches and build output
	rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage .coverage.* htmlcov
	find . -type d -name __pycache__ -prune -exec rm -rf {} +
