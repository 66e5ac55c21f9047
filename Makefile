# `make run` starts Halflife on this machine, `make test` checks everything. PYTHON=… names the Python to use (3.11+).
BIN := .venv/bin
export PYTHON

.PHONY: run setup test check bench dev

run: setup
	@scripts/bubblewrap
	@exec $(BIN)/halflife serve

setup:
	@scripts/environment runtime

dev:
	@scripts/environment dev

test:
	@scripts/timed "system packages" scripts/test-packages
	@scripts/timed "environment" $(MAKE) --no-print-directory dev
	@scripts/timed "check" $(MAKE) --no-print-directory check
	@scripts/timed "tests" scripts/tests --durations=15

check: dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/deptry .
	scripts/dead-code
	$(BIN)/djlint --lint templates
	$(BIN)/mypy

bench: dev
	@for file in bench/*.py; do echo "== $$file"; $(BIN)/python "$$file" || exit; done
