"""One number per image, cell and metric: of a stored run, and of the model it is divided by."""

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from hardy.errors import InputError
from hardy.metrics import error
from hardy.metrics.classification import Floats
from hardy.metrics.stability import flips, top5_distances
from hardy.scores.columns import AnyMetric, Measured, ReferenceNumbers
from hardy.scores.scored_cells import Places, ScoredCells, images_hash
from hardy.store.reader import READABLE, StoredRun
from hardy.suites.cells import Cell
from hardy.suites.suite import Suite

AT_ONCE = 1 << 28  # bytes of frames that are read at a time


def measure_images(
    run: StoredRun, suite: Suite, parts: Sequence[ScoredCells], metrics: Iterable[AnyMetric]
) -> list[dict[str, Measured]]:
    """The numbers of each part, by metric; a formula needs those of the metric it is made of."""
    every = [one for metric in metrics for one in (metric.base, metric.base.beneath) if one]
    bases = list({metric.name: metric for metric in every}.values())
    columns = list(dict.fromkeys(name for metric in bases for name in metric.needs))
    if suite.shift is not None:
        return [_shifted(run, part, bases, columns) for part in parts]
    if suite.kind == "corruptions":
        return [_corruptions(run, part, bases, columns) for part in parts]
    return _sequences(run, suite, parts, bases, columns)


def _corruptions(
    run: StoredRun, part: ScoredCells, metrics: Sequence[AnyMetric], columns: Sequence[str]
) -> dict[str, Measured]:
    kept = run.read(part.cells, columns, part.images)
    first = 1 if part.has_clean else 0
    shape = (len(part.images), len(part.names), len(part.levels))
    found = {}
    for metric in metrics:
        values = metric(*(kept[name] for name in metric.needs))
        cells = values[:, first:].reshape(shape)
        found[metric.name] = Measured(values[:, 0] if part.has_clean else None, cells)
    return found


def _shifted(
    run: StoredRun, part: ScoredCells, metrics: Sequence[AnyMetric], columns: Sequence[str]
) -> dict[str, Measured]:
    """The one cell; where it has no name, its images are clean."""
    kept = run.read(part.cells, columns, part.images)
    found = {}
    for metric in metrics:
        values = metric(*(kept[name] for name in metric.needs))
        no_cells = np.empty((len(values), 0, 0), values.dtype)
        cells = values.reshape(len(values), len(part.names), -1) if part.names else no_cells
        found[metric.name] = Measured(None if part.names else values[:, 0], cells)
    return found


def _sequences(
    run: StoredRun,
    suite: Suite,
    parts: Sequence[ScoredCells],
    metrics: Sequence[AnyMetric],
    columns: Sequence[str],
) -> list[dict[str, Measured]]:
    """Each cell is read once, whatever difficulties it serves."""
    wanted: dict[Cell, list[int]] = {}
    for part in parts:
        for cell in part.cells:
            wanted.setdefault(cell, []).extend(part.levels)
    values: dict[tuple[str, str, int], Floats] = {}
    for some, images in _batches(run, wanted, columns):
        kept = run.read(some, columns, images)
        for place, cell in enumerate(some):
            frames = {name: kept[name][:, place] for name in columns}
            noise = suite.edition.steps(cell.name).is_noise
            for difficulty in wanted[cell]:
                how = {"noise": noise, "difficulty": difficulty}
                for metric in metrics:
                    numbers = np.full(len(run.ids), np.nan)
                    numbers[images] = metric(*(frames[name] for name in metric.needs), **how)
                    values[metric.name, cell.name, difficulty] = numbers

    def measured(metric: str, part: ScoredCells) -> Measured:
        (difficulty,) = part.levels
        columns = [values[metric, name, difficulty][part.images] for name in part.names]
        return Measured(None, np.stack(columns, axis=1)[..., None])

    return [{metric.name: measured(metric.name, part) for metric in metrics} for part in parts]


def _batches(
    run: StoredRun, cells: Iterable[Cell], columns: Iterable[str]
) -> Iterator[tuple[list[Cell], Places]]:
    """Cells that the same images have, as many as are read at a time."""
    kinds = [READABLE[name] for name in columns]
    frame = sum(np.dtype(kind).itemsize * len(stored) for kind, stored in kinds)
    alike: dict[tuple[int | None, bytes], list[Cell]] = {}
    for cell in cells:
        alike.setdefault((run.frames(cell), run.complete([cell]).tobytes()), []).append(cell)
    for (frames, _), some in alike.items():
        images = np.flatnonzero(run.complete(some[:1]))
        step = max(1, AT_ONCE // max(1, len(images) * (frames or 1) * frame))
        for start in range(0, len(some), step):
            yield some[start : start + step], images


def reference_for(
    run: StoredRun,
    suite: Suite,
    part: ScoredCells,
    reference: StoredRun | str | None,
    metrics: Sequence[AnyMetric],
) -> tuple[ReferenceNumbers | None, list[str]]:
    """The suite's own model ("suite"), or one that was run on the same cells of the same images;
    and a note where there is one that cannot be used."""
    published = _published(suite) if isinstance(reference, str) else None
    name = reference.model if isinstance(reference, StoredRun) else published and published.name
    if name is None or not part.names:
        return None, []
    if suite.kind == "perturbations" and part.levels != (1,):
        return None, []  # harder sequences, which no reference was measured on
    if suite.kind == "corruptions" and part.levels != suite.edition.severities(part.names[0]):
        return None, [
            f"severity {', '.join(map(str, part.levels))} only: no scores against {name}, whose "
            "errors are means over all five"
        ]
    if not isinstance(reference, StoredRun):
        return published, []
    ratios = [metric for metric in metrics if metric.is_ratio]
    (theirs,) = measure_images(reference, suite, [_same_cells(run, part, reference)], ratios)
    # Names repeat, with other weights or settings; the start of the identity tells them apart.
    name = f"{reference.model}@{reference.identity.hash()[:8]}"
    return ReferenceNumbers(name, measured=theirs, itself=reference.folder == run.folder), []


def _published(suite: Suite) -> ReferenceNumbers | None:
    """What the suite says of its reference, by the metric that it is a number of."""
    if suite.reference is not None:
        one = suite.reference
        return ReferenceNumbers(one.name, {error.name: (one.clean_error, one.errors)})
    if suite.flips is not None:
        moves = {
            flips.name: (math.nan, suite.flips.flips),
            top5_distances.name: (math.nan, suite.flips.top5_distance),
        }
        return ReferenceNumbers(suite.flips.name, moves)
    return None


def _same_cells(run: StoredRun, part: ScoredCells, reference: StoredRun) -> ScoredCells:
    """The reference's part on the same images; refused where it was made differently."""
    name = f"the reference {reference.model}"
    labels = {
        "suite": "the suite",
        "suite_hash": "suite contents",
        "recipe": "the preprocessing recipe",
        "made": "a way of making the images",
        "seed": "the seed",
    }
    for key, label in labels.items():
        ours, theirs = run.details[key], reference.details[key]
        if ours != theirs:
            raise InputError(
                f"expected {label} {ours} of {name} too, got {theirs}; run it like {run.model}"
            )
    absent = [str(cell) for cell in part.cells if cell not in reference.cells]
    if absent:
        raise InputError(
            f"expected {name} on the same cells, got none of {', '.join(absent[:3])}"
            f"{', …' if len(absent) > 3 else ''}; run it on them too"
        )
    there = {id: place for place, id in enumerate(reference.ids)}
    has = reference.complete(part.cells)
    found = [there.get(run.ids[place], -1) for place in part.images]
    good = sum(place >= 0 and bool(has[place]) for place in found)
    if good < len(found):
        raise InputError(
            f"expected {name} on the same {len(found):,} images, got {good:,} of them; run it on "
            "the others too"
        )
    same = part._replace(images=np.array(found, np.int64))
    if not np.array_equal(reference.labels[same.images], run.labels[part.images]):
        raise InputError(
            f"expected the same labels for {name}, got others; run both models on the same images"
        )
    if images_hash(reference, same.images) != images_hash(run, part.images):
        raise InputError(
            f"expected the same images for {name}, got other pixels; run both models on the same"
        )
    return same
