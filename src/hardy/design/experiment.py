"""The overlap experiment: one model for each corruption and a clean one, each tested on all.

All models start from the same weights and see the same images in the same order: they differ by
their corruption alone. The clean one also tells how each corruption moves its last hidden layer.
This file imports torch.
"""

import os
import tomllib
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from hardy import models as adapters
from hardy.design.accuracy import check_names
from hardy.design.designed_suite import as_toml
from hardy.design.proxy import Features, write_features
from hardy.design.results import FEATURES, FINISHED, FORMAT, MODELS, PREDICTIONS, begin_overlap
from hardy.errors import HardyError, InputError, sides
from hardy.evaluation import Evaluation
from hardy.execute import Threads, count_workers, processors
from hardy.execute.machine import versions
from hardy.files import write_record
from hardy.images import open_images
from hardy.images.datasets import DATA_SETS
from hardy.images.recipes import RECIPES
from hardy.inside import refuse_links
from hardy.models.adapters.torch_sources import find_device
from hardy.models.model import Options
from hardy.progress import Item, Track, untracked
from hardy.run.preflight import check_trained_on
from hardy.run.selection import Images, open_subject
from hardy.run.subject import Subject
from hardy.scores.scored_cells import hash_images
from hardy.store.reader import open_run
from hardy.suites import keep_beside, load, parse, text_of
from hardy.suites.cells import CLEAN, NONE, choose_cells
from hardy.suites.suite import Suite
from hardy.train.hyperparameters import Hyperparameters
from hardy.train.loop import run_training
from hardy.train.method import Classifier, to_pixels
from hardy.train.record import MODEL, device_name
from hardy.train.trained_model import trained_net
from hardy.train.training_data import Data, read_data

BATCH = 1024  # of images whose features are taken


class _Experiment(NamedTuple):
    """What all models of an experiment have in common."""

    out: Path
    suite: str  # as the training loads it
    data: Data
    subject: Subject
    hyper: Hyperparameters
    device: torch.device
    track: Track


def run_overlap(
    suite: str,
    data: str,
    out: Path,
    hyper: Hyperparameters | None = None,
    *,
    images: Images | None = None,
    only: Iterable[str] = ("counted",),
    device: str = "auto",
    clean_only: bool = False,
    say: Callable[[str], object] = lambda line: None,
    track: Track = untracked,
) -> None:
    """Train and test every model that is not finished; `hardy.design.results` reads the outcome.

    `data` are the training images and `images` the test images, which may be left out for a data
    set that is known by its name. `clean_only` is what the stand-in for overlap needs. The same
    call resumes.
    """
    refuse_links(str(out), (path.relative_to(out).as_posix() for path in out.rglob("*")))
    hyper = hyper or Hyperparameters()
    where = find_device(Options("training", device=device))
    training = read_data(data, where, track=track)
    base = load(suite)
    if base.kind != "corruptions":
        raise InputError(f"expected a suite of corruptions, got {base.name}; name another")
    chosen = sized(base, training.shape[1:])
    cells = choose_cells(chosen, only)
    names = tuple(dict.fromkeys(cell.name for cell in cells))
    check_names(names)
    if images is None and data not in DATA_SETS:
        raise InputError(
            f"expected images to test on beside the training images {data}, got none; name them "
            "by `images`"
        )
    test = f"{data}:test" if images is None else images
    if chosen is not base and isinstance(test, str | os.PathLike):
        test = open_images(test)  # with ids of their own kind, where the suite's may be another
    subject = open_subject(chosen, images=test, only=names, own_classes=True)
    if subject.classes.width != training.classes:
        raise InputError(
            f"expected test images of the {training.classes:,} classes that models are trained on, "
            f"got {subject.classes.width:,}; name images of the same data set"
        )
    if warning := check_trained_on(training.names, subject.classes.names, "each model", own=True):
        say(warning)
    begin_overlap(out, _described(chosen, training, subject, hyper, where, track))
    # All models take the same, whatever becomes of the user's file.
    kept = keep_beside(out, chosen)
    experiment = _Experiment(out, kept, training, subject, hyper, where, track)
    every = (NONE,) if clean_only else (NONE, *names)
    for number, name in enumerate(every, 1):
        folder = out / MODELS / name
        if (folder / FINISHED).exists():
            (folder / MODEL).unlink(missing_ok=True)  # it may have been killed just before that
            continue
        say(f"model {number} of {len(every)}: trained with {name}")
        accuracy = _run_model(experiment, name)
        say(f"  right on {100 * accuracy:.1f} % of the clean test images")


def sized(suite: Suite, shape: tuple[int, ...]) -> Suite:
    """The suite for training images as they are: without its own preparation and storage where
    that would make other images of them."""
    height, width = shape
    if height != width:
        raise InputError(f"expected square training images, got {sides(height, width)}")
    if RECIPES[suite.recipe].side is None and suite.edition.side == height:
        return suite
    name = f"{suite.name}_at_{height}"
    description = f"None: images of {height} x {height} are taken as they are."
    data = tomllib.loads(text_of(suite)) | {"name": name, "side": height}
    data["recipe"] = {"name": "none@1", "description": description}
    data.pop("storage", None)
    return parse(as_toml(data), name)


def _run_model(experiment: _Experiment, name: str) -> float:
    """Train and test one model; its accuracy on clean images."""
    folder = experiment.out / MODELS / name
    settings = {"corruption": name, "suite": experiment.suite}
    run_training(
        "corrupted",
        experiment.data,
        folder,
        experiment.hyper,
        settings=settings,
        device=experiment.device,
        track=experiment.track,
    )
    model = adapters.load_model(f"hardy:{folder}", device=str(experiment.device), name=name)
    subject = experiment.subject.near((model,))
    evaluation = Evaluation(
        (model,), subject, experiment.out / PREDICTIONS, count_workers(None), own_classes=True
    )

    def watched(done: Iterable[Item], total: int, *_: object) -> Iterable[Item]:
        steps = -(-total // min(subject.chunk_size, len(subject)))
        return experiment.track(done, steps, f"batches tested by the model of {name}")

    try:
        outcome = evaluation.run(watched, {})
    except OSError as error:
        raise HardyError(
            f"the predictions in {evaluation.store} could not be written ({error}); make room, and "
            "the same command goes on"
        ) from error
    if outcome.faults:
        raise HardyError(f"cannot test on all images: {outcome.faults[0]}")
    if name == NONE:
        found = measure_features(folder, subject, experiment.device, experiment.track)
        write_features(experiment.out / FEATURES, found)
    stored = outcome.folders[0]
    accuracy = float((open_run(stored).read([CLEAN], ["rank"])["rank"] == 0).mean())
    write_record(folder / FINISHED, {"predictions": stored.name, "clean_accuracy": accuracy})
    (folder / MODEL).unlink()
    return accuracy


def _test_hash(subject: Subject, track: Track) -> str:
    """The hash of the test images that stored predictions on all of them will have."""
    rows = np.arange(len(subject))
    parts = [rows[at : at + subject.chunk_size] for at in range(0, len(rows), subject.chunk_size)]
    pixels = np.zeros(len(rows), np.uint64)
    with closing(Threads(processors()).run(lambda: subject.read, parts)) as read:
        for piece in track(read, len(parts), "parts of the test images read"):
            if piece.faults:
                raise InputError(f"cannot test on all images: {next(iter(piece.faults.values()))}")
            pixels[piece.rows] = piece.pixels
    order = np.array(sorted(rows.tolist(), key=subject.ids.__getitem__))
    ids = [subject.ids[row] for row in order]
    return hash_images(ids, subject.classes.labels[order], pixels[order])


def _described(
    suite: Suite,
    data: Data,
    subject: Subject,
    hyper: Hyperparameters,
    device: torch.device,
    track: Track,
) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "suite": suite.name,
        "suite_hash": suite.content_hash(),
        "cells": [str(cell) for cell in subject.cells if cell != CLEAN],
        "data": data.described,
        "data_hash": data.sha256,
        "classes": data.classes,
        "test": subject.variants.describe(),
        "test_images": len(subject),
        "test_hash": _test_hash(subject, track),
        "recipe": asdict(hyper),
        "device": device_name(device),
        "versions": versions(("numpy", "torch")),
    }


def measure_features(
    folder: Path, subject: Subject, device: torch.device, track: Track = untracked
) -> Features:
    """The features over all images of a subject; a corruption's shift is its severities' mean."""
    extract = _Extractor(folder, device)
    names = tuple(dict.fromkeys(cell.name for cell in subject.cells if cell != CLEAN))
    cells = [[cell for cell in subject.cells if cell.name == name] for name in names]
    labels = subject.classes.labels
    classes = int(labels.max()) + 1
    sums, products = None, np.zeros((len(names), len(names)))
    starts = range(0, len(subject), subject.chunk_size)
    for start in track(starts, len(starts), "parts of the images"):
        rows = np.arange(start, min(start + subject.chunk_size, len(subject)))
        loaded = subject.load(rows)
        if loaded.chunk is None or loaded.faults:
            raise InputError(f"cannot read all images: {next(iter(loaded.faults.values()))}")
        chunk = loaded.chunk if device.type == "cpu" else loaded.chunk.on(str(device))
        clean = extract(chunk.make(CLEAN))
        shifts = torch.stack(
            [sum(extract(chunk.make(cell)) for cell in some) / len(some) - clean for some in cells]
        )
        flat = shifts.flatten(1)
        products += (flat @ flat.T).double().cpu().numpy()
        if sums is None:
            sums = torch.zeros(
                len(names), classes, shifts.shape[2], dtype=torch.float64, device=device
            )
        which = torch.from_numpy(labels[rows].astype(np.int64)).to(device)
        sums.index_add_(1, which, shifts.double())
    sizes = np.bincount(labels, minlength=classes).astype(np.float64)
    assert sums is not None  # there are images
    means = sums.cpu().numpy() / np.maximum(sizes, 1)[:, None]
    return Features(names, means, sizes, products)


class _Extractor:
    """Images to what the last linear layer of the net is given."""

    def __init__(self, folder: Path, device: torch.device) -> None:
        net, run = trained_net(folder)
        linear = [part for part in net.modules() if isinstance(part, nn.Linear)]
        if not linear:
            raise InputError(
                f"expected a net that ends in a linear layer, got {run['recipe']['net']}"
            )
        linear[-1].register_forward_pre_hook(self._keep)
        figures = run["preprocessing"]
        self._model = Classifier(net, figures["mean"], figures["std"]).to(device).eval()
        self._device = device
        self._kept: list[Tensor] = []

    def _keep(self, part: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        self._kept.append(inputs[0].float())

    def __call__(self, images: Any) -> Tensor:
        """uint8 (N, H, W, 3) to (N, features)."""
        every = torch.as_tensor(images)
        self._kept.clear()
        with torch.inference_mode():
            for some in every.split(BATCH):
                self._model(to_pixels(some.to(self._device).permute(0, 3, 1, 2)))
            return torch.cat(self._kept)
