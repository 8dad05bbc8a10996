# Steelyard 权衡: `make up` runs the portal, `make test` tests it. `make help` lists the rest.
#
#   make up PORT=8001             another port
#   make up ARGS="--no-demo"      further arguments of `manage.py up`
#   make test ARGS="tests/embedded -x" WORKERS=0
#   PYTHON=/path/to/python3.12    the Python that makes .venv (3.11 or newer)

.POSIX:
.PHONY: up test test-live check static bench help runtime dev

PYTHON = $$(for name in python3 python3.14 python3.13 python3.12 python3.11; do \
	if "$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then echo "$$name"; exit; fi; \
	done; echo python3)
ARGS =
# Processes that run the tests side by side, a file at a time; each has a database of its own.
WORKERS = auto
PY = .venv/bin/python
# What only reads code must not start a database: mypy's plugin loads the settings.
NO_DATABASE = DATABASE_URL=postgresql://nobody@127.0.0.1:9/none BROKER_URL=memory://

help:
	@echo "make up      install, start everything, print the address (PORT=8000, ARGS=...)"
	@echo "make test    install the development packages, run the tests (ARGS=...)"
	@echo "make test-live  those that need a real Slurm, or several workers on RabbitMQ (minutes; skipped where there is none)"
	@echo "make check   ruff, mypy, import contracts, migrations, messages, then the tests"
	@echo "make bench   the speed and memory figures (ARGS=...)"

runtime:
	@"$(PYTHON)" requirements/install.py runtime

dev:
	@"$(PYTHON)" requirements/install.py dev

up: runtime
	@exec $(PY) manage.py up $(ARGS)

test: dev
	@$(NO_DATABASE) $(PY) manage.py compile_messages
	@$(PY) -m pytest -m "not slurm and not cluster" -n $(WORKERS) --dist loadfile $(ARGS)

test-live: dev
	@$(NO_DATABASE) $(PY) manage.py compile_messages
	@$(PY) -m pytest -m "slurm or cluster" $(ARGS)

static: dev
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(NO_DATABASE) $(PY) -m mypy
	$(NO_DATABASE) .venv/bin/lint-imports
	$(PY) manage.py makemigrations --check --dry-run
	$(NO_DATABASE) $(PY) manage.py compile_messages --strict

check: static test

bench: dev
	@$(PY) -m tests.bench $(ARGS)
