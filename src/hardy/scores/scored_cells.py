"""Which cells and images of a stored run scores are made of, and what that leaves out."""

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError
from hardy.images.icons50.icon_parts import icon_name
from hardy.images.subtypes import subtype_of
from hardy.metrics import Resampling
from hardy.metrics.frame_distance import DIFFICULTIES
from hardy.scores.score import Circumstances
from hardy.store.provenance import UNREADABLE
from hardy.store.reader import StoredRun
from hardy.suites import SEVERITIES, copy_name, load
from hardy.suites.cells import CLEAN, IS_CLEAN, Cell, choose_cells
from hardy.suites.shift import OUTLIERS, SHIFTED
from hardy.suites.suite import Suite

Places = npt.NDArray[np.int64]  # of images in a run, sorted by id: the order of every score's rows
Id = int | str
# Images beyond one of each class, to resample within classes. Fewer tell too little of how those of
# a class vary: with 2 in each of 10 classes about 87 of 100 intervals hold the true error (of 1,000
# classes, as many as should), and an interval may have no width.
LEAST = 100
# Fewer subtypes tell nothing of how others vary; intervals are then over images.
_FEWEST_SUBTYPES = 5
_RESUME = "the same `hardy eval` resumes"


class ScoredCells(NamedTuple):
    """Cells of a run that are scored together, and the images that have all of them."""

    names: tuple[str, ...]
    levels: tuple[int, ...]  # severities, or the difficulty of sequences
    cells: tuple[Cell, ...]  # the clean images first, where there are any
    images: Places

    @property
    def has_clean(self) -> bool:
        return CLEAN in self.cells


def suite_of(run: StoredRun) -> Suite:
    """The suite as it was when the run was made."""
    suite = run.own_suite or load(run.suite)
    if run.details["suite_hash"] != suite.content_hash():
        before = suite.unrevised(run.details["suite_version"])
        if run.details["suite_hash"] == before.content_hash():
            return before
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
        more = f" and {len(strange) - 1:,} more" if len(strange) > 1 else ""
        raise InputError(
            f"expected images that {run.model} was run on, got others: {strange[0]!r}{more}; run "
            "it on them too, or leave them out"
        )
    return np.array([places[id] for id in sorted(wanted)], np.int64)  # type: ignore[type-var]


def select_cells(
    run: StoredRun, suite: Suite, places: Places, without: Sequence[Cell] = ()
) -> tuple[list[ScoredCells], list[str]]:
    """What is scored together, the cells that count first, and notes on what is left out.

    Of `places` those images are used that have all cells of a part, of which some cells are
    `without` a say: those of samples.
    """
    if suite.shift is not None:
        return _select_shift(run, suite, places)
    there = [cell for cell in run.cells if cell not in without]
    if suite.kind == "corruptions":
        return _select_corruptions(run, suite, places, there)
    return _select_sequences(run, suite, places, there)


def _select_shift(
    run: StoredRun, suite: Suite, places: Places
) -> tuple[list[ScoredCells], list[str]]:
    """The shifted images, and the clean ones beside them; outliers are told from these."""
    cells = choose_cells(suite)
    clean = np.array([str(run.ids[place]).startswith(IS_CLEAN) for place in places], np.bool_)
    if suite.kind == OUTLIERS:
        clean[:] = False
    found = [
        (_having_all(run, places[~clean], (SHIFTED,), (1,), cells), places[~clean]),
        (_having_all(run, places[clean], (), (), cells), places[clean]),
    ]
    parts = [part for part, _ in found if len(part.images)]
    if not parts:
        raise _nothing_complete(run, places, cells)
    return parts, [note for part, some in found for note in _incomplete(run, part, suite, some)]


def _select_corruptions(
    run: StoredRun, suite: Suite, places: Places, there: Sequence[Cell]
) -> tuple[list[ScoredCells], list[str]]:
    """Usually one part. Two where the validation corruptions have other severities or images, which
    must cost the scores that count nothing."""
    if (run.labels[places] < 0).any():
        raise InputError(
            f"expected labels for scores on {suite.name}, got a run of {run.model} without any; "
            "run it on images with labels"
        )
    notes: list[str] = []
    clean = (CLEAN,) if CLEAN in there else ()
    if not clean:
        notes.append("no clean images: no clean error, relative mCE or mAUDE")
    found = []
    for group in (suite.counted, suite.validation):
        levels = _levels_by_name(there, group)
        if levels:
            names, common = _rectangle(levels)
            cells = tuple(Cell(name, level) for name in names for level in common)
            found.append(_having_all(run, places, names, common, (*clean, *cells)))
            notes += [
                f"{name} was run at severit{'y' if len(levels[name]) == 1 else 'ies'} "
                f"{', '.join(map(str, levels[name]))} only, and is left out"
                for name in levels
                if name not in names
            ]
    if not found:
        found = [_having_all(run, places, (), (), clean)]
    parts = [part for part in found if len(part.images)]
    if not parts:
        raise _nothing_complete(run, places, found[0].cells)
    one, two = parts[0], parts[-1]
    if one is not two and one.levels == two.levels and np.array_equal(one.images, two.images):
        cells = one.cells + two.cells[len(clean) :]
        parts = [one._replace(names=one.names + two.names, cells=cells)]
    return parts, notes + [note for part in parts for note in _incomplete(run, part, suite, places)]


def _select_sequences(
    run: StoredRun, suite: Suite, places: Places, there: Sequence[Cell]
) -> tuple[list[ScoredCells], list[str]]:
    """Noise has a cell for each difficulty; others have one, of which frames further apart count.
    Where the noise of a difficulty was not run, no image has all of its cells."""
    steps = suite.edition.steps
    found = []
    for difficulty in DIFFICULTIES:
        for group in (suite.counted, suite.validation):
            names = tuple(name for name in group if Cell(name, 1) in there)
            cells = tuple(Cell(name, difficulty if steps(name).is_noise else 1) for name in names)
            if names:
                found.append(_having_all(run, places, names, (difficulty,), cells))
    parts = [part for part in found if len(part.images)]
    first = [part for part in parts if part.levels == (1,)]
    if not first:  # of which the headline is made
        raise _nothing_complete(run, places, found[0].cells if found else there)
    return parts, [note for part in first for note in _incomplete(run, part, suite, places)]


def _levels_by_name(cells: Sequence[Cell], names: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """What was run of these names, in their order."""
    found: dict[str, list[int]] = {}
    for cell in cells:
        found.setdefault(cell.name, []).append(cell.level)
    return {name: tuple(sorted(found[name])) for name in names if name in found}


def rectangle(cells: Sequence[Cell]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The names and severities of these cells that all go with each other."""
    levels: dict[str, tuple[int, ...]] = {}
    for cell in cells:
        levels[cell.name] = (*levels.get(cell.name, ()), cell.level)
    return _rectangle(levels)


def _rectangle(levels: Mapping[str, tuple[int, ...]]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Names that have the same severities: all five if any has them, else those of the most."""

    def having(wanted: tuple[int, ...]) -> tuple[str, ...]:
        return tuple(name for name in levels if set(wanted) <= set(levels[name]))

    candidates = dict.fromkeys(levels.values())
    best = max(candidates, key=lambda some: (some == SEVERITIES, len(having(some)), len(some)))
    return having(best), best


def _having_all(
    run: StoredRun,
    places: Places,
    names: tuple[str, ...],
    levels: tuple[int, ...],
    cells: tuple[Cell, ...],
) -> ScoredCells:
    return ScoredCells(names, levels, cells, places[run.complete(cells)[places]])


def _nothing_complete(run: StoredRun, places: Places, cells: Sequence[Cell]) -> InputError:
    """Says which cells lack the most images."""
    done = {cell: np.count_nonzero(run.complete([cell])[places]) for cell in cells}
    worst = sorted(cells, key=lambda cell: done[cell])[:3]
    counts = ", ".join(f"{cell} has {done[cell]:,}" for cell in worst)
    return InputError(
        f"expected images of {run.model} on {run.suite} with all of the {len(cells)} cells, got "
        f"none of {len(places):,} ({counts}); {_RESUME}"
    )


def _incomplete(run: StoredRun, part: ScoredCells, suite: Suite, places: Places) -> list[str]:
    """A note, where the score is not of all images that can be read."""
    if len(places) - len(part.images) <= run.left_out.get(UNREADABLE, 0):
        return []
    if not part.names and suite.shift is not None:
        what = "clean images: "
    else:
        what = "validation: " if set(part.names) <= set(suite.validation) else ""
    shared = any(session.get("shard") for session in run.details["sessions"])
    rest = "the other shares add the rest" if shared else _RESUME
    return [f"{what}{len(part.images):,} of {len(places):,} images are complete; {rest}"]


def circumstances(run: StoredRun, suite: Suite, part: ScoredCells) -> Circumstances:
    details = run.details
    seed = f", seed {details['seed']}" if details["seed"] else ""
    whole = _whole(run) if suite.shift is None else _whole_shift(run, suite, part)
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
        labels=details["labels"],
        total=whole if len(part.images) < whole else None,
    )


def images_hash(run: StoredRun, places: Places) -> str:
    ids = [run.ids[place] for place in places]
    return hash_images(ids, run.labels[places], run.pixels[places])


def hash_images(
    ids: Sequence[Id], labels: npt.NDArray[np.int32], pixels: npt.NDArray[np.uint64]
) -> str:
    """Hash ids, labels and pixels together: ids alone would not do, arrays all count from 0."""
    content = [list(ids), labels.tolist(), pixels.tolist()]
    return sha256(json.dumps(content, separators=(",", ":")).encode()).hexdigest()


def _whole(run: StoredRun) -> int:
    """The images of which a subset was chosen, or that were to be run; the most of any session."""
    subsets = [session.get("subset") for session in run.details["sessions"]]
    listed = max(len(run.ids), *(int(subset["of"]) for subset in subsets if subset), 0)
    return listed + sum(n for kind, n in run.left_out.items() if kind != UNREADABLE)


def _whole_shift(run: StoredRun, suite: Suite, part: ScoredCells) -> int:
    """The images that the authors published; of clean ones, and of those told from them, these."""
    assert suite.shift is not None
    known = suite.shift.count if part.names and suite.kind != OUTLIERS else len(part.images)
    beside = sum(str(id).startswith(IS_CLEAN) for id in run.ids)
    return known or _whole(run) - beside


def resampling(run: StoredRun, places: Places, how: Resampling | None, suite: Suite) -> Resampling:
    """Within classes where each has as many images as the others, give or take one, and enough.

    That does not come by chance: benchmarks fix it, and subsets of them do. It is a matter of the
    images alone, so that runs on the same images are resampled alike, however each came by them.
    Any other mix may be chance: it varies too, and if it was fixed, the interval is too wide
    rather than too narrow. So it is with classes too small to tell how their images vary. Icons
    are drawn with all their versions and styles, which are not independent; subtypes of broad types
    with all their images, where there are enough of them to tell how they vary.
    """
    how = how or Resampling()
    shift = suite.shift
    if shift is not None and shift.protocol is not None:
        names = [icon_name(str(run.ids[place])).icon for place in places]
        return how._replace(clusters=np.unique(names, return_inverse=True)[1])
    if shift is not None and shift.types is not None:
        names = [subtype_of(str(run.ids[place])) for place in places]
        apart, clusters = np.unique(names, return_inverse=True)
        if len(apart) >= _FEWEST_SUBTYPES:
            return how._replace(clusters=clusters, units="subtypes")
        return how
    labels = run.labels[places].astype(np.int64)
    sizes = np.unique(labels, return_counts=True)[1]
    alike = len(sizes) > 1 and max(2, sizes.max() - 1) <= sizes.min()
    if how.strata is None and alike and len(labels) - len(sizes) >= LEAST:
        return how._replace(strata=labels)
    return how
