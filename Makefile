# Sets everything up by itself: the host side in .venv (from scripts/host.lock), the frameworks in the user's cache.

BIN := .venv/bin
TARGETS ?= torch-cpu tensorflow-cpu jax-cpu \
  jax-tpu-v5e torch-gpu-predicted tensorflow-gpu-predicted jax-gpu-predicted
# One run is a first look: steady states get a fifth of the usual time, and twelve functions of JAX are left out, those
# whose programs a TPU's compiler needs longest for. Run files record both.
RUNS ?= 1
SLOW := $(addprefix jax.numpy.,log delete linalg.svd tril triu_indices tril_indices_from) jax.lax.top_k \
  $(addprefix jax.scipy.,signal.convolve2d special.gammaln special.i0 special.ndtr stats.norm.cdf)
QUICK := --steady-budget 0.02 $(addprefix --exclude ,$(SLOW))
OPTIONS ?= $(if $(filter 1,$(RUNS)),$(QUICK))
FUZZ_MINUTES ?= 10
MINUTES ?= 60
STORM_TARGET ?= fake
SEED ?= 1
STUDY := build/study-$(shell date -u +%Y%m%dT%H%M%SZ)

# Tests start thousands of Pythons. Without kept bytecode each compiles every module that it imports.
unexport PYTHONDONTWRITEBYTECODE

# Many tests wait for processes, so there are more of them at once than cores.
WORKERS ?= $(shell expr 2 '*' $$(nproc))
PYTEST = -m pytest --numprocesses $(WORKERS) --maxprocesses 8 --dist loadgroup --junit-xml build/reports/$@.xml
RAY_TESTS := tests/unit/host/corpus/test_count_on_ray.py tests/unit/host/launch/test_on_ray.py
SUITES := tests/containers tests/contract tests/browser tests/unit $(addprefix --ignore ,$(RAY_TESTS))
BENCHMARKS := harness startup clock merge growth study

.DEFAULT_GOAL := help
.PHONY: help study test test-rest test-all test-unit test-python38 test-browser test-frameworks test-ray environments \
  fuzz storm bench bench-quick lint lock vendor clean

help: ## show this
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## (.*)/make \1\t\2/' | expand -t 22

study: .venv/ready ## the study's functions on this CPU and on predicted GPUs and a TPU, beside the paper's results: a quick look (--steady-budget 0.02, without twelve slow functions of JAX); RUNS=3: all of it, three times; TARGETS="torch-cpu ..."
	@# A target that cannot run is no reason to show nothing of the others; wrong input and Ctrl-C are.
	@status=0; \
	(set -x; $(BIN)/portbench run $(TARGETS) --runs $(RUNS) $(OPTIONS) --out $(STUDY)/results) || status=$$?; \
	case $$status in 2|130) exit $$status;; esac; \
	(set -ex; \
	$(BIN)/portbench import-study-2023 -o $(STUDY)/paper; \
	$(BIN)/portbench merge $(STUDY)/results $(STUDY)/paper -o $(STUDY)/study; \
	$(BIN)/portbench report $(STUDY)/study -o $(STUDY)/report) && exit $$status

test: .venv/ready ## what a change must pass, within 10 min: unit tests, Python 3.8, the page, every adapter on every device
	$(BIN)/python $(PYTEST) -m "not slow" $(SUITES)
	$(BIN)/python -m tests.python38 $(PYTEST) -m "not slow" --junit-xml build/reports/$@-python38.xml

test-rest: .venv/ready ## what `make test` leaves out: whole studies, all versions, containers, long series, Ray
	$(BIN)/python $(PYTEST) -m slow $(SUITES)
	$(MAKE) --no-print-directory test-ray

test-all: ## all tests, within 35 min: test, then test-rest
	$(MAKE) --no-print-directory test
	$(MAKE) --no-print-directory test-rest

test-unit: .venv/ready ## only the tests that need no framework
	$(BIN)/python $(PYTEST) -m "not slow" tests/unit

test-python38: .venv/ready ## the runner's unit tests under Python 3.8
	$(BIN)/python -m tests.python38 $(PYTEST) -m "not slow"

test-browser: .venv/ready ## the report's page in Chromium, where there is one; screenshots in build/screenshots
	$(BIN)/python -m pytest --junit-xml build/reports/$@.xml tests/browser

test-frameworks: .venv/ready ## real frameworks, and containers where a Docker engine answers: slow ones, too
	$(BIN)/python $(PYTEST) tests/contract tests/containers

test-ray: .venv/ready ## counting and shards on a Ray cluster of two nodes, both of this machine: installs Ray (250 MB) in build/ray
	$(BIN)/uv venv --quiet --allow-existing --python $(BIN)/python build/ray
	$(BIN)/uv pip install --quiet --python build/ray/bin/python --editable '.[ray]' pytest hypothesis pandas
	build/ray/bin/python -m pytest --junit-xml build/reports/$@.xml $(RAY_TESTS)

environments: .venv/ready ## the environments of all frameworks that the tests need (20 GB); the tests make what is missing, too
	$(BIN)/python -m tests.environments

fuzz: .venv/ready ## bad input by the thousand (FUZZ_MINUTES=10 SEED=1); files that find something stay in build/fuzz; then the tests of properties, with inputs drawn by chance
	$(BIN)/python -m tests.fuzz --minutes $(FUZZ_MINUTES) --seed $(SEED)
	HYPOTHESIS_PROFILE=random $(BIN)/python $(PYTEST) -m hypothesis tests/unit/host

storm: .venv/ready ## faults of every kind (MINUTES=60 SEED=1 STORM_TARGET=fake): signals, full disks, damaged journals and studies; a table of what they did to the results
	$(BIN)/python -m tests.storm --minutes $(MINUTES) --seed $(SEED) --target $(STORM_TARGET)

bench: .venv/ready ## overhead of the harness, CPU time of each command, time to the first result, correctness of the clock, a large merge, growth with size, a run of the study, counting of calls (CORPUS=folder): ratios of one run
	set -e; for part in $(BENCHMARKS); do $(BIN)/python -m tests.bench.$$part; done
	$(BIN)/python -m tests.bench.count $(CORPUS)

bench-quick: .venv/ready ## each part of `make bench` for a few seconds: shows that it runs, its figures say nothing
	set -e; for part in $(BENCHMARKS) count; do $(BIN)/python -m tests.bench.$$part --quick; done

lint: .venv/ready ## ruff and mypy --strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

lock: .venv/ready ## remake every lock from its .in file
	$(BIN)/portbench lock

vendor: .venv/ready ## fetch the page's libraries again, by exact version, and check their digests (npm)
	$(BIN)/python -m portbench.page.vendored --fetch

clean: ## remove what was built here; the frameworks' environments stay in the cache
	rm -rf .venv build

# The first of these that is a Python of 3.11 or newer; PYTHON=... overrules.
.venv/ready: scripts/host.lock pyproject.toml
	@set -e; for python in $(PYTHON) python3 python3.11 python3.12 python3.13 python; do \
	  if $$python -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then found=$$python; break; fi; \
	done; \
	if [ -z "$$found" ]; then echo "error: portbench needs Python 3.11 or newer; install one, or name it: make PYTHON=/path/to/python ..." >&2; exit 2; fi; \
	echo "making .venv with $$found (once)"; \
	$$found -m venv --clear .venv; \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "$$(grep -o '^uv==[0-9.]*' scripts/host.lock)"; \
	$(BIN)/uv pip sync --quiet --python $(BIN)/python --require-hashes scripts/host.lock; \
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .; \
	touch $@

.PHONY: docs
docs: .venv/ready build/docs-venv/ready ## the manual, from docs/ and the READMEs, into build/site; a broken link is an error
	$(BIN)/python docs/tools/cli_reference.py build/docs/cli
	NO_MKDOCS_2_WARNING=1 build/docs-venv/bin/mkdocs build --strict --quiet
	@echo "build/site/index.html"

build/docs-venv/ready: docs/requirements.lock
	$(BIN)/uv venv --quiet --allow-existing --python $(BIN)/python build/docs-venv
	$(BIN)/uv pip sync --quiet --python build/docs-venv/bin/python --require-hashes docs/requirements.lock
	touch $@
