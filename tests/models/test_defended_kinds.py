"""Every kind of model stands behind every defence that looks at images alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from hardy.errors import InputError
from hardy.models import Model, load_model
from hardy.models.defences import DEFENCES, defend
from hardy.models.defences.input_filters import FILTERS, input_filter
from hardy.models.defences.tencrop import views
from tests.models.test_onnx import write
from tests.models.test_sklearn import save
from tests.models.tiny import tiny
from tests.photos import random_images

IMAGES = random_images(6, 8, 8)


def brightness(images):
    return np.stack([images.mean(axis=(1, 2, 3)), 255 - images.mean(axis=(1, 2, 3))], 1)


@pytest.fixture(params=["torch", "onnx", "onnx of bytes", "tflite", "sklearn", "function"])
def model(request: pytest.FixtureRequest, tmp_path: Path) -> Model:
    match request.param:
        case "torch":
            return load_model(tiny(), name="tiny")
        case "onnx":
            return load_model(f"onnx:{write(tmp_path / 'm.onnx', (None, 3, 8, 8))}")
        case "onnx of bytes":
            return load_model(f"onnx:{write(tmp_path / 'm.onnx', ('n', 8, 8, 3), kind=2)}")
        case "tflite":
            pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")
            from tests.models import tflite_files

            return load_model(f"tflite:{tflite_files.write(tmp_path / 'm', (-1, 8, 8, 3))}")
        case "sklearn":
            return load_model(save(tmp_path, LogisticRegression(max_iter=300)), trust=True)
        case _:
            return load_model(brightness)


@pytest.mark.parametrize("name", FILTERS)
def test_it_is_shown_filtered_images(name: str, model: Model) -> None:
    expected = model.logits(input_filter(name)(IMAGES))
    np.testing.assert_allclose(defend(model, name).logits(IMAGES), expected, rtol=1e-5, atol=1e-6)


def test_ten_crops(model: Model) -> None:
    total = 0.0
    for view in views(IMAGES):
        logits = model.logits(view).astype(np.float64)
        exponents = np.exp(logits - logits.max(axis=1, keepdims=True))
        total = total + exponents / exponents.sum(axis=1, keepdims=True)
    found = defend(model, "tencrop").logits(IMAGES)
    np.testing.assert_allclose(np.exp(found.astype(np.float64)), total / 10, rtol=1e-4, atol=1e-9)


def test_all_defences_are_tested() -> None:
    assert {*DEFENCES} == {*FILTERS, "tencrop", "bn_adapt"}


def test_only_torch_adapts(model: Model) -> None:
    if model.name == "tiny":
        assert defend(model, "bn_adapt").logits(IMAGES).shape == (6, 5)
        return
    with pytest.raises(InputError, match="expected a torch model for bn_adapt"):
        defend(model, "bn_adapt")
