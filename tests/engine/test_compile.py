"""Cached machine code is dropped when anything it was compiled from has changed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import hardy
from hardy.engine.cpu import compile

PROGRAM = """
import numpy as np
from hardy.engine.cpu.ops import OPS
print(OPS.words(7, np.array([3], np.uint64), 5, 4).tolist())
"""


TOLD = """
from hardy import progress
progress.speaks = True
"""


def test_what_is_compiled_is_said_once_and_only_then(tmp_path):
    """Several kernels are compiled at first; the second process finds them in the cache."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    program = [sys.executable, "-c", TOLD + PROGRAM]
    said = [
        subprocess.run(program, env=environment, capture_output=True, text=True, check=True).stderr
        for _ in range(2)
    ]
    line = "compiling corruptions for this machine, once: the first use of each takes some seconds"
    assert said == [f"{line} more\n", ""]


def words(source: Path, cache: Path) -> str:
    path = os.pathsep.join([str(source), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path, "NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_a_constant_of_another_file_reaches_the_kernel(tmp_path):
    package = Path(hardy.__file__).parent
    copy = tmp_path / "src" / "hardy"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
    before = words(tmp_path / "src", tmp_path / "cache")
    rng = copy / "engine" / "rng.py"
    assert "ROUNDS = 10" in rng.read_text()
    rng.write_text(rng.read_text().replace("ROUNDS = 10", "ROUNDS = 7"))
    assert words(tmp_path / "src", tmp_path / "cache") != before
    rng.write_text(rng.read_text().replace("ROUNDS = 7", "ROUNDS = 10"))
    assert words(tmp_path / "src", tmp_path / "cache") == before


FORBIDDEN = """
import tempfile
def forbidden(*of, **words):
    raise PermissionError(13, "Permission denied")
tempfile.TemporaryFile = forbidden  # by which numba tries whether it may write
"""


def test_nowhere_to_write_is_no_reason_to_stop_or_to_warn(tmp_path):
    """A read-only home, which root does not have."""
    program = [sys.executable, "-W", "error", "-c", FORBIDDEN + PROGRAM]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(program, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == words(Path(hardy.__file__).parents[1], tmp_path / "other")
    assert not list((tmp_path / "cache").rglob("*.nb?"))


def test_without_a_folder_to_write_kernels_still_run(monkeypatch):
    """numba then refuses to cache; the kernel is compiled for this process alone."""
    from numba.core import caching

    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    twice = compile.kernel(lambda x: 2 * x)
    assert twice(21) == 42
    assert compile.cache_folder(twice) is None
