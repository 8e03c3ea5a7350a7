"""The overlap experiment: one model for each corruption and a clean one, each tested on all.

All models start from the same weights and see the same images in the same order: they differ by
their corruption alone. The clean one also tells how each corruption moves its last hidden layer.
This file imports torch.
"""

import os
import tomllib
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from hardy import models as adapters
from hardy.design.accuracy import check_names
from hardy.design.cut_images import cut_images
from hardy.design.designed_suite import as_toml
from hardy.design.hidden_layer import measure_features
from hardy.design.proxy import write_features
from hardy.design.results import (
    EXPERIMENT,
    FEATURES,
    FINISHED,
    FORMAT,
    MODELS,
    PREDICTIONS,
    begin_overlap,
)
from hardy.documents import read_json
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
from hardy.run.device_places import Sharing
from hardy.run.preflight import check_trained_on
from hardy.run.selection import Images, open_subject
from hardy.run.subject import Subject
from hardy.scores.scored_cells import hash_images
from hardy.store.reader import open_run
from hardy.suites import keep_beside, load, parse, text_of
from hardy.suites.cells import CLEAN, NONE, choose_cells
from hardy.suites.suite import Suite
from hardy.train.crops import ScaleCrop
from hardy.train.hyperparameters import Hyperparameters
from hardy.train.loop import run_training
from hardy.train.record import device_name, wait_until_free
from hardy.train.run_folder import MODEL
from hardy.train.streaming import Stream
from hardy.train.training_data import Streaming, TrainingSet, open_data
from hardy.variants.carried_textures import with_textures


class _Experiment(NamedTuple):
    """What all models of an experiment have in common."""

    out: Path
    suite: str  # as the training loads it
    data: TrainingSet
    subject: Subject
    hyper: Hyperparameters
    device: torch.device
    threads: int  # that corrupt test images
    track: Track


class _ModelsJob(NamedTuple):
    """All that a worker of another process needs to train and test models."""

    out: Path
    suite: str
    data: str
    data_hash: str
    crop: ScaleCrop | None
    subject: Subject
    hyper: Hyperparameters
    device: str
    threads: int


def run_overlap(
    suite: str,
    data: str,
    out: Path,
    hyper: Hyperparameters | None = None,
    *,
    images: Images | None = None,
    only: Iterable[str] = ("counted",),
    crop: ScaleCrop | None = None,
    like: Mapping[str, object] | None = None,
    device: str = "auto",
    sharing: Sharing | None = None,
    clean_only: bool = False,
    say: Callable[[str], object] = lambda line: None,
    track: Track = untracked,
) -> None:
    """Train and test every model that is not finished; `hardy.design.results` reads the outcome.

    `data` are the training images and `images` the test images, which may be left out for a data
    set that is known by its name. With a `crop` the training images are read while nets train, and
    test images are cut to its side. `like` is what the records say of the published training that
    theirs are like. `clean_only` is what the stand-in for overlap needs. Models are
    independent of one another: they can be shared out. The same call resumes.
    """
    refuse_links(str(out), (path.relative_to(out).as_posix() for path in out.rglob("*")))
    hyper = hyper or Hyperparameters()
    where = find_device(Options("training", device=device))
    training = open_data(data, where, Streaming(crop=crop), track=track)
    base = load(suite)
    if base.kind != "corruptions":
        raise InputError(f"expected a suite of corruptions, got {base.name}; name another")
    chosen = sized(base, training.shape[1:], cut=crop is not None)
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
        test = test if crop is None else cut_images(test, crop.side)
    subject = open_subject(chosen, images=test, only=names, own_classes=True)
    if subject.classes.width != training.classes:
        raise InputError(
            f"expected test images of the {training.classes:,} classes that models are trained on, "
            f"got {subject.classes.width:,}; name images of the same data set"
        )
    if warning := check_trained_on(training.names, subject.classes.names, "each model", own=True):
        say(warning)
    described = _described(chosen, training, subject, hyper, where, track)
    begin_overlap(out, described | ({} if like is None else {"like": like}))
    # All models take the same, whatever becomes of the user's file.
    kept = keep_beside(out, chosen)
    every = (NONE,) if clean_only else (NONE, *names)
    if sharing is None:
        threads = count_workers(None)
        experiment = _Experiment(out, kept, training, subject, hyper, where, threads, track)
        for number, name in enumerate(every, 1):
            if not _is_finished(out, name):
                say(f"model {number} of {len(every)}: trained with {name}")
                say(_in_words(_run_model(experiment, name)))
        return
    todo = [name for name in every if not _is_finished(out, name)]
    there = sharing.device or "auto"
    known = training.sha256
    job = _ModelsJob(out, kept, data, known, crop, subject, hyper, there, sharing.threads)
    begin = with_textures(partial(_begin_models, job), subject.cells)
    with closing(sharing.team.run(begin, todo)) as results:
        for name, accuracy in track(results, len(todo), "models"):
            say(f"model trained with {name}:")
            say(_in_words(accuracy))


def _is_finished(out: Path, name: str) -> bool:
    folder = out / MODELS / name
    if not (folder / FINISHED).exists():
        return False
    (folder / MODEL).unlink(missing_ok=True)  # it may have been killed just before that
    return True


def _in_words(accuracy: float) -> str:
    return f"  right on {100 * accuracy:.1f} % of the clean test images"


def _begin_models(job: _ModelsJob) -> Callable[[str], tuple[str, float]]:
    """Read the training images, and give back the function that trains and tests one model."""
    if not (job.out / EXPERIMENT).exists():
        raise InputError(
            f"expected the folder {job.out} on a disk that all workers see, but {EXPERIMENT} is "
            "not there; name a folder on such a disk"
        )
    where = find_device(Options("training", device=job.device))
    data = open_data(job.data, where, Streaming(crop=job.crop), threads=job.threads)
    if data.sha256 != job.data_hash:
        raise InputError(
            f"expected {job.data} to be the same images in every process, got others; name images "
            "on a disk that all workers see"
        )
    experiment = _Experiment(
        job.out, job.suite, data, job.subject, job.hyper, where, job.threads, untracked
    )

    def work(name: str) -> tuple[str, float]:
        wait_until_free(job.out / MODELS / name)
        if not _is_finished(job.out, name):
            return name, _run_model(experiment, name)
        anew = "begin anew in another folder"
        return name, read_json(job.out / MODELS / name / FINISHED, "JSON", anew)["clean_accuracy"]

    return work


def sized(suite: Suite, shape: tuple[int, ...], *, cut: bool = False) -> Suite:
    """The suite for training images as they are: without its own preparation and storage where
    that would make other images of them. Where these were `cut` out of photographs, its own
    preparation to the same side is right."""
    height, width = shape
    if height != width:
        raise InputError(f"expected square training images, got {sides(height, width)}")
    if RECIPES[suite.recipe].side == (height if cut else None) and suite.edition.side == height:
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
        (model,), subject, experiment.out / PREDICTIONS, experiment.threads, own_classes=True
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
    data: TrainingSet,
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
        **({"streamed": data.record()} if isinstance(data, Stream) else {}),
        "classes": data.classes,
        "test": subject.variants.describe(),
        "test_images": len(subject),
        "test_hash": _test_hash(subject, track),
        "recipe": asdict(hyper),
        "device": device_name(device),
        "versions": versions(("numpy", "torch")),
    }
