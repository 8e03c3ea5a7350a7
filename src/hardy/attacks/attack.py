"""`hardy.attack`: how far a model holds up under noise that is learned against it."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError, need
from hardy.evaluation import AnyModel, Evaluation, evaluate
from hardy.metrics import stratified_subset
from hardy.models.model_lists import refuse_lone_list
from hardy.progress import Track, watch
from hardy.run.selection import Images, open_subject
from hardy.run.subject import Rows, Subject
from hardy.scores.scoring import Run
from hardy.store.attack_files import Attacked, write_attack
from hardy.suites.cells import CLEAN

Hashes = npt.NDArray[np.uint64]

# A generator has some thousand weights and never sees an image: more would teach it no more.
_MOST_FITTED = 5000
_LEAST_EPSILON = 1e-3  # a quarter of one level of 255 in one value: less is lost in rounding
LEAST = 2  # images to measure: fewer have no interval


def attack(
    model: AnyModel | Sequence[AnyModel],
    *,
    suite: str,
    noise: str = "ant",
    attack_images: Images | None = None,
    epsilon: float | None = None,
    steps: int | None = None,
    seed: int = 0,
    faults: list[str] | None = None,
    announce: Callable[[Evaluation], None] = lambda evaluation: None,
    warn: Callable[[str], None] | None = None,
    track: Track = watch,
    **options: Any,
) -> Attacked | list[Attacked]:
    """Learn noise against a torch model, then measure the model under it; a list for a list.

    A new generator is fitted by gradients, on `attack_images` or else on one half of the images,
    classes in proportion; the other half, or all, are measured. `noise` is learned as by
    the training method of that name, such as "ant3x3"; `epsilon` is its L2 norm, 135 for images of
    224 px if left out, else the same change per value; `steps` 1,001. `faults` collects
    the images that cannot be used. Other options are those of `hardy.evaluate`, which stores the
    predictions of the clean images first: the result lies in that run's folder, as JSON.

    ```python
    import hardy
    import numpy as np
    import torch
    from hardy.models import Preprocessing

    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 32 * 32, 10))
    images = np.random.default_rng(0).integers(0, 256, (40, 32, 32, 3), np.uint8)
    right = net(torch.from_numpy(images).permute(0, 3, 1, 2) / 127.5 - 1).argmax(1)
    found = hardy.attack(
        net,
        name="linear",
        preprocessing=Preprocessing((0.5,) * 3, (0.5,) * 3),
        suite="cifar10_c",
        images=images,
        labels=right.numpy(),
        steps=5,
        store="runs",
    )
    print(found.clean.value, found.adversarial.value, found.difference)
    ```
    """
    for option in {"only", "severities", "dry_run", "until", "at_most"} & set(options):
        raise InputError(
            f"expected an attack without `{option}`, got both; the noise takes the suite's place, "
            "and what chooses among its corruptions would do nothing"
        )
    need("torch", "torch", "an attack")
    from hardy.attacks.measurement import check_kind, run_attack

    several = isinstance(model, list | tuple)
    models: Any = model if several else [model]
    if not several:
        refuse_lone_list(model)
    check_kind(noise)  # known before anything is computed
    if steps is not None and steps < 1:
        raise InputError(f"expected at least 1 step to fit the noise in, got {steps}")
    known: list[tuple[Evaluation, Subject | None]] = []

    def begin(evaluation: Evaluation) -> None:
        _check_attackable(evaluation)
        _check_epsilon(epsilon, evaluation.subject)
        others = None if attack_images is None else _open_others(evaluation, attack_images)
        doubts = evaluation.check_classes(others) if others else {}
        for warning in (text for some in doubts.values() for text in some):
            (warn or warnings.warn)(warning)
        known.append((evaluation, others))
        announce(evaluation)

    runs = evaluate(
        list(models),
        suite=suite,
        only=CLEAN.name,
        seed=seed,
        announce=begin,
        warn=warn,
        track=track,
        **options,
    )
    if faults is not None:
        faults += runs[0].faults  # the images are the same for all
    ((evaluation, others),) = known
    made: list[Attacked] = []
    different = iter(evaluation.models)  # in the order in which their runs come first
    measured: dict[Path, Attacked] = {}
    for run in runs:
        if run.folder in measured:
            made.append(replace(measured[run.folder], model=run.title))
            continue
        attacked = run_attack(
            next(different),
            _split(evaluation.subject, *_readable(evaluation.subject, run), others),
            name=run.model,
            noise=noise,
            epsilon=epsilon,
            steps=steps,
            seed=seed,
            workers=evaluation.workers,
            track=track,
        )
        write_attack(run.folder, attacked)
        measured[run.folder] = attacked
        made.append(replace(attacked, model=run.title))
    return made if several else made[0]


class AttackImages:
    """Some images of a subject, by row, and their labels; all of one `shape`, if that is known."""

    def __init__(self, subject: Subject, rows: Rows, shape: tuple[int, ...] | None = None) -> None:
        self.subject, self.rows, self.shape = subject, rows, shape
        self.labels: npt.NDArray[np.int64] = subject.classes.labels[rows].astype(np.int64)

    def __len__(self) -> int:
        return len(self.rows)

    def images(self, places: slice) -> npt.NDArray[np.uint8]:
        return np.concatenate([self._image(row) for row in self.rows[places]])

    def _image(self, row: int) -> npt.NDArray[np.uint8]:
        found = self.subject.clean_images(np.array([row]))
        if found is None:
            raise InputError(
                "expected clean images to add noise to, got none; name them by `images`"
            )
        if found.shape[1:] != (self.shape or found.shape[1:]):
            raise InputError(
                f"expected images to fit the noise on of the shape of those to measure, "
                f'{self.shape}, got {found.shape[1:]} of "{self.subject.ids[row]}"; resize them'
            )
        return found

    def choose(self, most: int) -> Rows:
        """The places of at most so many images, classes in proportion."""
        ids = [self.subject.ids[row] for row in self.rows]
        return stratified_subset(self.labels, ids, size=min(most, len(self)))


class FitAndMeasure(NamedTuple):
    """The images that the noise is fitted on, and those that it is measured on."""

    fitted: AttackImages
    measured: AttackImages
    hashes: Hashes  # of the pixels of what is measured
    how: str  # what is fitted on, in words


def _check_attackable(evaluation: Evaluation) -> None:
    from hardy.attacks.measurement import check_differentiable

    for model in evaluation.models:
        check_differentiable(model)
    if (evaluation.subject.classes.labels < 0).any():
        raise InputError("expected labels for all images, which the noise is learned against")


def _check_epsilon(epsilon: float | None, subject: Subject) -> None:
    if epsilon is None:
        return
    side = subject.suite.edition.side
    most = sqrt(3 * side**2)
    if epsilon > most:
        raise InputError(
            f"expected epsilon of at most {most:.4g}, the distance from black to white at {side} "
            f"px, got {epsilon:g}, which no noise reaches"
        )
    if not epsilon >= _LEAST_EPSILON:  # also no number
        raise InputError(
            f"expected epsilon from {_LEAST_EPSILON:g} to {most:.4g} at {side} px, got {epsilon:g}"
        )


def _open_others(evaluation: Evaluation, images: Images) -> Subject:
    """The images to fit on; refused if they are not of the classes of those to measure."""
    subject = evaluation.subject
    own = evaluation.own_classes
    others = open_subject(subject.suite, images=images, only=[CLEAN.name], own_classes=own)
    theirs, ours = others.classes, subject.classes
    if (theirs.labels < 0).any():
        raise InputError("expected labels for the images to fit on, got some without")
    if theirs.width > ours.width or (theirs.names and ours.names and theirs.names != ours.names):
        raise InputError(
            f"expected images to fit the noise on of the {ours.width:,} classes of those to "
            f"measure, got {theirs.width:,}{'' if theirs.width != ours.width else ' others'}"
        )
    return others


def _readable(subject: Subject, run: Run) -> tuple[Rows, Hashes]:
    """The rows of the images that the run has, and the hashes of their pixels."""
    whole = run.stored.complete([CLEAN])
    there = {
        id: number
        for id, number, good in zip(run.stored.ids, run.stored.pixels, whole, strict=True)
        if good
    }
    rows = [row for row, id in enumerate(subject.ids) if id in there]
    hashes = [there[subject.ids[row]] for row in rows]
    return np.array(rows, np.int64), np.array(hashes, np.uint64)


def _split(subject: Subject, rows: Rows, hashes: Hashes, others: Subject | None) -> FitAndMeasure:
    everything = AttackImages(subject, rows)
    if others is None:
        if len(rows) < 2 * LEAST:
            raise InputError(f"expected at least {2 * LEAST} images to attack, got {len(rows)}")
        half = everything.choose(len(rows) // 2)
        rest = np.delete(np.arange(len(rows)), half)
        half = half[~np.isin(hashes[half], hashes[rest])]  # some sets have an image twice
        if not len(half):
            raise InputError("expected images that differ, got each of them twice or more often")
        fitted, everything = AttackImages(subject, rows[half]), AttackImages(subject, rows[rest])
        hashes, how = hashes[rest], "other images of the same set"
    else:
        fitted, how = AttackImages(others, np.arange(len(others))), "images named for it"
    if len(everything) < LEAST:
        raise InputError(f"expected at least {LEAST} images to measure, got {len(everything)}")
    shape = everything.images(slice(1)).shape[1:]
    few = AttackImages(fitted.subject, fitted.rows[fitted.choose(_MOST_FITTED)], shape)
    return FitAndMeasure(few, everything, hashes, how)
