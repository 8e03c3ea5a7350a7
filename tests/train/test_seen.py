"""What `hardy train` has shown a net travels with it: model, store, scores."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hardy import evaluate
from hardy.models import MODELS, load
from hardy.models.defences import defend
from hardy.models.hardy_model import trained_model
from hardy.train.loop import train
from tests.photos import random_images
from tests.predictions.runs import one
from tests.train.small import NARROW, narrow, small_data

__all__ = ["narrow"]


@pytest.mark.parametrize(
    ("method", "seen"), [("gauss_single", ("gaussian_noise", "noc_gaussian")), ("standard", ())]
)
def test_from_training_to_scores(
    narrow, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, method: str, seen: tuple[str, ...]
) -> None:
    monkeypatch.setitem(MODELS._objects, "hardy", trained_model)
    train(method, small_data(tmp_path), tmp_path / "out", replace(NARROW, epochs=1))
    model = load(f"hardy:{tmp_path / 'out'}")
    assert model.seen_corruptions == seen
    assert defend(model, "median").seen_corruptions == seen
    run = one(
        evaluate(
            model,
            suite="cifar10_c",
            images=random_images(8, 32, 32),
            labels=np.arange(8) % 3,
            own_classes=True,
            only=["gaussian_noise", "contrast"],
            severities=1,
            store=tmp_path / "runs",
        )
    )
    assert run.stored.seen == seen
    assert ("† trained on gaussian_noise" in str(run.score())) == bool(seen)
