"""One attack: a generator of noise is fitted against a model (Rusak et al., 2020), then come
accuracies and distances with their intervals, and pictures.

The generator turns white noise into noise and never sees the image; the model stays as it is, in
evaluation mode. The steps of the fit are those of the training method ant.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from hardy.errors import InputError
from hardy.execute import Threads
from hardy.images.display import encode
from hardy.metrics import proportion_interval
from hardy.metrics.intervals import difference_interval
from hardy.metrics.statistics import median_interval
from hardy.models import MODELS, Model
from hardy.models.adapters.torch_model import TorchModel
from hardy.models.defences import Defended, undefended
from hardy.models.model import in_words
from hardy.models.torch_identity import TORCH_LIBRARIES
from hardy.progress import Track, untracked
from hardy.registry import unknown
from hardy.run.subject import pixel_hashes
from hardy.store.attack_files import NOISES, Attacked, Estimate, hash_set
from hardy.store.provenance import session
from hardy.train import METHODS
from hardy.train.adversarial_noise import Generator, project, usual_epsilon
from hardy.train.method import Draw, to_pixels
from hardy.train.methods.ant import Ant

if TYPE_CHECKING:
    from hardy.attacks.attack import AttackImages, FitAndMeasure

Classify = Callable[[Tensor], Tensor]  # pixels 0..1, float (N, 3, H, W), to logits

STEPS, BATCH = Ant.restart_steps, 70  # of the fit
# Images measured at a time: few enough values for the projection's copies in float64.
VALUES, MOST = 10_000_000, 512
# The search for a distance: 1.8^0 .. 1.8^10, then as many halvings.
GROWTH, COARSE, HALVINGS = 1.8, 11, 40
# Pictures of each kind, and their side, cut from the middle so that pixels stay pixels.
SHOWN, SIDE = 2, 64
# The density of the noise, in units of its root mean square: bins, and images of noise counted.
EDGES, COUNTED = np.linspace(-4.0, 4.0, 33), 64


def check_kind(noise: str) -> None:
    if noise not in NOISES:
        raise unknown("kind of adversarial noise", noise, NOISES)


def check_differentiable(model: Model) -> TorchModel:
    if isinstance(model, Defended):
        bare, through = undefended(model), in_words(model.facts.defences)
        todo = "it cannot be attacked" if bare is model else f"attack {bare.name} without it"
        raise InputError(
            f"expected a model that torch can differentiate, got {model.name}, whose gradients end "
            f"at what its images go through ({through}); {todo}"
        )
    if not isinstance(model, TorchModel):
        kinds = ", ".join(MODELS.needing((*TORCH_LIBRARIES, "transformers")))
        raise InputError(
            f"expected a model that torch can differentiate ({kinds}, or a torch module), "
            f"got {model.name}; adversarial noise is learned by gradients"
        )
    return model


def run_attack(
    model: Model,
    chosen: FitAndMeasure,
    *,
    name: str,
    noise: str,
    epsilon: float | None,
    steps: int | None,
    seed: int,
    workers: int,
    track: Track,
) -> Attacked:
    target = check_differentiable(model)
    fitted, measured = chosen.fitted, chosen.measured
    device = torch.device(target.device)
    draw = Draw(seed, device)
    images, labels = map(torch.cat, zip(*_batches(fitted, MOST, device, workers), strict=True))
    hashes = pixel_hashes(images.permute(0, 2, 3, 1).cpu().numpy())
    _check_apart(hashes, chosen)
    steps = STEPS if steps is None else steps
    first, _ = next(_batches(measured, SHOWN, device, 1))
    values = first[0].numel()
    radius = epsilon or usual_epsilon(values)
    with target.from_pixels() as classify:
        generator = fit_generator(
            classify, images, labels, draw, noise=noise, epsilon=radius, steps=steps, track=track
        )
        size = max(1, min(MOST, VALUES // values))
        outcomes = [
            measure_attack(classify, some, theirs, generator, draw, epsilon=radius)
            for some, theirs in _batches(measured, size, device, workers)
        ]
    outcome = NoiseEffect(*(torch.cat(column).cpu() for column in zip(*outcomes, strict=True)))
    return Attacked(
        model=name,
        noise=noise,
        epsilon=radius,
        values=values,
        images=len(measured),
        fitted_on=f"{len(fitted):,} {chosen.how}",
        fitted_hash=hash_set(hashes, fitted.labels),
        measured_hash=hash_set(chosen.hashes, measured.labels),
        steps=steps,
        seed=seed,
        **_numbers(outcome, values),
        **_pictures(generator, draw, first, radius),
        session=session(device=target.device, precision=target.precision),
    )


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


class NoiseEffect(NamedTuple):
    """Whether each answer is right, and how far the nearest noise is that spoils it."""

    clean: Tensor
    adversarial: Tensor
    gaussian: Tensor
    distance: Tensor


@torch.no_grad()
def measure_attack(
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


def _check_apart(hashes: npt.NDArray[np.uint64], chosen: FitAndMeasure) -> None:
    common = np.flatnonzero(np.isin(chosen.hashes, hashes))
    if len(common):
        first = chosen.measured.subject.ids[chosen.measured.rows[common[0]]]
        raise InputError(
            f"expected other images to fit the noise on than to measure it on, got {len(common):,} "
            f'in both, the first of them "{first}"; name others by `attack_images`, or leave that '
            "out, and one half is fitted on"
        )


def _batches(
    part: AttackImages, size: int, device: torch.device, workers: int
) -> Iterator[tuple[Tensor, Tensor]]:
    """Images uint8 (N, 3, H, W) and their labels, read ahead by threads."""
    places = [slice(start, start + size) for start in range(0, len(part), size)]
    read = Threads(workers).run(lambda: part.images, places)
    for images, some in zip(read, places, strict=True):
        pixels = torch.from_numpy(images).permute(0, 3, 1, 2).to(device)
        yield pixels, torch.from_numpy(part.labels[some]).to(device)


def _numbers(outcome: NoiseEffect, values: int) -> dict[str, Any]:
    adversarial, gaussian = outcome.adversarial.numpy(), outcome.gaussian.numpy()
    distance = outcome.distance.numpy()
    pairs, images = 100 * (adversarial.astype(float) - gaussian), len(adversarial)
    freedom = max(1, images - 1)
    error = float(pairs.std()) / math.sqrt(freedom)
    leeway = 100 * proportion_interval(0, images).high
    apart, _ = difference_interval(float(pairs.mean()), error, leeway, freedom, 100 / images)
    return {
        "clean": _accuracy(outcome.clean.numpy()),
        "adversarial": _accuracy(adversarial),
        "gaussian": _accuracy(gaussian),
        "difference": Estimate(float(pairs.mean()), *apart),
        "median_distance": Estimate(float(np.median(distance)), *median_interval(distance)),
        "never": int((distance == values).sum()),
    }


def _accuracy(right: npt.NDArray[np.bool_]) -> Estimate:
    interval = proportion_interval(int(right.sum()), len(right))
    return Estimate(100 * float(right.mean()), 100 * interval.low, 100 * interval.high)


@torch.no_grad()
def _pictures(generator: Generator, draw: Draw, images: Tensor, epsilon: float) -> dict[str, Any]:
    """What the generator learned: its noise on grey and on images, and how its values spread."""
    pixels = to_pixels(images)
    grey = torch.full_like(pixels, 0.5)
    noise = generator(generator.white(draw, pixels.shape))
    plain = project(grey, draw.normal(*grey.shape), epsilon)
    shown = project(pixels, noise, epsilon)
    spread = generator(generator.white(draw, (COUNTED, *pixels.shape[1:])))
    spread = spread / spread.square().mean().sqrt()
    counts, _ = np.histogram(spread.cpu().numpy(), EDGES)
    return {
        "edges": EDGES.tolist(),
        "shares": (100 * counts / spread.numel()).tolist(),
        "patches": [_picture(one) for one in project(grey, noise, epsilon)],
        "gaussian_patches": [_picture(one) for one in plain],
        "samples": [[_picture(one), _picture(two)] for one, two in zip(pixels, shown, strict=True)],
    }


def _picture(pixels: Tensor) -> str:
    image = (255 * pixels).round().byte().permute(1, 2, 0).cpu().numpy()
    top, left = (max(0, (side - SIDE) // 2) for side in image.shape[:2])
    middle = np.ascontiguousarray(image[top : top + SIDE, left : left + SIDE])
    return base64.b64encode(encode(middle)).decode("ascii")
