"""Kernels are compiled ahead of a run, for a GPU that need not be there."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from hardy.suites import load
from hardy.suites.cells import CLEAN, Cell
from hardy.variants import kernels_ahead
from hardy.variants.generated import Generated

pytest.importorskip("triton")

FOG, BLUR = Cell("fog", 1), Cell("zoom_blur", 2)
# Compiles what it reads from stdin, as for an H200, and prints which kernels there are.
COMPILE = """
import pickle, sys, torch
from hardy.variants import kernels_ahead
torch.cuda.is_available, torch.cuda.get_device_capability = lambda: True, lambda: (9, 0)
torch.version.cuda = "13.0"
kernels_ahead.compile_kernels(pickle.load(sys.stdin.buffer))
"""


def variants() -> Generated:
    return Generated(load("cifar10_c"), cast(Any, None))


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Any]:
    """The jobs that are begun, which nobody does."""
    jobs: list[Any] = []

    class Process:
        def __init__(self, command: list[str], *, stdin: Any, **options: Any) -> None:
            jobs.append(pickle.load(stdin))

        def wait(self) -> None:
            jobs.append("waited for")

    monkeypatch.setattr(kernels_ahead.subprocess, "Popen", Process)
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    return jobs


def test_only_what_is_not_compiled_yet_is_begun_and_waited_for(begun: list[Any]) -> None:
    kernels_ahead.begin_kernels(variants(), [CLEAN, FOG], 8)
    job = begun.pop()
    assert (job.cells, job.images) == ((FOG,), 8)
    kernels_ahead.wait_for_kernels()
    kernels_ahead.wait_for_kernels()
    assert begun == ["waited for"]
    begun.clear()
    job.done.mkdir()
    (job.done / "fog-1").touch()
    kernels_ahead.begin_kernels(variants(), [CLEAN, FOG], 8)
    assert not begun
    kernels_ahead.begin_kernels(variants(), [CLEAN, FOG, BLUR], 8)
    assert begun.pop().cells == (BLUR,)
    kernels_ahead.wait_for_kernels()


def test_what_else_stands_in_the_path_is_passed_over(
    begun: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, Path("nowhere")])
    kernels_ahead.begin_kernels(variants(), [FOG], 8)
    assert begun.pop().cells == (FOG,)
    kernels_ahead.wait_for_kernels()


def test_a_cell_waits_for_its_kernels(begun: list[Any]) -> None:
    import torch

    kernels_ahead.begin_kernels(variants(), [FOG], 8)
    begun.clear()
    pixels = torch.zeros((1, 32, 32, 3), dtype=torch.uint8)
    chunk = variants().without_pixels(pixels)
    chunk.make(CLEAN)
    assert not begun
    chunk.make(FOG)
    assert begun == ["waited for"]


@pytest.mark.slow
def test_what_a_run_needs_is_compiled_without_a_gpu(tmp_path: Path) -> None:
    import os

    cells = (CLEAN, Cell("brightness", 2))
    job = kernels_ahead.KernelJob(variants(), cells, 8, tmp_path / "done")
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", COMPILE],
        input=pickle.dumps(job),
        env=environment | {"TRITON_CACHE_DIR": str(tmp_path / "cache")},
        check=True,
    )
    compiled = {file.stem for file in (tmp_path / "cache").glob("*/*.cubin")}
    assert compiled >= {"_look_up", "_recolour"}
    assert sorted(file.name for file in (tmp_path / "done").iterdir()) == [
        "brightness-2",
        "clean-0",
    ]
