"""Models, data sets and augmentations by the real MAITE, and its own checks of them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hardy
from hardy.metrics import wrong
from hardy.suites.cells import Cell
from tests.photos import random_images

REASON = "needs maite: make test-extras"
pytest.importorskip("maite", reason=REASON)

from maite.protocols import DatasetMetadata, DatumMetadata, MetricMetadata, ModelMetadata  # noqa: E402
from maite.protocols import image_classification as ic  # noqa: E402
from maite.tasks import evaluate, predict  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")  # of its own dependencies
IMAGES = random_images(40, 32, 32)
WEIGHTS = np.random.default_rng(0).normal(size=(3 * 32 * 32, 10))
CELLS = [("gaussian_noise", 3), ("fog", 5), ("contrast", 2)]


class Digits:
    def __init__(self) -> None:
        names = {number: f"digit {number}" for number in range(10)}
        self.metadata: DatasetMetadata = {"id": "some digits", "index2label": names}
        self.targets = np.eye(10)[Linear().scores(list(np.moveaxis(IMAGES, 3, 1))).argmax(axis=1)]

    def __len__(self) -> int:
        return len(IMAGES)

    def __getitem__(self, ind: int, /) -> tuple[Any, Any, DatumMetadata]:
        return np.moveaxis(IMAGES[ind], 2, 0), self.targets[ind], {"id": f"digit-{ind}"}


class Linear:
    """A model that gives probabilities."""

    def __init__(self) -> None:
        self.metadata: ModelMetadata = {"id": "a linear one"}

    def scores(self, batch: Sequence[Any]) -> Any:
        return np.stack([np.asarray(image).ravel() / 255 - 0.5 for image in batch]) @ WEIGHTS / 20

    def __call__(self, batch: Sequence[Any], /) -> Sequence[Any]:
        powers = np.exp(self.scores(batch))
        return list(powers / powers.sum(axis=1, keepdims=True))


class ErrorRate:
    def __init__(self) -> None:
        self.metadata: MetricMetadata = {"id": "error"}

    def reset(self) -> None:
        self.wrong: list[bool] = []

    def update(self, pred: Any, target: Any, facts: Any, /) -> None:
        self.wrong += [np.argmax(p) != np.argmax(t) for p, t in zip(pred, target, strict=True)]

    def compute(self) -> dict[str, float]:
        return {"error": 100 * float(np.mean(self.wrong))}


def test_a_corruption_is_an_augmentation() -> None:
    """Its protocol can be asked at run time, and its own checker looks at what goes in and out."""
    augment = hardy.MaiteCorruption("fog", 3)
    assert isinstance(augment, ic.Augmentation)
    pytest.importorskip("beartype", reason=REASON)
    from maite.spotcheck import spotcheck_component

    checked = spotcheck_component(ic.Augmentation)(augment)
    data: Any = Digits()
    images, _, _ = checked(tuple(map(list, zip(data[0], data[1], strict=True))))
    assert np.asarray(images[1]).shape == (3, 32, 32)


def test_type_checkers_agree(tmp_path: Path) -> None:
    code = """
import hardy
from maite.protocols import image_classification as ic

augmentation: ic.Augmentation = hardy.MaiteCorruption("fog", 3)
metric: ic.Metric = hardy.MaiteCorruption("fog", 3)
"""
    (tmp_path / "typed.py").write_text(code)
    mypy = [sys.executable, "-m", "mypy", "--config-file", "", "--ignore-missing-imports"]
    done = subprocess.run(
        [*mypy, "--follow-imports=silent", "typed.py"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    errors = [line for line in done.stdout.splitlines() if "error:" in line]
    assert len(errors) == 1, done.stdout  # that of the last line, so that it did look
    assert errors[0].startswith("typed.py:6: error: Incompatible types in assignment")


def test_hardy_measures_what_maite_measures(tmp_path: Path) -> None:
    """The same model on the same data set: Hardy's cells, and MAITE's runs with augmentations."""
    model: ic.Model = Linear()
    data: ic.Dataset = Digits()
    assert isinstance(model, ic.Model)
    assert isinstance(data, ic.Dataset)
    run = hardy.evaluate(
        model,
        images=data,
        suite="cifar10_c",
        only=[name for name, _ in CELLS],
        own_classes=True,
        store=tmp_path / "runs",
        warn=print,
        seed=3,
    )
    assert run.model == "a linear one"
    stored = run.stored
    for name, severity in CELLS:
        augment = hardy.MaiteCorruption(name, severity, seed=3, edition="cifar")
        found, _, _ = evaluate(
            model=model, dataset=data, metric=ErrorRate(), augmentation=augment, batch_size=7
        )
        ranks = stored.read([Cell(name, severity)], ["rank"], np.arange(len(data)))["rank"]
        assert 100 * float(np.mean(wrong(ranks))) == found["error"]
        assert found["error"] > 0
    assert run.score()["clean error"].value == 0


def test_maite_predicts_the_same_whatever_the_batches(tmp_path: Path) -> None:
    augment = hardy.MaiteCorruption("gaussian_noise", 3)
    several: Any = [
        np.concatenate(
            predict(model=Linear(), dataset=Digits(), augmentation=augment, batch_size=size)[0]
        )
        for size in (1, 7, 40)
    ]
    for one in several[1:]:
        np.testing.assert_allclose(one, several[0])
