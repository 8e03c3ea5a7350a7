"""The data sets that the pages speak of and that are downloaded from their authors: small ones,
with the real names of folders and files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from hardy.suites import load

# Centipede and lorikeet: ImageNet-A, -O and -R have both.
WNIDS = ("n01784675", "n01820546")
VALIDATION = "ILSVRC2012_val_{:08d}.JPEG"


def draw(path: Path, number: int) -> None:
    """A small picture of one colour, told by its number, with a little noise."""
    noise = np.random.default_rng(number).integers(0, 20, (16, 20, 3))
    colour = np.array([number % 7 * 30, number // 7 % 7 * 30, number // 49 % 7 * 30])
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray((noise + colour).astype(np.uint8)).save(path, "PNG")


def write_natural_shifts(folder: Path) -> None:
    """imagenet-a, -o, -r and imagenetv2 with an image in each class folder, real.json for two
    validation images, and testbed.csv with the accuracies of six models."""
    for name in ("imagenet_a", "imagenet_o", "imagenet_r"):
        shift = load(name).shift
        assert shift is not None
        for number, wnid in enumerate(shift.kept):
            draw(folder / name.replace("_", "-") / wnid / "art_0.jpg", number)
    for number in range(1000):
        draw(folder / "imagenetv2" / str(number) / "one.jpeg", number)
    (folder / "real.json").write_text(json.dumps([[79], [90, 5]]))
    rows = [f"net {k},imagenet_v2,0.{60 + k},0.{48 + k}" for k in range(6)]
    (folder / "testbed.csv").write_text("\n".join(["model,suite,clean,accuracy", *rows]) + "\n")


def write_subtypes(folder: Path) -> None:
    """Two seen synsets of each broad type in seen/train and seen/val, an unseen one in
    imagenet22k."""
    shift = load("imagenet_subtypes").shift
    assert shift is not None
    for number, one in enumerate(shift.types.values()):
        for wnid in one.seen[:2]:
            for place in range(2):
                draw(folder / "seen/train" / wnid / f"{wnid}_{place}.JPEG", number)
            draw(folder / "seen/val" / wnid / f"{wnid}_val.JPEG", number)
        draw(folder / "imagenet22k" / one.unseen[0] / f"{one.unseen[0]}_0.JPEG", number)


def use_torchvision(checkpoints: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random weights of ResNet-18 and -50 are those that were fetched. ResNet-50 is narrow, and its
    first step is four times as long: it sees a thousand images."""
    from torchvision.models import ResNet18_Weights, ResNet50_Weights, resnet, resnet18, resnet50

    real = resnet._resnet

    def narrow(block: Any, layers: list[int], *given: Any, **named: Any) -> torch.nn.Module:
        if layers != [3, 4, 6, 3]:
            return real(block, layers, *given, **named)
        small = real(block, [1, 1, 1, 1], *given, **{**named, "width_per_group": 4})
        small.conv1.stride = (8, 8)
        return small

    monkeypatch.setattr(resnet, "_resnet", narrow)
    checkpoints.mkdir(parents=True)
    for weights, make in (
        (ResNet18_Weights.DEFAULT, resnet18),
        (ResNet50_Weights.DEFAULT, resnet50),
    ):
        torch.save(make().state_dict(), checkpoints / weights.url.rpartition("/")[2])
