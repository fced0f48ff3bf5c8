# Two commands on a fresh machine with Python 3.11+, a JDK 17 and make: `make demo` and `make test`. For every save: `make quick`.
# Everything downloaded lives in .venv and in .cache (OFFSETS_TOOL_CACHE names another folder), and is fetched once.

PYTHON ?= python3
EXTRAS := spark,sql,fast,notebook,report,dev
CACHE := $(or $(OFFSETS_TOOL_CACHE),.cache)
BIN := .venv/bin
INSTALLED := .venv/.installed
LOG := $(CACHE)/install.log

# What is compiled of Python is kept, whatever the shell says: processes that tests start need not compile it again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
# Three processes share the tests on two cores, as two of them often wait for a JVM; tests/conftest.py says who goes where.
BESIDE := --numprocesses=3
SPREAD := $(BESIDE) --dist=loadgroup --no-loadscope-reorder
# Markers of tests (pyproject.toml says what they mean): those of whole programs, and those that `make quick` has no time for. It
# leaves out the compiled lane too, which a change may have compiled anew.
WHOLE := broker or server or engine or notebook or browser or install
SLOW := spark or java or slow
LEFT_OUT := $(addprefix --ignore=tests/,spark columns bench notebooks oracle test_wheel.py test_missing_extras.py)

.PHONY: help demo quick test check jars integration deep bench clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

demo: $(INSTALLED) ## from nothing to answers: install, then run the main job on fixtures/
	@$(BIN)/python -m spark.demo

quick: $(INSTALLED) ## for every save, a minute: the checks, and what needs no JVM, no program of its own and no patience
	@$(MAKE) --no-print-directory check
	@$(BIN)/python -m pytest --quiet $(BESIDE) --dist=loadfile --hypothesis-profile=quick $(LEFT_OUT) -m "not ($(SLOW) or $(WHOLE))"

test: $(INSTALLED) ## the checks and every test but those of `make integration`; one alone: .venv/bin/python -m pytest FILE -k WORD
	@$(MAKE) --no-print-directory jars
	@$(BIN)/python -m pytest $(SPREAD) -m "not ($(WHOLE))"

check: $(INSTALLED) ## lint, format, types and import contracts
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --check --quiet
	@$(BIN)/mypy 
	@$(BIN)/lint-imports --no-logo

jars: $(INSTALLED) ## fetches what the tests ask for of Spark's and Kafka's classes: nothing where it is there
	@$(BIN)/python -m oracle.jars

integration: $(INSTALLED) ## real brokers and servers, a browser, Spark's own writes, notebooks, and the wheel in an environment of its own
	@$(MAKE) --no-print-directory jars
	@$(BIN)/python -m pytest $(SPREAD) -m "$(WHOLE)"

deep: $(INSTALLED) ## all tests with 500 examples a property, over all corpora; CORPORA=DIR: over those of a folder shaped as fixtures/corpora too
	@OFFSETS_TOOL_DEEP=1 OFFSETS_TOOL_CORPORA="$(abspath $(CORPORA))" $(BIN)/python -m pytest $(SPREAD)

bench: $(INSTALLED) ## how fast, against whom: the README's tables, measured and kept; TABLES=replay,runs: some; BENCH_MB=5: a short try
	@$(BIN)/python -m bench $(TABLES)

clean: ## removes what was installed, downloaded and cached here
	rm -rf .venv .cache .hypothesis .mypy_cache .ruff_cache .pytest_cache .import_linter_cache *.egg-info build dist

# A venv that is there is kept and brought up to date; one without pip is what an interrupted run left behind.
$(INSTALLED): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "This needs Python 3.11 or newer, and '$(PYTHON)' is not: name one, as in: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -m spark.runtime.java
	@mkdir -p $(CACHE) .venv 2>/dev/null && touch $(LOG) .venv 2>/dev/null || \
	  { echo "This folder cannot be written: copy the project to one that can, and run make there." >&2; exit 1; }
	@echo "installing into .venv (a minute or two, once; what pip says is in $(LOG))" >&2
	@$(BIN)/python -m pip --version >$(LOG) 2>&1 || $(PYTHON) -m venv --clear .venv >>$(LOG) 2>&1 || \
	  { echo "Python's venv module does not work: install it (on Debian: apt-get install python3-venv), then run make again." >&2; exit 1; }
	@$(BIN)/python -m pip install --quiet --editable '.[$(EXTRAS)]' >>$(LOG) 2>&1 || \
	  { echo "pip could not install: check the network (or pip's index setting), then run make again; its words are in $(LOG)." >&2; exit 1; }
	@touch $@
