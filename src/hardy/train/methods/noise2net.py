"""Noise2Net, the variant of DeepAugment (Hendrycks et al., 2021) that needs no other weights."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from hardy.errors import InputError
from hardy.train.method import Draw, Method, need_positive

BLOCKS = 4
WIDTH, SCALE = 16, 4  # planes of a part, and parts
_LARGEST_DILATION = 3


@dataclass
class Noise2Net(Method):
    """Half of each batch passes random nets, another for each image and batch.

    Four times x ← x + ε · block(x) on normalised images, ε uniform between half of `epsilon` and
    all of it. No gradient passes, and nothing is clipped.

    A block is a bottleneck of Res2Net: 1 x 1 to four parts of 16 planes; the first part stays, each
    other one plus the result of the one before is convolved; 1 x 1 back to three planes. These
    convolutions are 1 x 1 or 3 x 3 with dilation 1, 2 or 3. Batch norm follows each, ReLU all but
    the last.

    As an image has weights of its own, the statistics are those of the image alone, an instance
    norm; it takes the scale out of the weights, which are therefore uniform in ±1. Decided here:
    the 16 planes that are published are those of one of the four parts; kernel and dilation are
    drawn for each image and convolution, ε for each image; the norms scale by 1 and shift by 0; the
    block has no skip connection but that of the formula, and ends without ReLU, so that it can
    darken as well as brighten."""

    epsilon: float = 0.75

    def __post_init__(self) -> None:
        need_positive("epsilon", self.epsilon)

    def begin(self, draw: Draw, shape: tuple[int, ...]) -> None:
        super().begin(draw, shape)
        if shape[1] * shape[2] < 2:
            raise InputError(
                "noise2net: expected images of at least 2 pixels, over which its net takes mean "
                f"and deviation, got {shape[1]} x {shape[2]}; enlarge them, or train by another "
                "method"
            )

    @torch.no_grad()
    def augment(self, pixels: Tensor) -> Tensor:
        half = len(pixels) // 2
        mean, std = self.classifier.mean, self.classifier.std
        changed = self.through_nets((pixels[half:] - mean) / std) * std + mean
        return torch.cat([pixels[:half], changed])

    def through_nets(self, images: Tensor) -> Tensor:
        epsilon = self.epsilon * (1 + self.draw.uniform(len(images), 1, 1, 1)) / 2
        for _ in range(BLOCKS):
            images = images + epsilon * self.block(images)
        return images

    def block(self, images: Tensor) -> Tensor:
        count, planes = len(images), images.shape[1]
        features = _pointwise(images, self.weights(count, WIDTH * SCALE, planes))
        first, *others = functional.relu(functional.instance_norm(features)).chunk(SCALE, 1)
        done: list[Tensor] = []
        for part in others:
            features = self.convolved(part + done[-1] if done else part)
            done.append(functional.relu(functional.instance_norm(features)))
        features = torch.cat([first, *done], 1)
        features = _pointwise(features, self.weights(count, planes, WIDTH * SCALE))
        return functional.instance_norm(features)

    def convolved(self, features: Tensor) -> Tensor:
        count = len(features)
        # A kernel of 1 x 1 is one of 3 x 3 whose outer taps are 0, so that nothing waits for what
        # was drawn.
        wide = self.draw.integers(2, count, 1, 1, 1, 1) == 1
        centre = (torch.arange(9, device=features.device) == 4).view(3, 3)
        weights = self.weights(count, WIDTH, WIDTH, 3, 3) * (wide | centre)
        return convolve(features, weights, 1 + self.draw.integers(_LARGEST_DILATION, count))

    def weights(self, *shape: int) -> Tensor:
        return 2 * self.draw.uniform(*shape) - 1


def _pointwise(features: Tensor, weights: Tensor) -> Tensor:
    """1 x 1, each image by its own weights, (N, out, in)."""
    return torch.bmm(weights, features.flatten(2)).unflatten(2, features.shape[2:])


def convolve(features: Tensor, weights: Tensor, dilations: Tensor) -> Tensor:
    """Each image by its own weights, (N, out, in, 3, 3), and its own dilation; zeros around. The
    taps are gathered, and one product of matrices does the rest: a grouped convolution would have
    to know the dilations, and is slow for so many groups."""
    count, planes, height, width = features.shape
    padded = functional.pad(features, (_LARGEST_DILATION,) * 4)
    across = torch.arange(max(height, width), device=features.device)
    steps = dilations[:, None] * torch.arange(-1, 2, device=features.device) + _LARGEST_DILATION
    rows = (steps[:, :, None] + across[:height])[:, :, None, :, None]
    columns = (steps[:, :, None] + across[:width])[:, None, :, None, :]
    places = (rows * padded.shape[3] + columns).flatten(1)[:, None]
    taps = padded.flatten(2).gather(2, places.expand(-1, planes, -1))
    return _pointwise(taps.view(count, planes * 9, height, width), weights.flatten(2))
