# tollens: what people and CI call. Everything happens in .venv, made on first use.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

# one thread a process: tests and benchmarks run several processes themselves
export OMP_NUM_THREADS = 1
export OPENBLAS_NUM_THREADS = 1

# tests that load JAX have processes of their own: its threads do not survive the forks of others
JAX      := src/tollens/jax.py src/tollens/training/jax tests/training/test_jax.py
JAX_PAGE := tests/docs/test_documentation.py::test_the_blocks_of_a_page_run[docs/training.md]

# these are run by one process: one builds and installs once, the other starts a cluster of Ray
ALONE    := tests/packaging tests/backends/test_ray.py

.PHONY: help setup demo test lint bench calibrate docs core-only clean

help:            ## this list
	@grep -hE '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 14

setup: $(STAMP)  ## make .venv and install tollens with all that tests and docs need

$(STAMP): pyproject.toml .ci/constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "tollens needs Python 3.11 or newer; $(PYTHON) is older: make PYTHON=python3.12 ..."; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=23"
	$(BIN)/python -m pip install --quiet -c .ci/constraints.txt \
	  -e ".[report,libraries,opacus,jax,parquet,postgres,z3,server,dask,ray,docs,dev]"
	@touch $(STAMP)

demo: $(STAMP)   ## audit six real mechanisms of real libraries
	$(BIN)/python examples/demo.py

test: $(STAMP)   ## everything that must hold: style, types, directions, tests, docs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -n auto --durations=8 $(JAX:%=--ignore=%) --deselect '$(JAX_PAGE)' \
	  $(ALONE:%=--ignore=%)
	$(BIN)/python -m pytest -n auto --durations=3 $(JAX) '$(JAX_PAGE)'
	$(BIN)/python -m pytest -q $(ALONE)
	$(BIN)/sphinx-build -q -W -b html docs docs/_build/html

bench: $(STAMP)  ## the benchmark tables with their targets, twenty minutes (BENCH=--full: hours)
	$(BIN)/python -m benchmarks.bench $(BENCH)

calibrate: $(STAMP)  ## false alarms in full, and the monitor's delays: hours, the first goes on where it stopped
	$(BIN)/python -m benchmarks.calibrate $(CALIBRATE)
	$(BIN)/python -m benchmarks.bench --full --only monitor -o benchmarks/results/full

docs: $(STAMP)   ## generate and build the documentation
	$(BIN)/python docs/generate.py
	$(BIN)/sphinx-build -q -W -b html docs docs/_build/html

core-only:       ## prove that the core installs and passes its tests without any extra
	$(PYTHON) -m venv .venv-core
	.venv-core/bin/python -m pip install --quiet . pytest pytest-xdist hypothesis syrupy
	.venv-core/bin/python -m pytest -q -n auto -o addopts="--import-mode=importlib" \
	  -m "not postgres" tests/unit tests/zoo tests/store tests/training

clean:           ## remove what was built
	rm -rf $(VENV) .venv-core docs/_build dist build
