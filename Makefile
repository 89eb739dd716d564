# Two commands: `make demo` shows what ddgk does, `make test` proves it. Both set up what they need.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
TEST_READY := $(VENV)/.test-ready
EXTRAS := plots,torch,parquet,cluster,cloud,dev

.PHONY: demo test check format slow bench fuzz clean

demo: $(READY)
	$(BIN)/ddgk demo

test: check
	$(BIN)/python -m pytest -q -m "not slow" -n 2

slow: $(TEST_READY)
	$(BIN)/python -m pytest -q -m slow -n 2

check: $(TEST_READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(TEST_READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Real data sets are found through DDGK_DATA.
bench: $(TEST_READY)
	$(BIN)/python benchmarks/engine.py
	$(BIN)/python benchmarks/runs.py
	$(BIN)/python benchmarks/alignment_figures.py docs/figures
	$(BIN)/python benchmarks/communities.py --seeds 12 --noise .1,.2,.3,.4

# A hundred thousand spoiled inputs under guard, then ten thousand calls of a loaded model.
fuzz: $(TEST_READY)
	$(BIN)/python benchmarks/fuzz.py
	$(BIN)/python benchmarks/soak.py

# What a user of the library has: the core and figures.
$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "ddgk needs Python 3.11 or newer; try make PYTHON=python3.12"; exit 1; }
	@echo "installing ddgk with matplotlib into $(VENV)"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[plots]"
	@touch $(READY)

# torch is pinned here and not in pyproject.toml: users take the build that fits their computer.
$(TEST_READY): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0 \
		-e ".[$(EXTRAS)]"
	@touch $(TEST_READY)

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
