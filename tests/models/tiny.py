"""Small modules and images for the tests of models."""

from __future__ import annotations

import torch

from tests.photos import random_images

IMAGES = random_images(7, 12, 12, seed=5)


class Tiny(torch.nn.Module):
    """Big enough to have a convolution, a normalisation with buffers, and a drop-out."""

    def __init__(self, classes: int = 5) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3)
        self.norm = torch.nn.BatchNorm2d(4)
        self.drop = torch.nn.Dropout(0.5)
        self.head = torch.nn.Linear(4, classes)

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        return self.head(self.drop(self.norm(self.conv(pixels)).relu()).mean((2, 3)))


def tiny(seed: int = 0, classes: int = 5) -> Tiny:
    state = torch.random.get_rng_state()
    torch.manual_seed(seed)
    module = Tiny(classes)
    torch.random.set_rng_state(state)
    return module


def configured() -> Tiny:
    module = tiny()
    module.pretrained_cfg = {
        "mean": (0.1, 0.2, 0.3),
        "std": (0.4, 0.5, 0.6),
        "input_size": (3, 16, 16),
        "interpolation": "bicubic",
    }
    return module


def broken() -> Tiny:
    raise KeyError("no such weights")


def leaves() -> Tiny:
    raise SystemExit(0)


def scripted() -> torch.nn.Module:
    return torch.jit.script(torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(432, 2)))


def lazy() -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.LazyLinear(2))


def on_meta() -> torch.nn.Module:
    with torch.device("meta"):
        return Tiny()


def number() -> int:
    return 3


def ten() -> Tiny:
    return tiny(classes=10)


class Failing(Tiny):
    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        raise RuntimeError("by no means")


def failing() -> Tiny:
    return Failing()
