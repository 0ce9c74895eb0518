# Every target prepares .venv first, and says which environment that is and why.
.DEFAULT_GOAL := help
SHELL := /bin/bash

PYTHON := .venv/bin/python
# Any Python that answers may run the set-up; it looks for the one that fits.
ANY_PYTHON = $(shell for python in python3 python /usr/bin/python3 python3.13 \
	python3.12 python3.11 python3.10; do "$$python" -c \
	'import sys; assert sys.version_info >= (3, 8)' 2>/dev/null \
	&& echo "$$python" && break; done)
# make test INTERPRETER=/path/to/python3.12 uses that one.
INTERPRETER ?=
# The installation counts as part of the demo's time.
STARTED := $(shell date +%s)
# What pytest gets, for example: make test TESTS='tests/registry -x'
TESTS ?=

PYTEST = $(PYTHON) -m pytest --numprocesses=2 --dist=loadfile --durations=10

# TensorFlow and TFX take half a minute to import without their compiled bytecode.
unexport PYTHONDONTWRITEBYTECODE
export TF_CPP_MIN_LOG_LEVEL ?= 3
# Said by each Google client library at every start on Python 3.10, ten times over.
export PYTHONWARNINGS ?= ignore::FutureWarning:google.api_core._python_version_support

.PHONY: help environment versions demo test test-all lint format reference bazel dist lock \
	clean

help: ## Show this list.
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | \
		while IFS=$$'\t' read -r name text; do printf '%-12s %s\n' "$$name" "$$text"; done

environment: ## Make .venv: choose the Python, install requirements.txt.
	@test -n "$(ANY_PYTHON)" || { echo "No Python 3.8 or newer on PATH." >&2; exit 1; }
	@$(ANY_PYTHON) setup/environment.py $(if $(INTERPRETER),--interpreter "$(INTERPRETER)")

versions: environment ## Say what is installed in .venv.
	@$(PYTHON) --version
	@VIRTUAL_ENV=.venv .venv/bin/uv pip freeze | paste -sd ' ' | fold -sw 88

demo: environment ## Train, prove, promote and search on real pictures, in 20 minutes.
	rm -rf out/demo
	$(PYTHON) -m examples.kanji.demo --output out/demo --started $(STARTED)

test: environment ## Run the quick tests, which reach every room, in 6 minutes.
	$(PYTEST) -m 'not slow' $(TESTS)

test-all: environment ## Run every test, in 15 minutes.
	$(PYTEST) $(TESTS)

lint: environment ## Check style, types and the direction of imports.
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m mypy
	$(PYTHON) -m mypy setup/environment.py
	.venv/bin/lint-imports

format: environment ## Rewrite the code in the house's style.
	$(PYTHON) -m ruff check --fix .
	$(PYTHON) -m ruff format .

reference: environment ## Write docs/reference from the docstrings.
	$(PYTHON) setup/reference.py

bazel: environment ## Build every Bazel target and run the light tests.
	@command -v bazel >/dev/null || { echo "No bazel on PATH. Expected Debian's: \
	apt-get install bazel-bootstrap" >&2; exit 1; }
	bazel build //...
	bazel test --test_tag_filters=light //...

# make lock UPGRADE='--upgrade-package keras' lets one pin move; UPGRADE=--upgrade, all.
lock: environment ## Write requirements.txt anew from pyproject.toml.
	.venv/bin/uv pip compile pyproject.toml $(UPGRADE) --universal \
		--extra search --extra tfx --group dev --python-version 3.10 --no-python-downloads --quiet \
		--annotation-style line --custom-compile-command 'make lock' --output-file requirements.txt
	@# What stands on every line is said once, in pyproject.toml.
	@sed -i -e "s/ and platform_machine == 'x86_64' and sys_platform == 'linux'//" \
		-e "s/ and python_full_version < '3.14'//" \
		-e "s/python_full_version < '3.14' and //" \
		-e "s/ ; python_full_version < '3.14' / /" requirements.txt

dist: environment ## Build the wheel and the source distribution into out/dist.
	.venv/bin/uv build --quiet --clear --out-dir out/dist

clean: ## Remove what make made, the environment included.
	rm -rf .venv out .mypy_cache .pytest_cache .ruff_cache .grimp_cache .import_linter_cache .hypothesis
