"""Pictures that a small net learns in an epoch, and such a net."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

LABELS = np.arange(400) % 10
GREYS = np.random.default_rng(0).normal(LABELS[:, None, None, None] * 25, 30, (400, 32, 32, 3))
IMAGES = GREYS.clip(0, 255).astype(np.uint8)
MEAN, STD = (0.5, 0.5, 0.5), (0.25, 0.25, 0.25)
# What is evaluated, and how precisely.
SAMPLED: Any = {
    "suite": "cifar10_c",
    "images": IMAGES,
    "labels": LABELS,
    "only": ["contrast", "brightness"],
    "until": 8,
}
SUITE_SCORES = ("cifar10_c/mean_error", "cifar10_c/clean_error")


def small_net(*, taught: bool = False) -> torch.nn.Sequential:
    """A net by chance, or one that names the nearest of the ten greys."""
    torch.manual_seed(0)
    layers = (torch.nn.AvgPool2d(16), torch.nn.Flatten(), torch.nn.Linear(12, 10))
    if taught:
        greys = normalised(torch.arange(10) * 25 / 255)
        with torch.no_grad():
            layers[2].weight.copy_(2 * greys[:, None].expand(-1, 12) / 12)
            layers[2].bias.copy_(-(greys**2))
    return torch.nn.Sequential(*layers, torch.nn.Dropout(0.1))


def normalised(pixels: torch.Tensor) -> torch.Tensor:
    return (pixels - 0.5) / 0.25


def learnt_from() -> torch.utils.data.TensorDataset:
    pixels = torch.from_numpy(IMAGES).permute(0, 3, 1, 2).float() / 255
    return torch.utils.data.TensorDataset(normalised(pixels), torch.from_numpy(LABELS))
