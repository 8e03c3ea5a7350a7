"""`hardy.attack`: how far a model holds up under noise that is learned against it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.errors import HardyError, InputError
from hardy.evaluation import AnyModel, Evaluation, Run, evaluate
from hardy.metrics import stratified_subset
from hardy.models.model import need
from hardy.predictions.attacked import Attacked, write_attack
from hardy.predictions.opening import Images, open_subject
from hardy.predictions.subject import Rows, Subject
from hardy.suites.cells import CLEAN

Hashes = npt.NDArray[np.uint64]

# A generator has some thousand weights and never sees an image: more would teach it no more.
MOST_FITTED = 5000
LEAST = 2  # images to measure: fewer have no interval


def attack(
    model: AnyModel,
    *,
    suite: str,
    noise: str = "ant",
    attack_images: Images | None = None,
    epsilon: float | None = None,
    steps: int | None = None,
    seed: int = 0,
    faults: list[str] | None = None,
    announce: Callable[[Evaluation], None] = lambda evaluation: None,
    follow: Callable[[Iterable[int], int], Iterable[int]] = lambda steps, total: steps,
    **options: Any,
) -> Attacked:
    """Learn noise against a torch model, then measure the model under it.

    A new generator is fitted by gradients, on `attack_images` or else on one half of the images,
    classes in proportion; the other half, or all, are measured. `noise` is "ant" or "ant3x3",
    `epsilon` the L2 norm of the noise, 135 for images of 224 px if left out, else the same change
    per value; `steps` 1,001. `faults` collects the images that cannot be used. Other options are
    those of `evaluate`, which stores the predictions of the clean images first: the result lies in
    that run's folder, as JSON.
    """
    need("torch", "torch", "an attack")
    from hardy.attacks.noise import check_kind
    from hardy.attacks.work import run_attack

    check_kind(noise)  # known before anything is computed
    if isinstance(model, list | tuple):
        raise InputError("expected one model to attack, got several; attack them one by one")
    if epsilon is not None and not 0 < epsilon < float("inf"):
        raise InputError(f"expected epsilon above 0, got {epsilon}")
    known: list[Evaluation] = []

    def begin(evaluation: Evaluation) -> None:
        _check_attackable(evaluation)
        known.append(evaluation)
        announce(evaluation)

    run = evaluate(model, suite=suite, only=CLEAN.name, seed=seed, announce=begin, **options)
    if not isinstance(run, Run):
        raise HardyError(f"expected one run of one model, got {len(run)}")
    if faults is not None:
        faults += run.faults
    (evaluation,) = known
    attacked = run_attack(
        evaluation.models[0],
        _split(evaluation, *_readable(evaluation.subject, run), attack_images),
        name=run.model,
        noise=noise,
        epsilon=epsilon,
        steps=steps,
        seed=seed,
        workers=evaluation.workers,
        follow=follow,
    )
    write_attack(run.folder, attacked)
    return attacked


class Part:
    """Some rows of a subject, and their labels."""

    def __init__(self, subject: Subject, rows: Rows) -> None:
        self.subject, self.rows = subject, rows
        self.labels: npt.NDArray[np.int64] = subject.classes.labels[rows].astype(np.int64)

    def __len__(self) -> int:
        return len(self.rows)

    def images(self, places: slice) -> npt.NDArray[np.uint8]:
        found = self.subject.clean_images(self.rows[places])
        if found is None:
            raise InputError("expected clean images to add noise to, got none; name them by images")
        return found

    def choose(self, most: int) -> Rows:
        """Places of at most so many, classes in proportion."""
        ids = [self.subject.ids[row] for row in self.rows]
        return stratified_subset(self.labels, ids, size=min(most, len(self)))


class Chosen(NamedTuple):
    fitted: Part
    measured: Part
    hashes: Hashes  # of the pixels of what is measured
    how: str  # what is fitted on, in words


def _check_attackable(evaluation: Evaluation) -> None:
    from hardy.attacks.work import check_differentiable

    check_differentiable(evaluation.models[0])
    if (evaluation.subject.classes.labels < 0).any():
        raise InputError("expected labels for all images, which the noise is learned against")


def _readable(subject: Subject, run: Run) -> tuple[Rows, Hashes]:
    """Rows of the images that the run has, and hashes of their pixels."""
    whole = run.stored.complete([CLEAN])
    there = {
        id: number
        for id, number, good in zip(run.stored.ids, run.stored.pixels, whole, strict=True)
        if good
    }
    rows = [row for row, id in enumerate(subject.ids) if id in there]
    hashes = [there[subject.ids[row]] for row in rows]
    return np.array(rows, np.int64), np.array(hashes, np.uint64)


def _split(
    evaluation: Evaluation, rows: Rows, hashes: Hashes, attack_images: Images | None
) -> Chosen:
    subject = evaluation.subject
    everything = Part(subject, rows)
    if attack_images is None:
        if len(rows) < 2 * LEAST:
            raise InputError(f"expected at least {2 * LEAST} images to attack, got {len(rows)}")
        half = everything.choose(len(rows) // 2)
        others = np.delete(np.arange(len(rows)), half)
        half = half[~np.isin(hashes[half], hashes[others])]  # some sets have an image twice
        if not len(half):
            raise InputError("expected images that differ, got each of them twice or more often")
        fitted, everything = Part(subject, rows[half]), Part(subject, rows[others])
        hashes, how = hashes[others], "other images of the same set"
    else:
        own = evaluation.own_classes
        other = open_subject(subject.suite, images=attack_images, only=["clean"], own_classes=own)
        fitted = Part(other, np.arange(len(other)))
        if (fitted.labels < 0).any():
            raise InputError("expected labels for the images to fit on, got some without")
        how = "images named for it"
    if len(everything) < LEAST:
        raise InputError(f"expected at least {LEAST} images to measure, got {len(everything)}")
    few = Part(fitted.subject, fitted.rows[fitted.choose(MOST_FITTED)])
    return Chosen(few, everything, hashes, how)
