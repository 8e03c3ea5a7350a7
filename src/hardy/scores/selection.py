"""Which images and cells of a stored run a score is made of, and what that leaves out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError
from hardy.metrics import Resampling
from hardy.scores.score import Circumstances
from hardy.store.reader import StoredRun
from hardy.suites import SEVERITIES, load
from hardy.suites.cells import Cell
from hardy.suites.suite import Suite
from hardy.suites.suite_files import copy_name

Places = npt.NDArray[np.int64]  # of images in a run, sorted by id: the order of every score's rows
Id = int | str
# Images beyond one of each class, to resample within classes. Fewer tell too little of how those of
# a class vary: with 2 in each of 10 classes about 87 of 100 intervals hold the true error (of 1,000
# classes, as many as should), and an interval may have no width.
LEAST = 100
RESUME = "the same `hardy eval` resumes"


class Part(NamedTuple):
    """Cells of a run that are scored together, and the images that have all of them."""

    names: tuple[str, ...]
    levels: tuple[int, ...]  # severities, or the difficulty of sequences
    cells: tuple[Cell, ...]
    images: Places


def suite_of(run: StoredRun) -> Suite:
    """The suite as it was when the run was made."""
    suite = run.own_suite or load(run.suite)
    if run.details["suite_hash"] != suite.content_hash():
        if run.own_suite is not None:
            raise InputError(
                f"{run.folder / copy_name(suite)}, the copy of the suite that {run.model} was run "
                "on, was changed since; restore it, or run the model again into another store"
            )
        raise InputError(
            f"{run.model} was run on version {run.details['suite_version']} of {suite.name}, with "
            f"other contents than version {suite.version}, which this Hardy has; run it again, or "
            "score it with the Hardy that made it"
        )
    return suite


def sorted_places(run: StoredRun, ids: Iterable[Id] | None = None) -> Places:
    """All images, or those with these ids."""
    places = {id: place for place, id in enumerate(run.ids)}
    wanted = list(places if ids is None else dict.fromkeys(ids))
    strange = [id for id in wanted if id not in places]
    if strange:
        raise InputError(
            f"expected images that {run.model} was run on, got {len(strange):,} others, such as "
            f"{strange[0]!r}; run it on them too, or leave them out"
        )
    return np.array([places[id] for id in sorted(wanted)], np.int64)  # type: ignore[type-var]


def levels_by_name(run: StoredRun, names: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """What was run of these names, in their order."""
    found: dict[str, list[int]] = {}
    for cell in run.cells:
        found.setdefault(cell.name, []).append(cell.level)
    return {name: tuple(sorted(found[name])) for name in names if name in found}


def rectangle(levels: Mapping[str, tuple[int, ...]]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Names that have the same severities: all five if any has them, else those of the most."""

    def having(wanted: tuple[int, ...]) -> tuple[str, ...]:
        return tuple(name for name in levels if set(wanted) <= set(levels[name]))

    candidates = dict.fromkeys(levels.values())
    best = max(candidates, key=lambda some: (some == SEVERITIES, len(having(some)), len(some)))
    return having(best), best


def part_of(
    run: StoredRun,
    places: Places,
    names: tuple[str, ...],
    levels: tuple[int, ...],
    cells: tuple[Cell, ...],
) -> Part:
    return Part(names, levels, cells, places[run.complete(cells)[places]])


def nothing_complete(run: StoredRun, places: Places, cells: Sequence[Cell]) -> InputError:
    """Says which cells lack the most images."""
    done = {cell: np.count_nonzero(run.complete([cell])[places]) for cell in cells}
    worst = sorted(cells, key=lambda cell: done[cell])[:3]
    counts = ", ".join(f"{cell} has {done[cell]:,}" for cell in worst)
    return InputError(
        f"expected images of {run.model} on {run.suite} with all of the {len(cells)} cells, got "
        f"none of {len(places):,} ({counts}); {RESUME}"
    )


def incomplete(part: Part, places: Places, what: str) -> list[str]:
    """A note, where the score is not of all images."""
    if len(part.images) == len(places):
        return []
    return [f"{what}{len(part.images):,} of {len(places):,} images are complete; {RESUME}"]


def circumstances(run: StoredRun, suite: Suite, part: Part) -> Circumstances:
    details = run.details
    seed = f", seed {details['seed']}" if details["seed"] else ""
    whole = _whole(run)
    return Circumstances(
        suite=suite.name,
        version=suite.version,
        suite_hash=details["suite_hash"],
        kind=suite.kind,
        names=part.names,
        levels=part.levels,
        reference=None,
        images=len(part.images),
        images_hash=images_hash(run, part.images),
        recipe=details["recipe"],
        made=details["made"] + seed,
        total=whole if len(part.images) < whole else None,
    )


def images_hash(run: StoredRun, places: Places) -> str:
    ids = [run.ids[place] for place in places]
    return hash_images(ids, run.labels[places], run.pixels[places])


def hash_images(
    ids: Sequence[Id], labels: npt.NDArray[np.int32], pixels: npt.NDArray[np.uint64]
) -> str:
    """Of ids, labels and pixels: rows of arrays have the same ids everywhere."""
    content = [list(ids), labels.tolist(), pixels.tolist()]
    return sha256(json.dumps(content, separators=(",", ":")).encode()).hexdigest()


def _whole(run: StoredRun) -> int:
    """The images of which a subset was chosen, or that were to be run; the most of any session."""
    subsets = [session.get("subset") for session in run.details["sessions"]]
    return max(len(run.ids), *(int(subset["of"]) for subset in subsets if subset), 0)


def resampling(run: StoredRun, places: Places, how: Resampling | None) -> Resampling:
    """Within classes where each has as many images as the others, give or take one, and enough.

    That does not come by chance: benchmarks fix it, and subsets of them do. It is a matter of the
    images alone, so that runs on the same images are resampled alike, however each came by them.
    Any other mix may be chance: it varies too, and if it was fixed, the interval is too wide
    rather than too narrow. So it is with classes too small to tell how their images vary.
    """
    how = how or Resampling()
    labels = run.labels[places].astype(np.int64)
    sizes = np.unique(labels, return_counts=True)[1]
    alike = len(sizes) > 1 and max(2, sizes.max() - 1) <= sizes.min()
    if how.strata is None and alike and len(labels) - len(sizes) >= LEAST:
        return how._replace(strata=labels)
    return how


def reference_name(run: StoredRun) -> str:
    """Names repeat, with other weights or settings; the start of the identity tells them apart."""
    return f"{run.model}@{run.identity.hash()[:8]}"


def same_part(run: StoredRun, part: Part, reference: StoredRun) -> Part:
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
