"""The error of a net that trains on corrupted validation images, by a sample of a suite.

Nothing is chosen by it, no weight is changed, and no random number of the training is drawn.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hardy.errors import InputError
from hardy.hooks.epoch_errors import EpochErrors
from hardy.images.datasets import DATA_SETS
from hardy.metrics.classification import error
from hardy.suites import load
from hardy.train.run_folder import ROBUST

if TYPE_CHECKING:
    from hardy.train.loop import Training

_POINTS = 2.0  # half the width of the interval that the sample is drawn for
_STORE = ".robust"  # in the run's folder, while it is measured


class RobustOn(NamedTuple):
    """What the robust error is measured on."""

    suite: str
    images: str  # with their labels


def choose_robust(suite: str | None, validation: Any, input: str | None) -> RobustOn | None:
    """Refuse what could not be measured after the first epoch."""
    if suite is None:
        return None
    if validation is None:
        raise InputError("expected `validation` images for `robust`, which corrupts them, got none")
    if input is not None:
        raise InputError(f"expected `robust` without the filter {input} of `input`, got both")
    if load(suite).kind != "corruptions":
        raise InputError(f"expected a suite of corruptions as `robust`, got {suite}")
    known = str(validation) in DATA_SETS
    return RobustOn(suite, f"{validation}:test" if known else str(validation))


class RobustErrors:
    """The error of a training's net on a sample of a suite, made from its validation images."""

    def __init__(self, asked: RobustOn, training: Training, folder: Path) -> None:
        suite = load(asked.suite)
        self.title, self._key = suite.title, f"{suite.name}/{error.mean.replace(' ', '_')}"
        self._store = folder / _STORE
        mean, std = training.preprocessing
        self._errors = EpochErrors(
            asked.suite,
            every=1,
            until={error.mean: _POINTS},
            at_most=None,
            mean=mean,
            std=std,
            prepare=None,
            store=None,
            name=training.hyper.net,
            options={
                "images": asked.images,
                "own_classes": True,
                "classes": training.data.classes,
                "precision": training.hyper.precision,
            },
        )
        self.described = {
            "suite": suite.name,
            "suite_hash": suite.content_hash(),
            "until": _POINTS,
        }

    def measure(self, training: Training) -> dict[str, float]:
        """The row's further columns, shares of 1; all processes must ask at once."""
        if training.ranks.first:
            shutil.rmtree(self._store, ignore_errors=True)  # a kill may have left it
        values = self._errors.measure(training.tested.net, training.epoch, self._store)
        if training.ranks.first:
            shutil.rmtree(self._store, ignore_errors=True)
        ends = (values[f"{self._key}{end}"] for end in ("", "_low", "_high"))
        return {name: round(value / 100, 6) for name, value in zip(ROBUST, ends, strict=True)}
