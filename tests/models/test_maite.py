"""Classifiers of the MAITE protocols, without that library's help."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import hardy
from hardy.models import load_model
from hardy.models.model import Override, facts_of
from tests.images.test_maite_datasets import KINDS, Items
from tests.photos import random_images

IMAGES = random_images(12, 32, 32)
WEIGHTS = np.random.default_rng(0).normal(size=(3 * 32 * 32, 10)) / 50
FEW: Any = {"suite": "cifar10_c", "only": ["contrast"], "severities": 1, "own_classes": True}


class Square(Items):
    """A data set of CIFAR's size."""

    pixels = random_images(20, 32, 32)


class Linear:
    """A model of MAITE's kind; `out` is what becomes of its logits."""

    def __init__(self, out: Any = lambda logits: logits, **facts: Any) -> None:
        self.metadata = {"id": "a linear one", **facts}
        self.out, self.seen = out, list[Any]()

    def __call__(self, batch: Any, /) -> Any:
        self.seen += batch
        return self.out([np.asarray(image, np.float64).ravel() @ WEIGHTS for image in batch])


def softmax(logits: Any) -> Any:
    powers = np.exp(logits - np.max(logits, axis=1, keepdims=True))
    return list(powers / powers.sum(axis=1, keepdims=True))


def direct(images: Any) -> Any:
    return np.moveaxis(images, 3, 1).reshape(len(images), -1) @ WEIGHTS


def test_it_gets_the_bytes_and_gives_logits() -> None:
    given = Linear()
    model = load_model(given)
    np.testing.assert_allclose(model.logits(IMAGES), direct(IMAGES), rtol=1e-5, atol=1e-5)
    assert [(image.dtype, image.shape) for image in given.seen] == [(np.uint8, (3, 32, 32))] * 12
    assert (model.name, model.preprocessing) == ("a linear one", None)
    assert load_model(Linear(), name="another").name == "another"
    found = "Linear, a MAITE model, classes without names"
    assert facts_of(model).found == found


def test_tensors_may_come_back() -> None:
    def tensors(logits: Any) -> Any:
        return torch.tensor(np.array(logits), requires_grad=True)

    np.testing.assert_allclose(
        load_model(Linear(tensors)).logits(IMAGES), direct(IMAGES), rtol=1e-5, atol=1e-5
    )


def test_probabilities_become_logarithms() -> None:
    """What a softmax makes of them is what the model said; an exact 0 stays finite."""
    wanted = np.array(softmax(direct(IMAGES)))
    made = load_model(Linear(softmax)).logits(IMAGES)
    np.testing.assert_allclose(softmax(made), wanted, rtol=1e-4, atol=1e-7)
    sure = load_model(Linear(lambda logits: np.eye(10)[np.argmax(logits, axis=1)])).logits(IMAGES)
    assert np.isfinite(sure).all()
    np.testing.assert_array_equal(sure.argmax(axis=1), direct(IMAGES).argmax(axis=1))


def test_floats_if_asked_for() -> None:
    given = Linear()
    override = Override(mean=(0.5, 0.5, 0.5), std=(0.25, 0.25, 0.25))
    model = load_model(given, preprocessing=override, batch=5)
    made = model.logits(IMAGES)
    np.testing.assert_allclose(made, direct((IMAGES / 255 - 0.5) / 0.25), rtol=1e-3, atol=1e-4)
    assert {image.dtype for image in given.seen} == {np.dtype(np.float32)}
    assert model.identity != load_model(Linear()).identity
    assert load_model(Linear()).identity == load_model(Linear()).identity
    assert load_model(Linear(), name="b").identity != load_model(Linear()).identity


@pytest.mark.parametrize("kind", KINDS)
def test_both_as_they_are(kind: str, tmp_path: Path) -> None:
    """A model gets what its data set gives: floats if that has floats."""
    given, items = Linear(), Square(KINDS[kind])
    run = hardy.evaluate(given, images=items, store=tmp_path / "runs", warn=print, **FEW)
    assert {image.dtype.kind for image in given.seen} == {"f" if "float" in kind else "u"}
    first = np.asarray(items[0][0], np.float32)
    assert any(np.array_equal(np.asarray(image, np.float32), first) for image in given.seen)
    assert run.stored.ids[:2] == ["photo 0", "photo 1"]


def test_classes_are_matched_by_name(tmp_path: Path) -> None:
    """A model whose classes are in another order is as good as one in the images' order."""
    backwards = {n: f"class {9 - n}" for n in range(10)}
    runs = [
        hardy.evaluate(one, images=Square(), store=tmp_path / str(place), warn=print, **FEW)
        for place, one in enumerate(
            [Linear(), Linear(lambda o: [row[::-1] for row in o], index2label=backwards)]
        )
    ]
    assert runs[0].score()["clean error"].value == runs[1].score()["clean error"].value


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (Linear(), {"device": "cpu"}, "takes no device: a MAITE model decides itself"),
        (Linear(), {"checkpoint": "a.pt"}, "takes no checkpoint: a MAITE model brings"),
        (Linear(lambda logits: logits[:-1]), {}, r"expected logits \(12, classes\)"),
        (Linear(lambda logits: 1 / 0), {}, "a linear one raised ZeroDivisionError"),
        (Linear(index2label={2: "b"}), {}, '"index2label" to name the classes 0 to 0'),
        (
            Linear(index2label={0: "a"}),
            {},
            "each class that index2label names, 1, got 10",
        ),
    ],
)
def test_what_is_refused(model: Any, options: Any, message: str) -> None:
    with pytest.raises(hardy.HardyError, match=message):
        load_model(model, **options).logits(IMAGES)
