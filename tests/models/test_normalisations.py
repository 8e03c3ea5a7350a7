"""Preprocessing by name, blue first among it, for models of every kind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from hardy.errors import InputError
from hardy.models import Override, Preprocessing, load_model
from hardy.models.adapters.torch_model import TorchModel
from hardy.models.model import as_override
from hardy.models.model_lists import list_models
from hardy.models.normalisations import NORMALISATIONS
from tests.models.test_onnx import write
from tests.models.tiny import tiny
from tests.photos import random_images

IMAGES = random_images(5, 8, 8)


def by_hand(name: str) -> np.ndarray:
    """The formulas in units of 0..255, as those who published the networks write them."""
    pixels = IMAGES.astype(np.float64)
    match name:
        case "caffe":
            return pixels[..., ::-1] - [103.939, 116.779, 123.68]
        case "tf":
            return pixels / 127.5 - 1
        case "torch":
            return (pixels / 255 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
        case "unit":
            return pixels / 255
    return pixels


class Echo(torch.nn.Module):
    """Its logits are its pixels."""

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        return pixels.permute(0, 2, 3, 1).flatten(1)


@pytest.mark.parametrize("name", NORMALISATIONS)
def test_each_by_torch(name: str) -> None:
    model = load_model(Echo(), preprocessing=name)
    assert f'("{name}", given' in str(model.preprocessing)
    expected = by_hand(name).reshape(5, -1)
    np.testing.assert_allclose(model.logits(IMAGES), expected, rtol=1e-5, atol=1e-4)
    assert isinstance(model, TorchModel)
    with model.from_pixels() as classify:
        again = classify(torch.from_numpy(IMAGES).permute(0, 3, 1, 2) / 255)
    np.testing.assert_allclose(again.numpy(), expected, rtol=1e-5, atol=1e-4)


def test_blue_comes_first_in_onnx_too(tmp_path: Path) -> None:
    path = write(tmp_path / "m.onnx", ("n", 8, 8, 3))
    plain = load_model(f"onnx:{path}", preprocessing="none").logits(IMAGES[..., ::-1])
    mean, std, _ = NORMALISATIONS["none"]
    turned = load_model(f"onnx:{path}", preprocessing=Preprocessing(mean, std, 8, bgr=True))
    np.testing.assert_allclose(turned.logits(IMAGES), plain, rtol=1e-6)
    assert np.abs(turned.logits(IMAGES[..., ::-1]) - plain).max() > 1e-3


def test_it_is_part_of_what_a_run_is_and_is_said() -> None:
    models = {name: load_model(tiny(), preprocessing=name) for name in NORMALISATIONS}
    assert len({model.identity for model in models.values()}) == len(NORMALISATIONS)
    spelled = Override(*NORMALISATIONS["tf"][:2])
    assert load_model(tiny(), preprocessing=spelled).identity == models["tf"].identity
    assert 'std 0.00392157 0.00392157 0.00392157, blue first ("caffe", given)' in str(
        models["caffe"].preprocessing
    )
    mean, std, _ = NORMALISATIONS["caffe"]
    red_first = load_model(tiny(), preprocessing=Preprocessing(mean, std))
    assert red_first.identity != models["caffe"].identity
    sized = load_model(tiny(), preprocessing=Override(size=24, named="tf"))
    assert str(sized.preprocessing).startswith("resize to 24 (bilinear), mean 0.5 0.5 0.5")


def test_one_of_a_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("models.toml").write_text(
        '[[model]]\nmodel = "a"\npreprocess = "caffe"\nsize = 9\n[[model]]\nmodel = "b"\n'
    )
    first, second = list_models(["models.toml"], preprocessing="tf")
    assert first.preprocessing == Override(size=9, named="caffe")
    assert as_override(second.preprocessing) == Override(named="tf")
    whole = Preprocessing((0.5,) * 3, (0.5,) * 3)
    first, second = list_models(["models.toml"], preprocessing=whole)
    mean, std, bgr = NORMALISATIONS["caffe"]
    assert first.preprocessing == Preprocessing(mean, std, 9, bgr=bgr)
    assert second.preprocessing == whole


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"named": "cafe"}, 'unknown preprocessing "cafe"; did you mean "caffe"'),
        ({"named": "bgr"}, r"\(all: caffe, tf, torch, unit, none\)"),
        ({"named": "tf", "mean": (0.5,) * 3}, 'by name, here "tf", or `mean` and `std`, got both'),
    ],
)
def test_what_cannot_be_meant(asked: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Override(**asked)


def test_only_what_is_left_to_the_model_is_called_a_rest() -> None:
    own = Preprocessing((0.4,) * 3, (0.2,) * 3, source="ImageNet's")
    zeros, ones = (0.0,) * 3, (1.0,) * 3
    assert str(Override(zeros, ones).onto(own)) == "mean 0 0 0, std 1 1 1 (given)"
    assert str(Override(zeros).onto(own)).endswith("(given, the rest ImageNet's)")
    sized = Override(zeros, ones).onto(replace(own, size=64))
    assert str(sized).endswith("std 1 1 1 (given, the size the model's own)")
    assert str(Override(zeros, ones, 32).onto(replace(own, size=64))).endswith("(given)")


def test_the_option(run, tmp_path: Path) -> None:
    path = write(tmp_path / "m.onnx", ("n", 32, 32, 3))
    np.savez("set.npz", images=random_images(10, 32, 32), labels=np.arange(10) % 4)
    words = ["eval", f"onnx:{path}", "--suite", "cifar10_c", "--images", "set.npz"]
    few = ["--own-classes", "--only", "fog", "--severities", "1", "--store", "runs"]
    code, out, err = run(*words, *few, "--preprocess", "caffe")
    assert code == 0, err
    assert 'blue first ("caffe", given)' in out + err
    code, out, err = run(*words, *few, "--preprocess", "tf", "--mean", "0.5")
    assert code != 0
    assert 'expected --preprocess by name, here "tf", or --mean and --std, got both' in out + err
