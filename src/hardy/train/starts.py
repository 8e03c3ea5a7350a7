"""Trainings that begin with a model that has a name: its net, its weights, and a new head where the
classes are others.

What a user does not set is then chosen for fine-tuning, by the number of images.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn

from hardy.errors import InputError
from hardy.images import open_images
from hardy.images.source import size_of
from hardy.models import MODELS, NET_LIBRARIES, model_by_name
from hardy.models.model import Options, existing, facts_of
from hardy.models.torch_identity import hash_weights
from hardy.models.weights import load_checkpoint
from hardy.train.run_folder import RUN
from hardy.train.trained_model import trained_net, trained_shape

_KINDS = (*NET_LIBRARIES, "hardy")
_SIDE, _RECIPE = 224, "resize256_crop224@1"
_STEPS = 1000  # that fine-tuning aims at
_FEWEST_EPOCHS, _MOST_EPOCHS = 5, 40
_SMALLEST_BATCH, _LARGEST_BATCH = 16, 128
_RATE_OF_IMAGE = 0.01 / 64  # the learning rate grows with the batch


class Start(NamedTuple):
    """What a training begins with, by a name such as "zoo:resnet50"."""

    model: str
    net: str  # as `make_net` knows it
    antialias: int
    blur_after_conv: bool
    side: int  # of the images it was made for
    weights: Mapping[str, torch.Tensor]
    sha256: str
    seen: tuple[str, ...] | None  # corruptions; None: nobody says

    def into(self, net: nn.Module, classes: int) -> bool:
        """Load the weights; whether those of the head are for another number of classes, so that it
        stays as it was drawn."""
        own = net.state_dict()
        head = [name for name in own if self._is_other_head(name, own[name], classes)]
        body = [name for name in own if name not in head]
        unfit = [
            name
            for name in body
            if name not in self.weights or self.weights[name].shape != own[name].shape
        ]
        if unfit:
            raise InputError(
                f"{self.model}: expected the weights of {self.net} but for its last layer, got "
                f"none that fit {', '.join(unfit[:3])}; begin with another model"
            )
        net.load_state_dict({name: self.weights[name] for name in body}, strict=False)
        return bool(head)

    def _is_other_head(self, name: str, own: torch.Tensor, classes: int) -> bool:
        """Whether only the number of classes, which comes first, differs."""
        if name not in self.weights or not own.ndim or own.shape[0] != classes:
            return False
        its = self.weights[name].shape
        return bool(its[1:] == own.shape[1:] and its[0] != classes)


def find_start(init: str | Path) -> Start | Path:
    """The model, or the file of weights, that a training is to begin with."""
    kind, colon, rest = str(init).partition(":")
    if not colon or Path(init).is_file() or kind not in MODELS:
        return existing(Path(init), "weights to start from")
    if kind not in _KINDS:
        known = ", ".join(f"{one}:{MODELS.form(one).partition(':')[2]}" for one in _KINDS)
        raise InputError(
            f"expected weights to start from as a file or a model of {known}, got {init}"
        )
    if kind == "hardy":
        return _trained_start(str(init), Path(rest))
    loaded: Any = model_by_name(str(init), Options(str(init), device="cpu"))
    # torchvision's names of weights are no part of a net's name.
    net = str(init).partition(".")[0] if kind == "torchvision" else str(init)
    seen = facts_of(loaded).seen_corruptions
    weights = {name: tensor.detach() for name, tensor in loaded.module.state_dict().items()}
    identity = hash_weights(loaded.module)
    return Start(str(init), net, 1, False, _SIDE, weights, identity, seen)


def _trained_start(model: str, folder: Path) -> Start:
    net, run = trained_net(folder)
    recipe, seen = run["recipe"], run["seen_corruptions"]
    return Start(
        model,
        recipe["net"],
        recipe["antialias"],
        recipe["blur_after_conv"],
        trained_shape(run, folder / RUN)[-1],
        net.state_dict(),
        hash_weights(net),
        None if seen is None else tuple(seen),
    )


def load_start(
    init: Start | Path, net: nn.Module, classes: int, say: Callable[[str], object]
) -> bool:
    """Load the first weights; whether the net has a new head."""
    if isinstance(init, Path):
        todo = "start from weights of the same net, made for as many classes as the data has"
        load_checkpoint(net, init, f"{todo}, or leave `init` out")
        return False
    new_head = init.into(net, classes)
    if new_head:
        say(f"{init.model} gets a new head, for {classes} classes")
    return new_head


def usual_recipe(start: Start | Path | None, data: str, labels: str | Path | None) -> str:
    """How images are prepared if nobody says: not at all, unless a net that was made for 224 pixels
    is to see photographs, which differ in size."""
    if not isinstance(start, Start) or start.side != _SIDE:
        return "none@1"
    return "none@1" if size_of(open_images(data, labels=labels)) else _RECIPE


class Pace(NamedTuple):
    """How long, and how fast, a net learns."""

    epochs: int
    batch: int
    lr: float


def fine_tuning(images: int, batch: int | None = None) -> Pace:
    """The usual pace for so many images: about a twentieth of them in a batch, a thousand steps in
    5 to 40 epochs, and a learning rate of 0.01 for a batch of 64."""
    if batch is None:
        power = 2 ** max(0, (images // 20).bit_length() - 1)
        batch = min(max(power, _SMALLEST_BATCH), _LARGEST_BATCH)
    wanted = _STEPS * batch // images
    epochs = min(max(wanted, _FEWEST_EPOCHS), _MOST_EPOCHS)
    return Pace(epochs, batch, round(_RATE_OF_IMAGE * batch, 6))
