"""A generator of noise is fitted against one model (Rusak et al., 2020), and its noise measured.

The generator turns white noise into noise and never sees the image; the model stays as it is, in
evaluation mode. The steps of the fit are those of the training method ant.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from hardy.errors import InputError
from hardy.progress import Track, untracked
from hardy.registry import unknown
from hardy.train.adversarial_noise import Generator, project
from hardy.train.method import Draw, to_pixels
from hardy.train.methods.ant import Ant, Ant3x3

KINDS = {"ant": Ant, "ant3x3": Ant3x3}
STEPS = Ant.restart_steps
BATCH = 70
# The search: 1.8^0 .. 1.8^10, then as many halvings.
GROWTH, COARSE, HALVINGS = 1.8, 11, 40

Classify = Callable[[Tensor], Tensor]  # pixels 0..1, float (N, 3, H, W), to logits


def check_kind(noise: str) -> None:
    if noise not in KINDS:
        raise unknown("kind of adversarial noise", noise, tuple(KINDS))


class _Attacked(nn.Module):
    """The attacked model as a module without weights, so that the steps touch none."""

    def __init__(self, classify: Classify) -> None:
        super().__init__()
        self.classify = classify

    def forward(self, pixels: Tensor) -> Tensor:
        logits = self.classify(pixels)
        if not logits.requires_grad:
            raise InputError(
                "expected a model that can be differentiated, got one whose logits have no "
                "gradient; adversarial noise is learned by gradients alone"
            )
        return logits


def fit_generator(
    classify: Classify,
    images: Tensor,
    labels: Tensor,
    draw: Draw,
    *,
    noise: str,
    epsilon: float,
    steps: int,
    follow: Track = untracked,
) -> Generator:
    """A new generator, fitted by Adam on −CE; `images` are uint8 (N, 3, H, W) on the device."""
    game = KINDS[noise](epsilon=epsilon)
    game.epochs = 0  # none to be kept for later epochs
    game.begin(draw, tuple(images.shape[1:]))
    model = _Attacked(classify)
    for _ in follow(range(steps), steps, "steps"):
        rows = draw.integers(len(images), BATCH)
        game.fool(model, to_pixels(images[rows]), labels[rows])
    generator: Generator = game.generator
    generator.requires_grad_(False)
    return generator


class NoiseEffect(NamedTuple):
    """Whether each answer is right, and how far the nearest noise is that spoils it."""

    clean: Tensor
    adversarial: Tensor
    gaussian: Tensor
    distance: Tensor


@torch.no_grad()
def measure(
    classify: Classify,
    images: Tensor,
    labels: Tensor,
    generator: Generator,
    draw: Draw,
    *,
    epsilon: float,
) -> NoiseEffect:
    """The effect of the noise, and of Gaussian noise: that which was fed, at the same norm."""
    pixels = to_pixels(images)
    fed = generator.white(draw, pixels.shape)
    noise, plain = generator(fed), generator.inner(fed)

    def right(shown: Tensor) -> Tensor:
        return classify(shown).argmax(1) == labels

    return NoiseEffect(
        right(pixels),
        right(project(pixels, noise, epsilon)),
        right(project(pixels, plain, epsilon)),
        smallest_distance(classify, pixels, noise, labels),
    )


@torch.no_grad()
def smallest_distance(classify: Classify, pixels: Tensor, noise: Tensor, labels: Tensor) -> Tensor:
    """The L2 distance, after clipping, at which noise of each image's direction first spoils the
    answer: η grows while that is right, then the last step is halved. An image whose answer stays
    right gets the number of its values; one that is wrong from the start ends near 0.
    """
    direction = functional.normalize(noise.flatten(1)).view_as(noise)

    def shown(eta: Tensor) -> Tensor:
        return (pixels + eta.to(pixels).view(-1, 1, 1, 1) * direction).clamp(0, 1)

    def wrong(eta: Tensor) -> Tensor:
        return classify(shown(eta)).argmax(1) != labels

    high = torch.ones(len(pixels), dtype=torch.float64, device=pixels.device)
    spoiled = wrong(high)
    for _ in range(COARSE - 1):
        high = torch.where(spoiled, high, high * GROWTH)
        spoiled = wrong(high)
    low = torch.zeros_like(high)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        found = wrong(middle)
        low, high = torch.where(found, low, middle), torch.where(found, middle, high)
    reached = (shown(high) - pixels).flatten(1).double().norm(dim=1)
    return torch.where(spoiled, reached, float(pixels[0].numel()))
