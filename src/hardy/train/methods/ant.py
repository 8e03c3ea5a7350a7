"""Adversarial noise training (Rusak et al., 2020): a game against a small generator of noise.

The generator turns white noise into noise that fools the classifier, without seeing the image. Each
epoch begins with a new one, trained against the classifier as it stands; then both learn in turns.
Every starting generator is kept, and part of each batch gets the noise of old ones, so that what
was learned is not forgotten. Half of each batch stays clean.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from hardy.errors import InputError
from hardy.train.method import METHODS, Batches, Draw, Method, need_positive, to_pixels
from hardy.train.projection import project

WIDTH = 20
CLEAN, CURRENT, REPLAYED = 0.5, 0.3, 0.1  # shares of a batch; the last is that of one old generator
PAPER_EPSILON, PAPER_VALUES = 135.0, 3 * 224 * 224


class Generator(nn.Module):
    """Four convolutions and a skip connection; `side` is the kernel of the second one. It starts as
    the white noise itself, nearly: its weights are N(0, 0.01²) and its biases 0."""

    def __init__(self, side: int, draw: Draw) -> None:
        super().__init__()
        self.side = side
        self.layers = nn.Sequential(
            nn.Conv2d(3, WIDTH, 1),
            nn.ReLU(),
            nn.Conv2d(WIDTH, WIDTH, side),
            nn.ReLU(),
            nn.Conv2d(WIDTH, WIDTH, 1),
            nn.ReLU(),
            nn.Conv2d(WIDTH, 3, 1),
        ).to(draw.device)
        with torch.no_grad():
            for part in self.layers:
                if isinstance(part, nn.Conv2d):
                    part.weight.copy_(0.01 * draw.common_normal(*part.weight.shape))
                    part.bias.zero_()

    def forward(self, white: Tensor) -> Tensor:
        """(N, 3, H + side − 1, W + side − 1) to (N, 3, H, W)."""
        edge = self.side // 2
        inner = white[:, :, edge:-edge, edge:-edge] if edge else white
        return self.layers(white) + inner


class Shares:
    """How a batch is made up: the first images get the current generator's noise, then old ones
    take a slice each, the rest stays clean. Without old ones the current one takes their part."""

    def __init__(self, batch: int, old: int) -> None:
        replays = min(old, round((1 - CLEAN - CURRENT) / REPLAYED))
        self.current = round(batch * (CURRENT if replays else 1 - CLEAN))
        ends = [round(batch * (CURRENT + REPLAYED * (number + 1))) for number in range(replays)]
        starts = [self.current, *ends]
        self.replayed = [slice(start, end) for start, end in zip(starts, ends, strict=False)]


@METHODS.register("ant")
@dataclass
class Ant(Method):
    """`epsilon` is the L2 norm of the noise over the image in 0..1, after clipping. Left at 0, it
    is the paper's 135 at 224 px, the same change per value: 19.3 at 32 px. An untrained generator
    gives Gaussian noise, so that counts as seen."""

    epsilon: float = 0.0
    generator_lr: float = 1e-4
    restart_lr: float = 5e-4
    restart_steps: int = 1001
    side: ClassVar[int] = 1
    seen = ("gaussian_noise",)

    def __post_init__(self) -> None:
        need_positive("learning rates", self.generator_lr, self.restart_lr)
        if not 0 <= self.epsilon < float("inf"):
            raise InputError(f"expected epsilon above 0, or 0 for the paper's, got {self.epsilon}")
        if self.restart_steps < 0:
            raise InputError(f"expected restart_steps of at least 0, got {self.restart_steps}")

    def begin(self, draw: Draw, shape: tuple[int, ...]) -> None:
        super().begin(draw, shape)
        values = shape[0] * shape[1] * shape[2]
        self.radius = self.epsilon or PAPER_EPSILON * (values / PAPER_VALUES) ** 0.5
        self.generator = Generator(self.side, draw)
        self.adam = torch.optim.Adam(self.generator.parameters(), self.generator_lr)
        self.history: list[Generator] = []

    def begin_epoch(self, epoch: int, model: nn.Module, batches: Batches) -> None:
        self.generator = Generator(self.side, self.draw)
        restarted = torch.optim.Adam(self.generator.parameters(), self.restart_lr)
        for _ in range(self.restart_steps):
            images, labels = next(batches)
            self.fool(model, to_pixels(images), labels, restarted)
        self.adam = torch.optim.Adam(self.generator.parameters(), self.generator_lr)
        kept = Generator(self.side, self.draw)
        kept.load_state_dict(self.generator.state_dict())
        self.history.append(kept)

    def loss(self, model: nn.Module, images: Tensor, labels: Tensor) -> Tensor:
        pixels = to_pixels(images)
        self.fool(model, pixels, labels, self.adam)
        return functional.cross_entropy(model(self.mixed(pixels)), labels)

    def fool(
        self, model: nn.Module, pixels: Tensor, labels: Tensor, adam: torch.optim.Adam
    ) -> None:
        """One step of the generator up the loss of the classifier, which stays as it is."""
        training = model.training
        model.eval()
        loss = functional.cross_entropy(model(self.noisy(self.generator, pixels)), labels)
        weights = list(self.generator.parameters())
        slopes = torch.autograd.grad(loss, weights)
        self.draw.ranks.average(slopes)  # one generator, whichever process it is in
        for weight, slope in zip(weights, slopes, strict=True):
            weight.grad = -slope
        adam.step()
        model.train(training)

    def mixed(self, pixels: Tensor) -> Tensor:
        # In the first epoch the only one in the history is the current one's own start.
        old = self.history if len(self.history) > 1 else []
        shares = Shares(len(pixels), len(old))
        batch = pixels.clone()
        with torch.no_grad():
            batch[: shares.current] = self.noisy(self.generator, pixels[: shares.current])
            drawn = self.draw.order(len(old)).tolist()
            for part, number in zip(shares.replayed, drawn, strict=False):
                batch[part] = self.noisy(old[number], pixels[part])
        return batch

    def noisy(self, generator: Generator, pixels: Tensor) -> Tensor:
        count, channels, height, width = pixels.shape
        more = self.side - 1
        white = self.draw.normal(count, channels, height + more, width + more)
        with torch.autocast(pixels.device.type, enabled=False):
            return project(pixels, generator(white), self.radius)

    def state(self) -> dict[str, Tensor]:
        """At the end of an epoch: the next begins with a new generator, so only the old count."""
        return {
            f"{epoch}.{name}": tensor
            for epoch, generator in enumerate(self.history)
            for name, tensor in generator.state_dict().items()
        }

    def restore(self, state: Mapping[str, Tensor]) -> None:
        weights: dict[int, dict[str, Tensor]] = {}
        for key, tensor in state.items():
            epoch, _, name = key.partition(".")
            weights.setdefault(int(epoch), {})[name] = tensor
        self.history = [Generator(self.side, self.draw) for _ in weights]
        for number, generator in enumerate(self.history):
            generator.load_state_dict(weights[number])


@METHODS.register("ant3x3")
@dataclass
class Ant3x3(Ant):
    """With a 3 x 3 convolution, so that the noise may hang together locally."""

    side: ClassVar[int] = 3
