"""Processes that run the caller's script again: one without a guard is told, and nothing hangs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
DATA = """
import numpy as np
import hardy

class Some:
    images = np.random.default_rng(0).integers(0, 256, (SIZE, 32, 32, 3), np.uint8)

    def __init__(self):
        self.own = Some.images

    def __len__(self):
        return len(self.own)

    def __getitem__(self, index):
        return self.own[index], index % 10

"""
EVALUATE = """
how = {"suite": "cifar10_c", "only": ["fog"], "severities": [1], "images": Some()}
print(hardy.evaluate("fake:10", store="runs", devices="cpu,cpu", **how).score())
"""
BUILD = """
from hardy.corrupt.corruption import corruption

@corruption("weather", rows={"cifar": [{"share": 0.1}] * 5})
def dusk(ops, images, fields, *, share):
    return ops.to_bytes(ops.unit(images, "float64") * (1 - share))

np.savez("few.npz", images=Some.images, labels=range(SIZE))
hardy.build("cifar10_c", images="few.npz", out="built", only=["fog"], workers=2)
"""
AT_ONCE = "if __name__ != '__main__': raise SystemExit(3)"


def ran(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "script.py").write_text(script)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TOP), *sys.path])}
    return subprocess.run(
        [sys.executable, "script.py"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,  # it would wait for ever
    )


# As large as a pipe does not take at once, and smaller.
@pytest.mark.parametrize("size", [4, 40])
@pytest.mark.parametrize("work", [EVALUATE, BUILD], ids=["evaluate", "build"])
def test_a_script_without_a_guard_is_told(work: str, size: int, tmp_path: Path) -> None:
    done = ran((DATA + work).replace("SIZE", str(size)), tmp_path)
    assert done.returncode == 1
    told = 'put the script\'s calls under `if __name__ == "__main__":`'
    assert f"the work itself; {told}" in done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert "the script, which it runs again, has its calls not under `if __name__" in last


def test_with_a_guard_it_is_done(tmp_path: Path) -> None:
    guarded = EVALUATE.strip().replace("\n", "\n    ")
    script = f'{DATA}if __name__ == "__main__":\n    {guarded}\n'
    done = ran(script.replace("SIZE", "40"), tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("mean error ")


def test_a_process_that_dies_before_it_has_read_its_work_is_told(tmp_path: Path) -> None:
    guarded = EVALUATE.strip().replace("\n", "\n    ")
    script = f'{AT_ONCE}\n{DATA}if __name__ == "__main__":\n    {guarded}\n'
    done = ran(script.replace("SIZE", "40"), tmp_path)
    assert done.returncode == 1
    assert "no worker is left" in done.stderr
