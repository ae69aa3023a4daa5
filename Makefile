# Two commands matter: `make demo` and `make test`. Each sets up what it needs first and does nothing twice:
# what is done leaves a stamp in .venv, so a second run needs no network.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SICKBAY := $(BIN)/sickbay
JOBS ?= 2
DEMO := examples/digits_classifier.py

# The part of the ward that `make test` runs, and what it must reach. `make ward` runs everything.
SAMPLE ?= 1
GATES ?= --fail-under top1=0.9 --fail-under healthy=1.0 --fail-under place=0.7 --fail-under exact=1.0

export PIP_DISABLE_PIP_VERSION_CHECK := 1
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo test check pytest ward ward-sample ward-trials bench docs build clean setup

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.ready ## set up, then diagnose the bundled sick script and say where its HTML report is
	@echo "==> sickbay run $(DEMO)"
	@$(SICKBAY) run $(DEMO)

test: check pytest ward-sample ## set up, then run all checks, the tests and a part of the ward (15 to 25 minutes on two cores)
	@echo "==> all passed"

check: $(VENV)/.ready ## ruff, ruff format, mypy --strict
	@echo "==> ruff check"
	@$(BIN)/ruff check .
	@echo "==> ruff format --check"
	@$(BIN)/ruff format --check .
	@echo "==> mypy --strict src"
	@$(BIN)/mypy --strict src

pytest: $(VENV)/.frameworks $(VENV)/.browser ## the tests alone
	@echo "==> pytest"
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) --dist loadfile $(PYTEST)

ward: $(VENV)/.ready ## every patient of the ward: who is recognised, false alarms, bit-exactness
	@$(BIN)/python ward/scoreboard.py --jobs $(JOBS) --exact $(WARD)

ward-sample: $(VENV)/.ready
	@echo "==> ward, $(SAMPLE) per cause"
	@$(BIN)/python ward/scoreboard.py --jobs $(JOBS) --exact 2 --sample $(SAMPLE) $(GATES)

ward-trials: $(VENV)/.ready ## patients of every cause with a cure, with trials: who is cured, wrong suspicions demoted, time
	@$(BIN)/python ward/trials_board.py $(WARD)

bench: $(VENV)/.ready $(VENV)/.peers ## what watching costs, against the tools people use now
	@$(BIN)/python -m bench $(BENCH)

docs: $(VENV)/.ready ## write the catalogue's reference pages into docs/reference/causes/
	@$(BIN)/python docs/generate.py

build: $(VENV)/.ready ## wheel and sdist into dist/
	@$(BIN)/python -m build --outdir dist

setup: $(VENV)/.frameworks $(VENV)/.browser ## only set up

clean: ## remove everything that make made, and nothing else
	rm -rf $(VENV) dist build node_modules docs/reference/causes ward/results.json ward/trials-results.json bench/results.json
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis src/sickbay/report/assets/uPlot.*
	find src tests ward bench docs examples -name __pycache__ -type d -prune -exec rm -rf {} +

# ---- set-up ----------------------------------------------------------------------------------------------------------

# $(call apt,PACKAGES): install Debian packages, as root or through sudo.
define apt
	echo "==> installing Debian packages: $(1)"; \
	command -v apt-get >/dev/null || { echo "this is not a Debian-like system: install by hand: $(1)" >&2; exit 1; }; \
	as_root=; if [ "$$(id -u)" != 0 ]; then as_root=sudo; fi; \
	$$as_root apt-get update -qq; \
	$$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(1) >/dev/null
endef

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "sickbay needs Python 3.11 or newer; \`make PYTHON=python3.12 $(MAKECMDGOALS)\` chooses another" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { $(call apt,python3-venv); }
	@echo "==> creating $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.ready: $(VENV)/.created pyproject.toml constraints.txt hatch_build.py package.json package-lock.json
	@command -v npm >/dev/null || ls src/sickbay/report/assets/uPlot.iife.min.js >/dev/null 2>&1 || { $(call apt,nodejs npm); }
	@echo "==> installing sickbay and its development tools into $(VENV) (torch is large: this takes a few minutes once)"
	@$(BIN)/python -m pip install --progress-bar off -c constraints.txt -e '.[dev]'
	@$(SICKBAY) --version
	@touch $@

$(VENV)/.frameworks: $(VENV)/.ready
	@echo "==> installing Lightning, transformers and accelerate, whose trainers the tests watch, h5py and Ray"
	@$(BIN)/python -m pip install --progress-bar off --quiet -c constraints.txt -e '.[frameworks,ray]'
	@touch $@

# The tools that `make bench` compares with; one that does not install is left out of the table.
$(VENV)/.peers: $(VENV)/.ready
	@for peer in wandb torchmortem torch-audit; do \
	  echo "==> installing $$peer to compare with"; \
	  $(BIN)/python -m pip install --quiet -c constraints.txt $$peer || echo "    $$peer does not install here and is left out"; \
	done
	@touch $@

$(VENV)/.browser: $(VENV)/.created
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || { $(call apt,chromium chromium-driver); }
	@touch $@
