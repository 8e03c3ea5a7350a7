"""Small data and a narrow net, on which a run takes a second."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from hardy.models.model import IMAGENET_MEAN, IMAGENET_STD
from hardy.train import NETS
from hardy.train.blurpool import STRIDES, Halving
from hardy.train.hyperparameters import Hyperparameters
from hardy.train.nets.wide_resnets import WideResNet
from hardy.train.training_data import Data, read_data

CPU = torch.device("cpu")
# What a method cannot do without.
NEEDED = {"corrupted": {"corruption": "contrast"}}
NARROW = Hyperparameters(net="narrow", epochs=2, batch=24, lr=0.05)


def make_narrow(classes: int, halving: Halving = STRIDES) -> torch.nn.Module:
    return WideResNet(10, 1, classes, halving)


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A net of that name, as a plug-in would bring it."""
    monkeypatch.setitem(NETS._objects, "narrow", make_narrow)


def write_arrays(folder: Path, count: int = 64, side: int = 16) -> Path:
    """Images whose mean brightness says their class, of which there are three."""
    draws = np.random.default_rng(0)
    labels = np.arange(count) % 3
    images = draws.integers(0, 86, (count, side, side, 3)) + 85 * labels[:, None, None, None]
    folder.mkdir(exist_ok=True)
    np.savez(folder / "set.npz", images=images.clip(0, 255).astype(np.uint8), labels=labels)
    return folder / "set.npz"


def small_data(folder: Path, **sizes: int) -> Data:
    return read_data(str(write_arrays(folder, **sizes)), CPU)


def described(net: str, classes: int, **recipe: object) -> dict:
    """A run of such a net, as its folder says it."""
    return {
        "format": 1,
        "data": {"classes": classes, "names": None, "images": "60 images, folder photos"},
        "recipe": {"net": net, "antialias": 1, "blur_after_conv": False, **recipe},
        "preprocessing": {"mean": IMAGENET_MEAN, "std": IMAGENET_STD},
        "seen_corruptions": [],
        "input": None,
    }
