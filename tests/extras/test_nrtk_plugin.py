"""The plug-in of examples/hardy-nrtk, installed by pip beside the real nrtk."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.pages import ROOT
from tests.photos import photos
from tests.plugins import install

for needed in ("nrtk", "pybsm"):
    pytest.importorskip(needed, reason=f"needs {needed}: make test-extras")

EXAMPLE = ROOT / "examples" / "hardy-nrtk"
LOOK = """
import hardy, numpy as np
from nrtk.impls.perturb_image.environment import HazePerturber
from nrtk.impls.perturb_image.optical import PybsmPerturber
from nrtk.impls.perturb_image.optical.otf import JitterPerturber

images = np.load("images.npz")["images"][:3]
for place, factor in enumerate((0.3, 0.6, 0.9, 1.2, 1.6)):
    made = hardy.corrupt(images, "nrtk_haze", place + 1)
    for one, image in zip(made, images):
        np.testing.assert_array_equal(one, HazePerturber(factor)(image=image)[0])

shaking = JitterPerturber(p_x=8e-6, f=4.0, altitude=9000.0, D=0.275, s_x=3e-6, s_y=3e-6)
made = hardy.corrupt(images[:1], "nrtk_jitter", 3)
np.testing.assert_array_equal(made[0], shaking(image=images[0], img_gsd=0.018)[0])

(seed,) = hardy.draw("nrtk_sensor", 4, (32, 32), ids=["cat"], seed=7)["seeds"]
camera = dict(p_x=8e-6, f=4.0, altitude=9000.0, D=0.1, int_time=3e-5)
wanted = PybsmPerturber(**camera, seed=int(seed), is_static=True)(image=images[0], img_gsd=0.018)[0]
both = hardy.corrupt(images[:2], "nrtk_sensor", 4, ids=["cat", "dog"], seed=7)
np.testing.assert_array_equal(both[0], wanted)
alone = hardy.corrupt(images[0], "nrtk_sensor", 4, ids=["dog"], seed=7)
assert (alone != both[0]).any(), "another id draws anew"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    package = tmp_path / "package"
    shutil.copytree(EXAMPLE, package)
    install(package, tmp_path / "site")
    shutil.copy(EXAMPLE / "nrtk_cifar.toml", tmp_path)
    images = photos(32, 32)[:4]
    np.savez(tmp_path / "images.npz", images=images, labels=np.arange(len(images)))
    return tmp_path


def python(folder: Path, *words: str, plugin: bool = True) -> str:
    path = [str(folder / "site")] * plugin + [os.environ.get("PYTHONPATH", "")]
    found = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
    command = [sys.executable, "-W", "ignore", *words]
    done = subprocess.run(command, cwd=folder, env=found, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_corruptions_are_the_perturbers_of_nrtk(folder: Path) -> None:
    listed = python(folder, "-m", "hardy", "ls", "corruptions")
    for name in ("nrtk_haze", "nrtk_jitter", "nrtk_sensor"):
        assert name in listed
    python(folder, "-c", LOOK)


def test_the_suite_is_run_and_scored_without_the_plugin(folder: Path) -> None:
    run = ["eval", "fake:10", "--suite", "nrtk_cifar.toml", "--images", "images.npz"]
    python(folder, "-m", "hardy", *run, "--store", "runs", "--severities", "1,4")
    told = python(folder, "-m", "hardy", "score", "runs", plugin=False)
    assert "nrtk_sensor" in told
    assert "mean error" in told
