"""What no suite measures: shifts and speed."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from experiments.plan import SHIFT, SHIFT_PAIRS
from experiments.score_files import SHIFT_FLIPS
from hardy import models
from hardy.images import load_images, open_images
from hardy.metrics import Metric, Resampling, resample_means
from hardy.scores.score import Circumstances, Score, score_of
from hardy.train.cuda_graphs import Recorded, can_record, running
from hardy.train.hyperparameters import Hyperparameters
from hardy.train.loop import Training
from hardy.train.method import make_method, to_pixels
from hardy.train.methods.augmix import AugMix, agreement
from hardy.train.training_data import Data, crop_and_flip

SEED = 0  # of the shifts
CALLS = 200


def shift_flips(folder: Path, test: str, device: torch.device) -> Score:
    """How often the answer differs between two random shifts of an image, by up to 4 pixels each,
    black where nothing comes in; Zhang's consistency is 100 % less this. All models see the same
    shifts: four pairs of each image."""
    source = open_images(test)
    images = next(load_images(source, "none@1", batch=len(source))).images
    model = models.load_model(f"hardy:{folder}", device=str(device))
    draws = np.random.default_rng(SEED)
    flips = np.zeros(len(images))
    for _ in range(SHIFT_PAIRS):
        one, two = (model.logits(shifted(images, draws)).argmax(1) for _ in range(2))
        flips += one != two
    labels = np.asarray(source.labels)
    around = Circumstances(
        "shifts", 1, "", "corruptions", (), (), None, len(images), "", "none@1",
        f"{SHIFT_PAIRS} pairs of shifts, seed {SEED}",
    )  # fmt: skip
    how = Resampling(strata=labels)
    shares = flips / SHIFT_PAIRS
    spread = 100 * resample_means(shares[:, None], how)[:, 0]
    metric = Metric(SHIFT_FLIPS, lambda flips: flips, unit="%")
    return score_of(
        SHIFT_FLIPS, 100 * float(shares.mean()), spread, around, str(how), metric=metric
    )


def shifted(images: Any, draws: np.random.Generator) -> Any:
    count, height, width, _ = images.shape
    padded = np.pad(images, ((0, 0), (SHIFT, SHIFT), (SHIFT, SHIFT), (0, 0)))
    rows, columns = draws.integers(0, 2 * SHIFT + 1, (2, count, 1))
    return padded[
        np.arange(count)[:, None, None],
        (rows + np.arange(height))[:, :, None],
        (columns + np.arange(width))[:, None, :],
    ]


def speed(data: Data, recipe: Hyperparameters, device: torch.device, epochs: int) -> dict[str, Any]:
    """Steps of the standard training against their forward and backward pass alone, and AugMix's
    mixing against its net's. The first epoch is warm-up; a pass alone has its batch ready on the
    device, normalised by the model and recorded like a step."""
    with running(device):
        plain = Training(make_method("standard"), data, recipe, device)
        for _ in range(1 + epochs):
            plain.run_epoch(lambda steps, total, unit: steps)
        whole = statistics.median(row["seconds"] for row in plain.log[1:])
        images = crop_and_flip(data.images[: recipe.batch].to(device), plain.draw)
        labels = data.labels[: recipe.batch].to(device)
        passes = _seconds(
            partial(_pass, plain, functional.cross_entropy), plain, to_pixels(images), labels
        )
        mixed = Training(make_method("augmix"), data, recipe, device)
        method = mixed.method
        assert isinstance(method, AugMix)
        views = torch.cat([to_pixels(images), *method.mixtures(images, 2)])
        mixing = _seconds(lambda batch: _ignore(method.mixtures(batch, 2)), mixed, images)
        net = _seconds(partial(_pass, mixed, agreement), mixed, views, labels)
    steps = len(data.images) / recipe.batch
    return {
        "net": recipe.net,
        "images": len(data.images),
        "batch": recipe.batch,
        "precision": recipe.precision,
        "epochs": epochs,
        "warm_up": plain.log[0]["seconds"],
        "epoch": whole,
        "images_per_second": len(data.images) / whole,
        "step": whole / steps,
        "forward_backward": passes,
        "outside": 1 - passes * steps / whole,
        "augmix_mixing": mixing,
        "augmix_net": net,
    }


def _ignore(_: Tensor) -> None:
    """What is recorded returns nothing."""


def _pass(
    training: Training, loss_of: Callable[[Tensor, Tensor], Tensor], pixels: Tensor, labels: Tensor
) -> None:
    training.optimizer.zero_grad()
    with training.mixed():
        loss = loss_of(training.compiled(pixels), labels)
    loss.backward()


def _seconds(function: Callable[..., None], training: Training, *tensors: Tensor) -> float:
    """The mean time of many calls; recorded where the training's steps are."""
    device = training.device
    ready = can_record(device, training.ranks)
    call = Recorded(function, training.draw.there) if ready else function
    wait = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    calls = CALLS if device.type == "cuda" else 3
    for _ in range(5):  # recorded by then
        call(*tensors)
    wait()
    began = time.perf_counter()
    for _ in range(calls):
        call(*tensors)
    wait()
    return (time.perf_counter() - began) / calls
