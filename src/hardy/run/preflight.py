"""Before a long run: is the model fed what it was trained on, does it answer, and as before?

A wrong mean or std raises no error. It costs the model some points everywhere, 7 to 11 as a rule,
and the table of results still looks plausible. So a few hundred clean images are predicted first.

Identities are hashes, but not of everything: a function may read other weights, files may have been
changed on the disk. So a block of what is stored is predicted again, and must come out the same.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.engine.door import UInt8
from hardy.engine.ops import is_tensor
from hardy.errors import InputError
from hardy.metrics.statistics import mcnemar
from hardy.models.defences import undefended
from hardy.models.model import AS_TRAINED, Logits, Model, Preprocessing, Triple, facts_of
from hardy.models.normalisations import NORMALISATIONS, Normalisation
from hardy.run.batching import answers, check_finite
from hardy.run.chance import above_chance, binomial_tail, share_at_random
from hardy.run.failures import Failures
from hardy.run.marking import mark
from hardy.run.reduce import reduce
from hardy.run.subject import Loaded, Rows, Subject
from hardy.store.parts import Columns
from hardy.store.reader import open_run
from hardy.store.writer import RunWriter
from hardy.suites.cells import Cell
from hardy.variants import Variants

# A warning needs both: a difference that matters, and one that chance does not make.
POINTS = 0.03
CHANCE = 0.001
_TIED = 0.01

# What networks are trained with.
STANDARD = {
    "ImageNet's": NORMALISATIONS["torch"],
    "Inception's (−1..1)": NORMALISATIONS["tf"],
    "plain 0..1": NORMALISATIONS["unit"],
    "plain 0..255": NORMALISATIONS["none"],
    "Caffe's (blue first)": NORMALISATIONS["caffe"],
    "CIFAR-10's": Normalisation((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)),
    "CLIP's": Normalisation(
        (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
    ),
}
# A prediction differs when the logarithm of its probability moved by more than this, relative to
# 1 + its size; another device or batch does that to few. More than this share means other weights.
_APART = {"float32": 0.01}
_APART_ELSE = 0.05
_DIFFERENT = 0.02
ROUNDED = 0.01  # what half precision makes of a sum of probabilities
# Images whose pixels are compared with those that were stored: all would have to be read.
LOOKED_AT = 16


class Checked(NamedTuple):
    accuracy: float | None  # clean top-1; None without labels
    images: int
    warnings: tuple[str, ...]


def check(
    model: Model,
    images: UInt8,
    labels: npt.ArrayLike,
    *,
    all_classes: bool = True,
    width: int | None = None,
) -> Checked:
    """Clean accuracy, and warnings about it. Images with label −1 are left out. An accuracy that is
    known for all classes says nothing of images of some of them. `width` is how many classes the
    model must tell apart."""
    truth = np.asarray(labels)
    if truth.shape != (len(images),):
        raise InputError(f"expected {len(images)} labels, one per image, got {truth.shape}")
    known = truth >= 0
    images, truth = images[known], truth[known]
    if not len(images):
        return Checked(None, 0, ())
    plain = undefended(model)
    if plain is not model:  # how it takes its pixels is asked of itself
        hits = model.logits(images).argmax(axis=1) == truth
        warnings = check(plain, images, truth, all_classes=all_classes, width=width).warnings
        return Checked(float(hits.mean()), len(images), warnings)
    logits = model.logits(images)
    guessed = np.asarray(logits.argmax(axis=1))
    wrong = guessed != truth
    accuracy = 1 - float(wrong.mean())
    unfit = width not in (None, logits.shape[1])
    if unfit or not np.isfinite(logits).all():  # which the run refuses
        return Checked(accuracy, len(images), ())
    doubts: list[str] = []
    stated = facts_of(model).known_accuracy if all_classes else None
    if stated is not None:
        doubts += _against_known(model, len(images), int((~wrong).sum()), stated)
    # A model that reaches its published figure is fed what it expects; trying more costs time.
    if stated is None or accuracy < stated - POINTS:
        doubts += _against_standard(model, images, truth, wrong)
    if not doubts:
        doubts = _by_chance(model, guessed, truth, logits.shape[1])
    return Checked(accuracy, len(images), (*_probabilities(model, logits), *doubts))


def _probabilities(model: Model, logits: Logits) -> list[str]:
    """Warn of probabilities: errors stay the same, but their softmax is nearly flat."""
    if logits.shape[1] < 2 or logits.min() < 0 or np.abs(logits.sum(axis=1) - 1).max() > ROUNDED:
        return []
    return [
        f"{model.name}: its outputs are probabilities, not logits, so its calibration scores would "
        "be wrong; leave out its last softmax, or take the logarithm"
    ]


def _right(model: Model, hits: int, number: int) -> str:
    return f"{model.name}: {100 * hits / number:.1f} % of {number} clean images are right"


def _by_chance(
    model: Model, guessed: npt.NDArray[np.int64], truth: npt.NDArray[np.int64], classes: int
) -> list[str]:
    """Warn of accuracy no better than chance, where weights may have been forgotten, and of one
    worse than chance, which only a net that knows the images can reach."""
    hits, number = int((guessed == truth).sum()), len(truth)
    right = f"{_right(model, hits, number)},"
    if model.preprocessing is None:  # a function, of which nothing is known, may be a stand-in
        return []
    agreed = share_at_random(guessed, truth)
    if hits < number * agreed and binomial_tail(hits, number, agreed) < CHANCE:
        return [
            f"{right} fewer than by chance among {classes} classes: its classes seem to be in "
            "another order than the images'; give these a label map (`labels`)"
        ]
    if above_chance(hits, number, 1 / classes) or classes < 2:
        return []
    doubt = "is it trained"
    if facts_of(model).trained_on is not None:  # `hardy train` made it, weights and all
        doubt = "was it trained for long enough"
    elif facts_of(model).takes_tensors:  # the file of any other kind holds its weights
        doubt = "are its weights loaded (`checkpoint`)"
    return [
        f"{right} no better than chance among {classes} classes; {doubt}, and are its classes "
        "numbered as the images' are?"
    ]


def _against_known(model: Model, number: int, hits: int, stated: float) -> list[str]:
    difference = hits / number - stated
    if abs(difference) <= POINTS or binomial_tail(hits, number, stated) >= CHANCE:
        return []
    todo = (
        "are the images decoded and cropped as usual, and numbered as the model's classes?"
        if difference < 0
        else "are these images that it was trained on?"
    )
    return [
        f"{_right(model, hits, number)}, where its library states {100 * stated:.1f} % for these "
        f"weights on ImageNet's validation images; {todo}"
    ]


def _against_standard(
    model: Model, images: UInt8, labels: npt.NDArray[np.int64], wrong: npt.NDArray[np.bool_]
) -> list[str]:
    used = model.preprocessing
    if used is None or used.source == AS_TRAINED:
        return []
    number = len(images)
    better = []
    for title, standard in STANDARD.items():
        other = replace(used, **standard._asdict())
        if other == used:
            continue
        logits = model.logits(images, other)
        guessed = np.asarray(logits.argmax(axis=1))
        wrong_then = guessed != labels
        chance = max(1 / logits.shape[1], share_at_random(guessed, labels))
        if not above_chance(int((~wrong_then).sum()), number, chance):
            continue
        test = mcnemar(wrong, wrong_then)
        if (wrong.sum() - wrong_then.sum()) / number >= POINTS and test.p_value < CHANCE:
            better.append((int(wrong_then.sum()), title, test))
    if not better:
        return []
    fewest, title, test = min(better, key=lambda one: one[0])
    as_good = [
        name for count, name, _ in better if count - fewest < _TIED * number and name != title
    ]
    also = f" (and about as many with {', '.join(as_good)})" if as_good else ""
    return [
        f"{_right(model, number - int(wrong.sum()), number)} with {used}, but "
        f"{100 * (number - fewest) / number:.1f} % with {title} normalisation{also} "
        f"({test.only_first} only then, {test.only_second} only now, p = {test.p_value:.1g}); if "
        f"the model was trained so, override its preprocessing: {_override(STANDARD[title], used)}"
    ]


def _override(wanted: Normalisation, used: Preprocessing) -> str:
    place = " in place of the normalisation given" if "given" in used.source else ""
    for name, normalisation in NORMALISATIONS.items():
        if normalisation == wanted:
            return f'`preprocessing="{name}"`{place}'
    return f"`mean={_spelled(wanted.mean)}` `std={_spelled(wanted.std)}`{place}"


def _spelled(figures: Triple) -> str:
    return ",".join(f"{figure:.6g}" for figure in figures)


def rehearse(models: Sequence[Model], subject: Subject, failures: Failures) -> list[list[str]]:
    """Show every model one image, before anything is stored; warnings about its answer."""
    loaded, told = _first(subject), []
    for model in models:
        warnings: list[str] = []
        with failures.of(model.name):
            logits = _predict(model, subject, loaded, subject.cells[0])
            plain = undefended(model)
            if plain is not model:
                logits = _predict(plain, subject, loaded, subject.cells[0])
            warnings = _probabilities(plain, logits)
        told.append(warnings)
    return told


def _first(subject: Subject) -> Loaded:
    fault = ""
    for row in range(len(subject)):
        loaded = subject.load(np.array([row], np.int64))
        if loaded.chunk is not None:
            return loaded
        fault = fault or loaded.faults[row]
    raise InputError(f"none of the {len(subject):,} images can be used: {fault}")


def check_unchanged(model: Model, writer: RunWriter, subject: Subject) -> None:
    """Predict some of what is stored again, and refuse a model that answers otherwise."""
    chosen = _stored_block(writer, subject)
    if not chosen:
        return
    spread = np.unique(np.linspace(0, len(subject) - 1, LOOKED_AT).astype(np.int64))
    some = subject.load(spread)
    writer.check_pixels(some.rows, some.pixels)
    run = open_run(writer.folder)
    place = {id: number for number, id in enumerate(run.ids)}
    for rows, cell in chosen:
        loaded = subject.load(rows)
        if loaded.chunk is not None:
            places = np.array([place[subject.ids[row]] for row in loaded.rows])
            before = run.read([cell], ["confidence", "log_prob"], places)
            _compare(model, subject, loaded, cell, before, writer)


def _compare(
    model: Model, subject: Subject, loaded: Loaded, cell: Cell, before: Columns, writer: RunWriter
) -> None:
    logits = _predict(model, subject, loaded, cell)
    logits, labels = mark(logits, subject, loaded.rows, subject.frames(cell))
    now = reduce(logits, labels)
    # Of the label; of the top class where there is none.
    stored = np.where(labels < 0, np.log(before["confidence"].ravel()), before["log_prob"].ravel())
    again = np.where(labels < 0, np.log(now["top5_prob"][:, 0]), now["log_prob"])
    apart = np.abs(stored - again) / (1 + np.abs(stored))
    different = np.mean(apart > _APART.get(model.precision, _APART_ELSE))
    if different > _DIFFERENT:
        raise InputError(
            f"{model.name}: {len(labels)} predictions of {cell} that are stored in "
            f"{writer.folder} were made again, and {100 * different:.0f} % of them differ; the "
            "weights or the images have changed: name another store, or give the model another "
            "name if it is a function"
        )


def _stored_block(writer: RunWriter, subject: Subject) -> list[tuple[Rows, Cell]]:
    """The first block of which something is stored: its stored rows under the first and last cell.

    The last one is the hardest: where a model is certain, other weights do not show.
    """
    have = writer.have(subject.cells)
    known = np.flatnonzero(have.any(axis=1))
    if not len(known):
        return []
    start = known[0] // subject.chunk_size * subject.chunk_size
    block = have[start : start + subject.chunk_size]
    columns = np.flatnonzero(block.any(axis=0))
    return [
        (start + np.flatnonzero(block[:, column]), subject.cells[column])
        for column in sorted({int(columns[0]), int(columns[-1])})
    ]


def _predict(model: Model, subject: Subject, loaded: Loaded, cell: Cell) -> npt.NDArray[Any]:
    assert loaded.chunk is not None
    chunk = loaded.chunk if subject.device is None else loaded.chunk.on(subject.device)
    logits = answers(model, chunk.make(cell), loaded.rows, subject)
    if is_tensor(logits):
        logits = logits.cpu().numpy()
    frames = subject.frames(cell) or 1
    ids = [subject.ids[row] for row in loaded.rows for _ in range(frames)]
    finite = np.asarray(np.isfinite(logits).all(axis=1))
    check_finite(finite, model=model.name, ids=ids)
    return np.asarray(logits)


def check_trained_on(
    trained: tuple[str, ...] | None, names: tuple[str, ...] | None, model: str, *, own: bool
) -> str | None:
    """Refuse images whose classes have other numbers than the model was trained with, as far as
    both have names; return a warning where only the names differ.

    A net knows classes by their number alone, and a set that lacks one class numbers the rest anew.
    """
    if trained is None or names is None or trained == names:
        return None
    number = {name: place for place, name in enumerate(trained)}
    moved = [(name, place) for place, name in enumerate(names) if number.get(name, place) != place]
    if not moved and len(names) == len(trained):
        here, there = next((a, b) for a, b in zip(names, trained, strict=True) if a != b)
        return (
            f'{model} was trained on classes of other names, "{there}" where these images have '
            f'"{here}": if they are not the same classes in the same order, its scores mean nothing'
        )
    what = f"on {len(trained):,} classes, and these images have {len(names):,}"
    if moved:
        name, place = moved[0]
        what = f'with "{name}" as number {number[name]}, which is {place} here'
    todo = "bring images of all these classes and no others, or labels that are numbers"
    raise InputError(
        f"expected images of the classes that {model} was trained on, but it was trained "
        f"{what}; {todo if own else 'if these are its own classes, say `own_classes=True`'}"
    )


def check_not_learnt(trained_on: str | None, variants: Variants, model: str) -> str | None:
    """A warning where images come from where the model was trained, as far as both say so."""
    described = variants.describe()
    if trained_on is None or not any(f"{trained_on}{end}" in described for end in (",", " taken")):
        return None
    return (
        f"{model} was trained on these images ({trained_on}): its errors here are smaller than on "
        "images that it has not seen; show it others"
    )
