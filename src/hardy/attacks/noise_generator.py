"""A generator of noise is fitted against one model (Rusak et al., 2020).

The generator turns white noise into noise and never sees the image; the model stays as it is, in
evaluation mode. The steps of the fit are those of the training method ant.
"""

from collections.abc import Callable
from typing import cast

from torch import Tensor, nn

from hardy.errors import InputError
from hardy.progress import Track, untracked
from hardy.registry import unknown
from hardy.store.attack_files import NOISES
from hardy.train import METHODS
from hardy.train.adversarial_noise import Generator
from hardy.train.method import Draw, to_pixels
from hardy.train.methods.ant import Ant

STEPS = Ant.restart_steps
BATCH = 70

Classify = Callable[[Tensor], Tensor]  # pixels 0..1, float (N, 3, H, W), to logits


def check_kind(noise: str) -> None:
    if noise not in NOISES:
        raise unknown("kind of adversarial noise", noise, NOISES)


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
    track: Track = untracked,
) -> Generator:
    """A new generator, fitted by Adam on −CE; `images` are uint8 (N, 3, H, W) on the device."""
    game = cast(type[Ant], METHODS[noise])(epsilon=epsilon)
    game.epochs = 0  # none to be kept for later epochs
    game.begin(draw, tuple(images.shape[1:]))
    model = _Attacked(classify)
    for _ in track(range(steps), steps, "steps"):
        rows = draw.integers(len(images), BATCH)
        game.fool(model, to_pixels(images[rows]), labels[rows])
    generator: Generator = game.generator
    generator.requires_grad_(False)
    return generator
