# make demo   sets up .venv and runs the main job on embedded data
# make test   sets up what the tests need; lint, layers, types, tests
PYTHON ?= python3
BIN := .venv/bin
# So many made-up table files are thrown at the readers.
export RNNLAB_FUZZ ?= 10000
# Real data, when it lies beside the checkout; the tests that need it are skipped elsewhere.
export RNNLAB_DATA ?= $(wildcard $(abspath ../shared/data))

.PHONY: demo test lint clean

demo: .venv/.runtime
	$(BIN)/rnnlab compare

test: lint
	$(BIN)/python -m pytest -n 2

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/pyright

.venv/.runtime: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

.venv/.dev: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@ .venv/.runtime

clean:
	rm -rf .venv runs .pytest_cache .ruff_cache .hypothesis .import_linter_cache
