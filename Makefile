# The commands of this project. `make run` and `make test` do all their set-up themselves.
.DEFAULT_GOAL := help
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# Without bytecode every process would compile all of webloom again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help
help:  ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/.python:
	@./scripts/make-venv.sh $(VENV)
	@touch $@

# The admin UI is built when its sources have changed; Node comes as a Python package.
$(VENV)/.node: requirements-ui.lock $(VENV)/.python
	@$(PIP) install --require-hashes -r requirements-ui.lock
	@touch $@

.PHONY: ui
ui: $(VENV)/.python
	@$(BIN)/python scripts/build_ui.py --check || { $(MAKE) --no-print-directory $(VENV)/.node && $(BIN)/python scripts/build_ui.py; }

$(VENV)/.run: requirements.lock pyproject.toml hatch_build.py $(VENV)/.python | ui
	@echo "Installing webloom into $(VENV) ..."
	@$(PIP) install --require-hashes -r requirements.lock
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: requirements-dev.lock $(VENV)/.node $(VENV)/.run
	@echo "Installing the test tools into $(VENV) ..."
	@$(PIP) install --require-hashes -r requirements-dev.lock
	@touch $@

$(VENV)/.bench: requirements-bench.lock bench/peers/changedetection.lock $(VENV)/.dev
	@echo "Installing what the benchmarks compare with ..."
	@$(PIP) install --require-hashes -r requirements-bench.lock
	@$(PIP) install --no-deps --require-hashes -r bench/peers/changedetection.lock
	@touch $@

.PHONY: setup
setup: $(VENV)/.run  ## create .venv and install webloom into it

.PHONY: run
run: setup  ## start the API, a worker and the scheduler on one SQLite file
	@exec $(BIN)/webloom up

.PHONY: demo
demo: setup  ## the same with a sample site on loopback and a filled inventory
	@exec $(BIN)/webloom demo

.PHONY: test
test: $(VENV)/.dev  ## run the tests; tries to install Redis, RabbitMQ, Node and Chromium first
	@./scripts/test-servers.sh $(VENV)
	@$(BIN)/python scripts/run_tests.py

.PHONY: test-all
test-all: $(VENV)/.dev  ## the tests on every topology, with new examples, the image, and another Python
	@./scripts/test-servers.sh $(VENV)
	@./scripts/test-all.sh $(BIN)/python

.PHONY: image-test
image-test: $(VENV)/.dev  ## build the container image and run the stack from it; needs root
	@./scripts/test-servers.sh $(VENV)
	@./scripts/test-image.sh $(BIN)/python

.PHONY: quick
quick: $(VENV)/.dev  ## lint, types, unit tests and the contracts on SQLite: the inner loop
	@./scripts/quick.sh $(BIN)/python

.PHONY: types
types:  ## generate the UI's types from the API's OpenAPI document
	@# Without `ui`: pages that use new types can't be built before the types are there.
	@test -e $(VENV)/.dev || $(MAKE) --no-print-directory $(VENV)/.dev
	@./scripts/check-ui.sh $(BIN)/python --write

.PHONY: screenshots
screenshots: $(VENV)/.dev  ## retake the pictures of README and docs, from the demo
	@$(BIN)/python scripts/screenshots.py docs/images

.PHONY: lint
lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	./scripts/check-ui.sh $(BIN)/python

.PHONY: check
check: lint test  ## lint, types, import rules and every test

.PHONY: bench
bench: $(VENV)/.bench  ## measure, and compare with peers
	@$(BIN)/python -m bench

.PHONY: audit
audit: $(VENV)/.python  ## check every locked version and image for known vulnerabilities
	@$(BIN)/python scripts/audit.py

.PHONY: sbom
sbom: $(VENV)/.dev  ## write dist/webloom.cdx.json: everything locked, as a CycloneDX document
	@$(BIN)/python scripts/sbom.py --all dist/webloom.cdx.json

.PHONY: lock
lock: $(VENV)/.dev  ## resolve the dependencies and write the lock files
	@$(PIP) install uv
	@./scripts/lock.sh $(BIN)/uv

.PHONY: clean
clean:  ## remove what setup created (never your data)
	rm -rf $(VENV) src/webloom/_ui admin/node_modules admin/checks/node_modules admin/.next admin/out tests/node/node_modules bench/peers/node_import/node_modules .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
