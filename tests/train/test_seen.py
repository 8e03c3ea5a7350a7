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
from hardy.train.run import trained_as
from tests.photos import random_images
from tests.predictions.runs import one
from tests.train.small import NARROW, described, narrow, small_data

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
    assert model.trained_as == {"net": "narrow", "methods": [method]}
    assert defend(model, "median").trained_as == model.trained_as
    settings = {
        "suite": "cifar10_c",
        "images": random_images(8, 32, 32),
        "labels": np.arange(8) % 3,
        "own_classes": True,
        "only": ["gaussian_noise", "contrast"],
        "severities": 1,
        "store": tmp_path / "runs",
    }
    run = one(evaluate(model, **settings))
    assert run.stored.seen == seen
    assert ("† trained on gaussian_noise" in str(run.score())) == bool(seen)
    assert run.stored.trained == ("narrow", (method,))
    # It is no part of what tells runs apart: one that does not say so goes on in the same place.
    model.trained_as = None
    again = one(evaluate(model, **settings | {"severities": 2}))
    assert again.folder == run.folder
    assert len(again.stored.details["sessions"]) == 2
    assert again.stored.trained == run.stored.trained


@pytest.mark.parametrize(
    ("changes", "methods"),
    [
        ({}, ["ant"]),
        ({"stylised": "a hash"}, ["ant", "stylised images"]),
        ({"recipe": {"net": "narrow", "antialias": 3}}, ["ant", "antialias 3"]),
        (
            {"recipe": {"net": "narrow", "antialias": 1, "blur_after_conv": True}},
            ["ant", "blur_after_conv"],
        ),
        ({"input": "clahe"}, ["ant"]),  # told as a defence
        ({"init": "a hash"}, None),
        ({"method": None}, None),
        ({"method": {"name": 3}}, None),
    ],
)
def test_all_that_a_record_says_was_to_help(changes, methods) -> None:
    record = {**described("narrow", 3), "method": {"name": "ant"}, "init": None, **changes}
    said = trained_as(record)
    assert said["net"] == "narrow"
    assert said.get("methods") == methods
