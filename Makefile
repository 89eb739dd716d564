# Two commands: `make demo` shows what ddgk does, `make test` proves it. Both set up what they need.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test check format slow bench fuzz clean

demo: $(READY)
	$(BIN)/ddgk demo

test: check
	$(BIN)/python -m pytest -q -m "not slow" -n 2

slow: $(READY)
	$(BIN)/python -m pytest -q -m slow -n 2

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Real data sets are found through DDGK_DATA.
bench: $(READY)
	$(BIN)/python benchmarks/engine.py
	$(BIN)/ddgk experiment classification MUTAG --jobs 2
	$(BIN)/ddgk experiment classification PTC_MR --jobs 2
	$(BIN)/python benchmarks/runs.py
	$(BIN)/python benchmarks/alignment_figures.py docs/figures
	$(BIN)/python benchmarks/communities.py --seeds 12 --noise .1,.2,.3,.4

# A hundred thousand spoiled inputs under guard, then ten thousand calls of a loaded model.
fuzz: $(READY)
	$(BIN)/python benchmarks/fuzz.py
	$(BIN)/python benchmarks/soak.py

# torch is pinned here and not in pyproject.toml: users take the build that fits their machine.
$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "ddgk needs Python 3.11 or newer; try make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet torch==2.13.0 -e ".[torch,plots,parquet,cluster,cloud,tune,dev]"
	@touch $(READY)

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
