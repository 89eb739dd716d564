# `make demo` shows what ddgk does, `make test` proves it. Both set up what they need.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
DEMO := $(VENV)/.demo
READY := $(VENV)/.ready

.PHONY: demo test check format slow docs wheel bench fuzz clean

demo: $(DEMO)
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

# The site goes to site/; no network is needed to build or to read it.
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

wheel: $(READY)
	$(BIN)/python -m pip install --quiet build twine
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*

# Real data sets are found through DDGK_DATA.
bench: $(READY)
	$(BIN)/python benchmarks/engine.py
	$(BIN)/python benchmarks/runs.py

# A hundred thousand spoiled inputs under guard, then ten thousand calls of a loaded model.
fuzz: $(READY)
	$(BIN)/python benchmarks/fuzz.py
	$(BIN)/python benchmarks/soak.py

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "ddgk needs Python 3.11 or newer; try make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(DEMO): pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet -e ".[plots]"
	@touch $(DEMO)

# torch is pinned here and not in pyproject.toml: users take the build that fits their machine.
$(READY): pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet torch==2.13.0 \
		-e ".[torch,plots,parquet,cluster,cloud,chem,explore,search,docs,dev]"
	@touch $(READY) $(DEMO)

clean:
	rm -rf $(VENV) build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis
