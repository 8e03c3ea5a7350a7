"""`python -m bench.until_nets`: full runs of three small nets on CIFAR-10-C, to draw samples from.

They are trained on a CPU, in build/until: a weak one, one trained as usual, and one on noisy
and blurred images as well. Their predictions are what `bench.until` replays.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn import functional

import hardy
from hardy.images import datasets
from hardy.models.model import Preprocessing

WHERE = Path("build/until")
STORE = WHERE / "runs"
SEQUENCES = 1000  # images, each with the frames of ten perturbations
BATCH = 250
MEAN, STD = (0.491, 0.482, 0.447), (0.247, 0.244, 0.262)


class Recipe(NamedTuple):
    width: int
    epochs: int
    images: int
    disturbed: bool


NETS = {
    "weak": Recipe(16, 2, 20_000, disturbed=False),
    "usual": Recipe(32, 5, 50_000, disturbed=False),
    "disturbed": Recipe(32, 5, 50_000, disturbed=True),
}


def make_net(width: int) -> nn.Sequential:
    def layer(before: int, after: int, kernel: int, stride: int) -> list[nn.Module]:
        conv = nn.Conv2d(before, after, kernel, stride, kernel // 2, bias=False)
        return [conv, nn.BatchNorm2d(after), nn.ReLU()]

    return nn.Sequential(
        *layer(3, width, 5, 2),
        *layer(width, 2 * width, 3, 2),
        *layer(2 * width, 4 * width, 3, 1),
        *layer(4 * width, 4 * width, 3, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4 * width, 10),
    )


def train(name: str, images: np.ndarray, labels: np.ndarray) -> nn.Module:
    """The net, from its file if it was trained before."""
    recipe, file = NETS[name], WHERE / f"{name}.pt"
    torch.manual_seed(0)
    net = make_net(recipe.width)
    if file.exists():
        net.load_state_dict(torch.load(file))
        return net.eval()
    images, targets = images[: recipe.images], torch.from_numpy(labels[: recipe.images]).long()
    steps = recipe.epochs * (len(images) // BATCH)
    optimiser = torch.optim.SGD(net.parameters(), 0.1, 0.9, weight_decay=5e-4, nesterov=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 0.2, total_steps=steps)
    for epoch in range(recipe.epochs):
        for rows in torch.randperm(len(images)).split(BATCH):
            pixels = torch.from_numpy(images[rows.numpy()]).permute(0, 3, 1, 2).float() / 255
            loss = functional.cross_entropy(
                net(_normalised(_augmented(pixels, recipe.disturbed))),
                targets[rows],
                label_smoothing=0.1,
            )
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
        print(f"{name}: epoch {epoch + 1}, loss {loss.item():.2f}", flush=True)
    torch.save(net.state_dict(), file)
    return net.eval()


def _augmented(pixels: torch.Tensor, disturbed: bool) -> torch.Tensor:
    padded = functional.pad(pixels, (4, 4, 4, 4))
    down, across = torch.randint(9, (2,)).tolist()
    pixels = padded[:, :, down : down + 32, across : across + 32]
    pixels = torch.where(torch.rand(len(pixels), 1, 1, 1) < 0.5, pixels.flip(3), pixels)
    if not disturbed:
        return pixels
    kind = torch.rand(len(pixels), 1, 1, 1)
    noisy = pixels + 0.1 * torch.rand(len(pixels), 1, 1, 1) * torch.randn_like(pixels)
    blurred = functional.avg_pool2d(pixels, 3, 1, 1, count_include_pad=False)
    return torch.where(kind < 0.35, noisy, torch.where(kind < 0.6, blurred, pixels)).clip(0, 1)


def _normalised(pixels: torch.Tensor) -> torch.Tensor:
    return (pixels - torch.tensor(MEAN)[:, None, None]) / torch.tensor(STD)[:, None, None]


def main() -> None:
    WHERE.mkdir(parents=True, exist_ok=True)
    kept = datasets.folder()
    images, labels = (np.load(kept / f"train_{what}.npy") for what in ("images", "labels"))
    nets: list[Any] = [train(name, images, labels) for name in NETS]
    how: dict[str, Any] = {
        "store": STORE,
        "images": "cifar10:test",
        "name": list(NETS),
        "preprocessing": Preprocessing(MEAN, STD),
    }
    for run in hardy.evaluate(nets, suite="cifar10_c", **how):
        print(run.score(), flush=True)
    for run in hardy.evaluate(nets, suite="cifar10_p", subset=SEQUENCES, **how):
        print(run.score(), flush=True)


if __name__ == "__main__":
    main()
