# On a machine with Python 3.11 or newer and git: `make run` shows, `make test` tests. Nothing else is needed.
# Another Python: make run PYTHON=python3.12

PYTHON ?= python3
BIN := .venv/bin
KERNELS := setup.py $(wildcard src/dpdl/native/*.[ch])
# Of 1.5 GB of modules a run imports a tenth; each is compiled when it is imported for the first time.
INSTALL = $(BIN)/python -m pip install --disable-pip-version-check --quiet --no-compile --constraint constraints.txt --editable

# Some tests wait for other processes, so one more than there are cores.
PYTEST = $(BIN)/python -m pytest -n $$(( $$(getconf _NPROCESSORS_ONLN) + 1 )) --dist worksteal

# Tests start hundreds of processes, which would all compile every module.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: run test test-all lint format docs dist clean help

run: .venv/.installed-run  ## show what a neighbour rebuilds without noise, with the paper's, with a proven one
	@$(BIN)/dpdl demo

test: .venv/.installed-dev  ## run the tests
	$(PYTEST)

test-all: .venv/.installed-dev  ## run all tests, also slow ones and those that download
	$(PYTEST) -m ""

lint: .venv/.installed-dev  ## check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/.installed-dev  ## format the code and repair what can be repaired
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: .venv/.installed-dev  ## build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "Documentation: site/index.html"

dist: .venv/.installed-dev  ## build source and wheel into dist/, and try the wheel outside the checkout
	rm -rf dist build
	@mkdir dist
	$(BIN)/python -c 'from setuptools.build_meta import build_sdist; build_sdist("dist")' >/dev/null
	$(BIN)/python -m pip wheel --disable-pip-version-check --quiet --no-deps --no-build-isolation --wheel-dir dist dist/*.tar.gz
	$(BIN)/python tools/outside.py dist/*.whl

clean:  ## remove the environment and everything built; runs/ stays
	rm -rf .venv site build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests examples -name __pycache__ -type d -prune -exec rm -rf {} +

help:  ## show this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/\1|\2/p' Makefile | awk -F'|' '{printf "make %-10s %s\n", $$1, $$2}'

# A stamp says that an installation is complete; it is written last, so an interrupted one leaves none.
.venv/.installed-run: pyproject.toml constraints.txt $(KERNELS)
	$(call environment)
	@echo "Installing dpdl into .venv (a few minutes the first time)"
	@$(INSTALL) '.[all]'
	@touch $@

.venv/.installed-dev: pyproject.toml constraints.txt $(KERNELS)
	$(call environment)
	@echo "Installing dpdl with its development tools into .venv (a few minutes the first time)"
	@$(INSTALL) '.[dev]'
	@touch .venv/.installed-run $@

define environment
@rm -f $@
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
    { echo "dpdl needs Python 3.11 or newer and $(PYTHON) is not: try make $(MAKECMDGOALS) PYTHON=python3.12."; exit 1; }
@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear .venv
endef
