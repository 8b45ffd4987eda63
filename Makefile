# make demo   sets up .venv and runs the main job on embedded data
# make test   sets up what the tests need; lint, layers, types, tests
# make test-long   what takes longer: clusters under kills, more made-up files, simulations of decisions with a known truth
PYTHON ?= python3
BIN := .venv/bin
# So many made-up table files are thrown at the readers; test-long throws more.
export RNNLAB_FUZZ ?= 1000
# Real data, when it lies beside the checkout; the tests that need it are skipped elsewhere.
export RNNLAB_DATA ?= $(wildcard $(abspath ../shared/data))
# Modules are compiled when they are first imported, and kept: hundreds of processes read them.
export PYTHONDONTWRITEBYTECODE :=
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt
# Pages are tested in a real browser, with this checker of accessibility.
AXE := axe-core@4.14.0

.PHONY: demo test test-long lint style types public-types kernels collected clean

demo: .venv/.runtime
	$(BIN)/rnnlab compare

test:
	$(MAKE) --no-print-directory -j 2 .venv/.dev .venv/.browser
	$(MAKE) --no-print-directory -j 2 types kernels public-types style collected
	RNNLAB_BROWSER=required $(BIN)/python -m pytest -n 2 --dist worksteal

test-long: .venv/.dev
	RNNLAB_LONG=1 $(BIN)/python -m pytest -m long
	RNNLAB_FUZZ=10000 $(BIN)/python -m pytest tests/data/test_reading.py tests/data/tagged
	$(BIN)/python tests/judging/test_decision.py 2000

lint: style types public-types

style: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: .venv/.dev
	$(BIN)/pyright

public-types: .venv/.dev  # all that can be imported has a type
	@echo "$(BIN)/pyright --verifytypes rnnlab --ignoreexternal"
	@PATH="$(abspath $(BIN)):$$PATH" PYTHONPATH=src $(BIN)/pyright --verifytypes rnnlab --ignoreexternal > .venv/types.txt \
	  || { grep -B1 -A3 "error:" .venv/types.txt; tail -n 4 .venv/types.txt; exit 1; }

kernels: .venv/.dev
	$(BIN)/python -c "from rnnlab import kernels; kernels.prepare()"

collected: kernels  # so that the processes of pytest find the rewritten assertions, and don't rewrite them each
	$(BIN)/python -m pytest --collect-only -qq > .venv/collected.txt || { tail -n 40 .venv/collected.txt; exit 1; }

.venv/.runtime: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(INSTALL) -e .
	$(BIN)/python -c "from rnnlab import kernels; kernels.prepare()"
	touch $@

.venv/.dev: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(INSTALL) -e '.[dev]'
	touch $@ .venv/.runtime

# What Node and the browser need to run exported models is that of the example (no install script of theirs is run).
# The browser and a font with Chinese come from the system: installed when there is none and this is root.
.venv/.browser: examples/onnx-node/package.json
	@command -v chromium >/dev/null || [ -n "$$RNNLAB_CHROMIUM" ] || { [ "$$(id -u)" = 0 ] \
	  && apt-get update --quiet && apt-get install --quiet --yes chromium fonts-noto-cjk; } \
	  || { echo "The tests of pages need a browser: apt install chromium fonts-noto-cjk, or set RNNLAB_CHROMIUM." >&2; exit 1; }
	[ -f .venv/axe/node_modules/axe-core/axe.min.js ] || npm install --silent --no-audit --no-fund --prefix .venv/axe $(AXE)
	mkdir -p .venv/onnx-node && cp examples/onnx-node/package.json .venv/onnx-node/
	npm install --silent --no-audit --no-fund --no-package-lock --ignore-scripts --prefix .venv/onnx-node
	touch $@

clean:
	rm -rf .venv runs .pytest_cache .ruff_cache .hypothesis .import_linter_cache
