"""The six recipes of CONTRIBUTING, installed together as a package of one file, work."""

from __future__ import annotations

import ast
import builtins
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.pages import ROOT, blocks, commands, page
from tests.plugins import install

RECIPES = page("CONTRIBUTING.md").partition("## Six recipes")[2].partition("\n## ")[0]
PROJECT, SUITE = (text for language, text in blocks("CONTRIBUTING.md") if language == "toml")
POINTS = tomllib.loads(PROJECT)["project"]["entry-points"]
EXAMPLES = [text for language, text in blocks("CONTRIBUTING.md") if language == "python"]
USE = """
import hardy

kinds = ("corruptions", "metrics", "models", "readers", "methods", "figures")
listed = {kind: {name.partition(":")[0]: said for name, _, said in hardy.names(kind)}
          for kind in kinds}
hardy.train("negatives", data="train.npz", out="net", net="wrn_16_4", epochs=1, batch=10)
for model in ("constant:10", "fake:10"):
    run = hardy.evaluate(model, suite="dark.toml", images="some.list", store="runs")
    low, high = run.score()["unsure"].interval
    assert low <= run.score()["unsure"].value <= high
hardy.report("runs", "report.html")
hardy.plot("runs", "gaps", "gaps.svg")
hardy.plot("runs", "pies", "pies.svg")
print(listed)
"""


def test_there_is_one_for_each_kind_of_change() -> None:
    heads = re.findall(r"^### (.*)$", RECIPES, re.MULTILINE)
    kinds = "A corruption, A metric, A model adapter, An image reader, A training method, A figure"
    assert ", ".join(heads) == kinds
    assert len(POINTS) == 6


@pytest.mark.parametrize("recipe", re.split(r"^### ", RECIPES, flags=re.MULTILINE)[1:])
def test_each_has_at_most_two_places_a_test_and_an_example(recipe: str) -> None:
    assert re.findall(r"^(\d)\. \*\*", recipe, re.MULTILINE) in (["1"], ["1", "2"])
    assert recipe.count("**Test.**") == 1
    assert recipe.count("```python") == 1
    for path in re.findall(r"`((?:src|tests)/[\w/.]+?)`", recipe):
        assert (ROOT / path).exists(), path


@pytest.mark.parametrize("example", EXAMPLES)
def test_each_example_imports_what_it_names(example: str) -> None:
    """It may be the whole file of a package."""
    nodes = list(ast.walk(ast.parse(example)))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    known = {name.id for name in names if isinstance(name.ctx, ast.Store)} | {*dir(builtins)}
    for node in nodes:
        if isinstance(node, ast.arg):
            known.add(node.arg)
        if isinstance(node, ast.alias | ast.FunctionDef | ast.ClassDef):
            known.add(getattr(node, "asname", None) or node.name)
    assert {name.id for name in names if name.id not in known} == set()


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder with the package, a suite of its corruption, and images for its reader."""
    package = tmp_path / "package"
    package.mkdir()
    (package / "hardy_extras.py").write_text("\n\n\n".join(EXAMPLES), encoding="utf-8")
    (package / "pyproject.toml").write_text(PROJECT, encoding="utf-8")
    install(package, tmp_path)
    (tmp_path / "dark.toml").write_text(SUITE, encoding="utf-8")
    images = np.random.default_rng(0).integers(0, 256, (20, 32, 32, 3)).astype(np.uint8)
    np.savez(tmp_path / "train.npz", images=images, labels=np.arange(20) % 10)
    for number, image in enumerate(images):
        Image.fromarray(image).save(tmp_path / f"{number}.png")
    Image.fromarray(images[0]).save(tmp_path / "photo.jpg")
    lines = [f"{number}.png {number % 10}" for number in range(len(images))]
    (tmp_path / "some.list").write_text("\n".join(lines))
    return tmp_path


def test_a_suite_of_a_new_corruption_is_evaluated(installed: Path) -> None:
    paths = os.pathsep.join([str(installed), *sys.path])
    for line in commands("CONTRIBUTING.md"):
        words = shlex.split(line.replace("cifar10:test", "some.list"))
        done = subprocess.run(
            [sys.executable, "-m", "hardy", *words[1:]],
            cwd=installed,
            env={**os.environ, "PYTHONPATH": paths},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
    assert "dusk" in done.stdout


def test_all_six_are_listed_and_work_together(installed: Path) -> None:
    here = {**os.environ, "PYTHONPATH": os.pathsep.join([str(installed), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-c", USE], cwd=installed, env=here, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    listed = ast.literal_eval(done.stdout.splitlines()[-1])
    for group, named in POINTS.items():
        for name in named:
            assert listed[group.removeprefix("hardy.")][name].endswith("."), name
    assert (installed / "net" / "model.safetensors").is_file()
    assert "The best model has no bar." in (installed / "report.html").read_text(encoding="utf-8")
    for name in ("gaps", "pies"):
        assert (installed / f"{name}.svg").read_bytes().startswith(b"<?xml")
