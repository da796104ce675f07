# The verbs of tsattn-mini. Each works alone from a fresh clone with make and Python 3.11 or newer.
#
#   make book      build the book into _build/html
#   make test      build the book, then run every test
#   make lab       open the lessons in JupyterLab
#   make lessons   run every lesson from top to bottom and store its text outputs;
#                  one alone: make lessons LESSONS=lessons/01_attention_by_hand.ipynb
#   make web       fetch the front end's packages and bundle it
#   make results   train the models of the comparison tables and store the tables (minutes)
#   make bench     measure drags, first answers, page sizes and build times beside their limits; fails above one
#                  (eight minutes; lessons/02_handles.ipynb has one more line for a moment)
#   make audit     ask PyPI and npm for known weaknesses of the pinned packages
#   make clean     remove what was built; .venv and node_modules stay

PYTHON ?= python3
NODE_WHEEL := $(shell sed -n 's/^node = "\(.*\)"/\1/p' pyproject.toml)

BIN := .venv/bin
WEB := tsattn_mini/explore/web
INSTALLED := .venv/.installed
FETCHED := node_modules/.fetched
BUNDLE := $(WEB)/dist/book.js
EVERY := $(sort $(wildcard lessons/*.ipynb))
LESSONS = $(EVERY)

PIP := $(BIN)/python -m pip -qq --disable-pip-version-check
SHAPES := $(wildcard tests/test_attention.py tests/test_golden*.py tests/test_embedding.py tests/test_nonstationary*.py \
	tests/test_kite_*.py tests/test_engram_*.py tests/test_zoo_*.py)

export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: book test style lab lessons web results bench audit clean
.DELETE_ON_ERROR:

book: $(BUNDLE)
	@echo "book: running the lessons that changed, building the pages"
	@$(BIN)/python book/build.py . >/dev/null || { rm -rf _build/.doctrees; exit 1; }
	@echo "book: open $(CURDIR)/_build/html/index.html"

test: style book
	@echo "test: the examples of the docstrings"
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q --doctest-modules tsattn_mini
	@echo "test: modules and golden arrays with every signature checked"
	@$(BIN)/python -m pytest -q $(SHAPES) -n 2 -m "not bad_input" --jaxtyping-packages=tsattn_mini,beartype.beartype
	@echo "test: everything; the stored outputs of the lessons beside those of the book's own fresh run"
	@$(BIN)/python -m pytest -n 2 --dist loadfile --nbval --as-run tests lessons

style: $(INSTALLED)
	@echo "test: style and spelling"
	@$(BIN)/ruff check -q .
	@$(BIN)/codespell -L froms,nd --skip ".venv,node_modules,_build,dist,.git,*_cache,*.npz,*.gz,package-lock.json"

lab: $(BUNDLE)
	@$(BIN)/jupyter lab lessons

lessons: $(BUNDLE)
	@echo "lessons: running $(words $(LESSONS)) of $(words $(EVERY)), each in a fresh kernel, storing the text outputs"
	@PYTHONPATH=book/_ext $(BIN)/python -m tsbook.store $(LESSONS)

web: $(BUNDLE)

results: $(INSTALLED)
	@echo "results: training every model of the tables with every seed, one line a run"
	@$(BIN)/python -m tsattn_mini.results

bench: book
	@$(BIN)/python tests/bench.py

audit:
	@echo "audit: asking PyPI and npm about every pinned package; the first time pip-audit goes into .venv-audit"
	@test -x .venv-audit/bin/pip-audit || { $(PYTHON) -m venv .venv-audit && \
		.venv-audit/bin/pip -qq --disable-pip-version-check install pip-audit==2.10.1; }
	@.venv-audit/bin/python .ci/audit.py

clean:
	rm -rf _build $(WEB)/dist .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './.venv/*' -not -path './node_modules/*' -prune -exec rm -rf {} +

$(INSTALLED): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "This needs Python 3.11 or newer and found " \
		+ sys.version.split()[0] + ". Name a newer one: make PYTHON=python3.12 ...")'
	@echo "set-up: installing the pinned Python packages into .venv, a few minutes the first time"
	@test -x $(BIN)/pip || $(PYTHON) -m venv .venv
	@$(PIP) install -r requirements.txt
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

$(FETCHED): package.json package-lock.json .npmrc | $(INSTALLED)
	@{ node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' && npm --version; } >/dev/null 2>&1 || { \
		echo "set-up: no Node.js 20 found, installing it into .venv"; $(PIP) install $(NODE_WHEEL); }
	@echo "set-up: fetching the pinned npm packages into node_modules"
	@npm ci --silent && touch $@

$(BUNDLE): $(wildcard $(WEB)/*.js $(WEB)/*.mjs $(WEB)/*.json $(WEB)/*.css $(WEB)/kinds/* $(WEB)/self_test/* $(WEB)/talk/*) $(FETCHED)
	@echo "web: bundling the front end"
	@npm run --silent build && touch $@
