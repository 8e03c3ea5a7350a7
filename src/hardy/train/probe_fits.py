"""How a probe's weights are found: by logistic regression, or as in the experiments of 2019.

`sgd` and `original` are the recipe by which Hendrycks & Dietterich (2019, appendix G) put a new
last layer on a frozen net: one epoch of SGD with Nesterov's momentum 0.9 and a weight decay of
5e-4, in batches of 128, on random crops of which every other one is mirrored. After k of n batches
the learning rate is 0.01 · (1 + cos t) / 2 with t = min(π k / n, π − 0.01). `original` has the
frozen layers in training mode as the authors' script has them: batch norm goes by each batch, its
running statistics drift, and dropout is active. This file imports torch.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from hardy.engine.door import UInt8
from hardy.errors import InputError
from hardy.images.image_files import Convert, Picture, rgb
from hardy.images.loading import load_images
from hardy.images.recipes import RECIPES
from hardy.images.source import Faults, Listing, Source
from hardy.models.adapters.torch_model import TorchModel, prepared
from hardy.models.model import Model
from hardy.progress import Track

FITS = ("logistic", "sgd", "original")
LOGISTIC, _SGD, _ORIGINAL = FITS
_STEPS = 500  # of L-BFGS, at most
_BATCH, _RATE, _MOMENTUM, _DECAY = 128, 0.01, 0.9, 5e-4  # of SGD
_LAST = math.pi - 0.01  # where the cosine stops


class FeatureSet(NamedTuple):
    features: npt.NDArray[np.float32]
    labels: npt.NDArray[np.int64]


class Fitted(NamedTuple):
    """Weight and bias for plain features, and how they were come by."""

    weight: Tensor
    bias: Tensor
    decay: float
    tried: dict[float, float]  # accuracy on the images to choose by, by decay
    images: int  # it was trained on
    buffers: dict[str, Tensor]  # of the backbone, where they have drifted


def fit_logistic(
    train: FeatureSet,
    held_out: FeatureSet,
    classes: int,
    device: str,
    decays: tuple[float, ...],
    track: Track,
) -> Fitted:
    """Logistic regression by L-BFGS, with the decay that is best on what is held out."""

    def on_device(part: npt.NDArray[Any]) -> Tensor:
        return torch.from_numpy(part).to(device)

    mean = train.features.mean(0, dtype=np.float64)
    spread = train.features.std(0, dtype=np.float64)
    spread = np.where(spread > 0, spread, 1.0)
    shown, tested = (on_device((part.features - mean) / spread) for part in (train, held_out))
    labels, truth = on_device(train.labels), on_device(held_out.labels)
    weight = torch.zeros(classes, shown.shape[1], dtype=torch.float64, device=device)
    bias = torch.zeros(classes, dtype=torch.float64, device=device)
    tried, best = {}, None
    # From the strongest penalty to the weakest, each from where the last has ended.
    for decay in track(sorted(decays, reverse=True), len(decays), "penalties tried"):
        weight, bias = _descend(shown, labels, weight, bias, decay)
        logits = tested @ weight.T + bias
        tried[decay] = float((logits.argmax(1) == truth).double().mean())
        loss = float(functional.cross_entropy(logits, truth))
        if best is None or (tried[decay], -loss) > best[0]:
            best = (tried[decay], -loss), weight, bias, decay
    assert best is not None
    _, weight, bias, decay = best
    scale, centre = on_device(spread), on_device(mean)
    plain = weight / scale
    offset = (bias - plain @ centre).float()
    return Fitted(plain.float(), offset, decay, tried, len(train.labels), {})


def _descend(
    shown: Tensor, labels: Tensor, weight: Tensor, bias: Tensor, decay: float
) -> tuple[Tensor, Tensor]:
    """Minimise the mean cross-entropy + decay / 2 · |weight|²."""
    weight, bias = (part.clone().requires_grad_() for part in (weight, bias))
    optimiser = torch.optim.LBFGS(
        [weight, bias],
        max_iter=_STEPS,
        tolerance_grad=1e-6,
        tolerance_change=1e-10,
        line_search_fn="strong_wolfe",
    )

    def loss() -> Tensor:
        optimiser.zero_grad()
        value = functional.cross_entropy(shown @ weight.T + bias, labels)
        value = value + decay / 2 * (weight**2).sum()
        value.backward()
        return value

    optimiser.step(loss)
    return weight.detach(), bias.detach()


def fit_by_sgd(
    fit: str,
    model: Model,
    width: int,
    source: Source,
    classes: int,
    recipe: str,
    seed: int,
    faults: Faults,
    track: Track,
) -> Fitted:
    """One epoch over the images, whose features are made anew for each batch."""
    if fit == _ORIGINAL and not isinstance(model, TorchModel):
        raise InputError(
            f"expected a backbone of torch's for the fit {_ORIGINAL}, which has its layers in "
            f"training mode, got {model.name}; take {_SGD}"
        )
    random = torch.Generator().manual_seed(seed)
    bound = 1 / math.sqrt(width)  # as torch begins a linear layer
    weight, bias = (
        ((2 * torch.rand(*shape, generator=random) - 1) * bound).to(model.device).requires_grad_()
        for shape in ((classes, width), (classes,))
    )
    optimiser = torch.optim.SGD(
        [weight, bias], lr=_RATE, momentum=_MOMENTUM, weight_decay=_DECAY, nesterov=True
    )
    order = torch.randperm(len(source), generator=random).tolist()
    varied = _Varied("", "", source.files, source.ids, source.labels, None, source, recipe, seed)
    batches = load_images(varied, recipe, batch=_BATCH, indices=order, faults=faults, track=track)
    shown = 0
    with _features(fit, model, seed) as features:
        for number, batch in enumerate(batches):
            optimiser.param_groups[0]["lr"] = _rate(number, len(source) / _BATCH)
            logits = features(batch.images) @ weight.T + bias
            labels = torch.from_numpy(batch.labels).to(model.device)
            optimiser.zero_grad()
            functional.cross_entropy(logits, labels).backward()
            optimiser.step()
            shown += len(labels)
    if not shown:
        raise InputError("expected images to train a probe on, got none that can be read")
    drifted = fit == _ORIGINAL and isinstance(model, TorchModel)
    buffers = dict(model.module.named_buffers()) if drifted else {}  # type: ignore[attr-defined]
    return Fitted(weight.detach(), bias.detach(), _DECAY, {}, shown, buffers)


def accuracy_of(fitted: Fitted, tested: FeatureSet) -> float:
    weight, bias = (part.cpu().numpy() for part in (fitted.weight, fitted.bias))
    answers = (tested.features @ weight.T + bias).argmax(1)
    return float((answers == tested.labels).mean())


def _rate(done: int, steps: float) -> float:
    """After `done` of so many steps, of which the last need not be whole."""
    return _RATE * (1 + math.cos(min(math.pi * done / steps, _LAST))) / 2


@contextmanager
def _features(fit: str, model: Model, seed: int) -> Iterator[Callable[[UInt8], Tensor]]:
    """A function from images to features; what dropout draws leaves no trace outside."""

    def frozen(images: UInt8) -> Tensor:
        return torch.from_numpy(np.asarray(model.logits(images))).to(model.device)

    def in_training(images: UInt8) -> Tensor:
        assert isinstance(model, TorchModel)
        there = torch.from_numpy(images).to(model.device)
        with torch.no_grad():
            found = model.module.train()(prepared(there, model.preprocessing))
        return getattr(found, "logits", found).float()

    if fit != _ORIGINAL or not isinstance(model, TorchModel):
        yield frozen
        return
    was_training = model.module.training
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield in_training
    model.module.train(was_training)


@dataclass(frozen=True)
class _Varied(Listing):
    """The images of a source as training sees them: of what a recipe cuts the middle out of, a part
    anywhere, and every other one mirrored. It hangs on the seed and on the image's place."""

    whole: Source
    recipe: str
    seed: int

    def read(self, index: int, convert: Convert = rgb) -> UInt8:
        return self.whole.read(index, lambda picture: self._cut(picture, index))

    def _cut(self, picture: Picture, index: int) -> UInt8:
        recipe = RECIPES[self.recipe]
        down, along, mirror = np.random.default_rng([self.seed, index]).random(3)
        base = recipe.base(picture)
        height, width = recipe.crop(*base.shape[:2])
        top, left = (
            int(down * (base.shape[0] - height + 1)),
            int(along * (base.shape[1] - width + 1)),
        )
        part = recipe.shrink(np.ascontiguousarray(base[top : top + height, left : left + width]))
        return np.ascontiguousarray(part[:, ::-1]) if mirror < 0.5 else part
