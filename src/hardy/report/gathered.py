"""Everything a page needs, gathered once from a store; plain data, nothing drawn yet."""

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError
from hardy.metrics import Interval, proportion_interval
from hardy.metrics.calibration import ECE_BINS, calibration_gap
from hardy.metrics.classification import error, wrong
from hardy.metrics.metric import OUTLIERS, SHIFTS
from hardy.metrics.natural_shifts import accuracy
from hardy.progress import Item, Track, untracked
from hardy.report.trainings import TrainingCurve, read_trainings, stored_runs, training_folders
from hardy.scores import Scores, score_run
from hardy.scores.drops import Correlation, ModelDrop, correlate_drops, drop_of, has_drop
from hardy.scores.effective_robustness import (
    EffectiveRobustness,
    PublishedLine,
    effective_robustness,
    published_line,
    read_points,
    refuse_idle,
)
from hardy.scores.naming import overtaken
from hardy.scores.paired_scores import differences
from hardy.scores.score import Circumstances, Score
from hardy.scores.scored_cells import suite_of
from hardy.scores.scoring import tell_overtaken
from hardy.scores.side_by_side import alike_groups, complement
from hardy.store.attack_files import Attacked, read_attacks
from hardy.store.reader import StoredRun
from hardy.suites.cells import CLEAN, Cell
from hardy.suites.suite import Suite

_FEWEST = 20  # predictions in a bin that is shown


@dataclass(frozen=True)
class ErrorGrid:
    """Errors in percent, a row per corruption and a column per severity."""

    names: tuple[str, ...]
    levels: tuple[int, ...]
    errors: tuple[tuple[float, ...], ...]
    intervals: tuple[tuple[Interval, ...], ...]
    clean: tuple[float, Interval] | None

    def curve(self, name: str) -> list[tuple[int, float, Interval]]:
        """Each severity of a corruption with its error, after the clean images as severity 0."""
        row = self.names.index(name)
        start = [(0, *self.clean)] if self.clean else []
        return [*start, *zip(self.levels, self.errors[row], self.intervals[row], strict=True)]


@dataclass(frozen=True)
class Reliability:
    """How often a model is right at each confidence; bins of few images are left out."""

    confidence: tuple[float, ...]
    accuracy: tuple[float, ...]
    share: tuple[float, ...]
    excess: float  # of confidence over accuracy, in points, of all images


@dataclass(frozen=True)
class Calibration:
    clean: Reliability | None
    corrupted: Reliability
    levels: tuple[int, ...]  # 0: clean
    ece: tuple[float, ...]  # per level, the mean over corruptions


@dataclass(frozen=True)
class ModelEntry:
    """One model on one suite."""

    label: str  # the model's name, told apart where names repeat
    style: int  # of the model, in every suite the same
    scores: Scores
    grid: ErrorGrid | None
    calibration: Calibration | None
    clean_error: Score | None  # of sequences: the model's on the suite of corruptions
    attacks: tuple[Attacked, ...] = ()

    @property
    def run(self) -> StoredRun:
        return self.scores.run

    @property
    def main(self) -> Score:
        return self.scores.headline[0]


def compared(items: Sequence[Item], entry: Callable[[Item], ModelEntry]) -> list[Item]:
    """The items that captions may compare: none of models that adapt to the test images.

    Where there are no others, the first is described by itself.
    """
    plain = [item for item in items if not entry(item).run.adapted]
    return plain or list(items[:1])


@dataclass(frozen=True)
class Section:
    """Models whose scores were made alike and may be compared, the best first.

    Those that adapt to the test images, which is another task, come after all others.
    """

    suite: Suite
    entries: tuple[ModelEntry, ...]
    number: int  # of the suite's sections, from 1
    of: int
    apart: tuple[str, ...] = ()  # what keeps it from the suite's first section
    baseline: PublishedLine | None = None  # of a natural shift: what clean accuracy predicts

    @property
    def kind(self) -> str:
        return self.suite.kind

    @property
    def circumstances(self) -> Circumstances:
        return self.entries[0].main.circumstances

    @property
    def own_classes(self) -> bool:
        return any(entry.run.details["labels"] == "own" for entry in self.entries)

    def effective(self) -> list[EffectiveRobustness | None]:
        """What each entry has beyond its clean accuracy, where that is known."""
        known = self.baseline
        return [known and effective_robustness(entry.scores, known) for entry in self.entries]

    def no_line(self) -> str:
        """Why a natural shift shows no effective robustness."""
        if self.baseline is None:
            return ""
        if self.baseline.line is None:
            return f"{self.baseline.describe().capitalize()}."
        return (
            "No effective robustness: these runs have no clean images of the same classes; "
            "`hardy eval --images` adds them."
        )

    def ordered(self, names: Iterable[str]) -> list[str]:
        """Corruptions or perturbations once each, in the suite's order, those for tuning last."""
        there = set(names)
        return [name for name in self.suite.counted + self.suite.validation if name in there]

    @property
    def slug(self) -> str:
        """The start of ids on the page: no two sections have the same."""
        name = self.suite.name.replace("_", "-")
        return name if self.of == 1 else f"{name}-{self.number}"


@dataclass(frozen=True)
class StoreReport:
    sections: tuple[Section, ...]
    left_out: tuple[str, ...] = ()  # runs without a score, and why
    trainings: tuple[TrainingCurve, ...] = ()

    @cached_property
    def correlations(self) -> list[Correlation]:
        """How drops on one suite go with those on another, over models that adapt to nothing. Of
        runs on a suite that were not made alike, the largest group counts."""
        rows: list[ModelDrop] = []
        for section in self.sections:
            whole = [one for one in section.entries if not one.run.adapted and has_drop(one.scores)]
            drops = [drop_of(one.scores, one.label) for one in whole]
            if section.number == 1 and len({one.drop for one in drops}) > 1:
                rows += drops
        try:
            return correlate_drops(rows)
        except InputError:  # there are too few models, or suites
            return []


def gather(
    store: Path,
    *,
    points: Path | None = None,
    trained: Sequence[Path] = (),
    track: Track = untracked,
) -> StoreReport:
    """Score all runs of a store, or the run whose folder it is, and group those made alike.

    `points` is a CSV of further models on natural shifts, for what clean accuracy predicts;
    `trained` are folders of trainings, beside those in the store.
    """
    brought = read_points(points)
    faults: list[str] = []
    folders = training_folders(store, trained)
    runs = stored_runs(store, folders, faults)
    renamed = overtaken(runs)
    labels = _labels(runs, renamed)
    scored: list[Scores] = []
    left_out = [InputError(fault) for fault in faults]
    for run in track(runs, len(runs), "runs"):
        try:
            scored.append(tell_overtaken(score_run(run), renamed))
        except InputError as reason:  # such as a run that was stopped at once
            left_out.append(reason)
    if not scored and (runs or not folders):
        raise left_out[0]

    styles: dict[str, int] = {}

    def entry(one: Scores) -> ModelEntry:
        key = _key(one.run)
        return ModelEntry(
            label=labels[key],
            style=styles.setdefault(key, len(styles)),  # the best have colours of their own
            scores=one,
            grid=_grid(one),
            calibration=_calibration(one),
            clean_error=_clean_error(one, scored),
            attacks=read_attacks(one.run),
        )

    sections = []
    kinds = {one.run.suite: one.kind for one in scored}
    refuse_idle(brought, [name for name, kind in kinds.items() if kind == SHIFTS])
    for name in sorted(kinds, key=lambda name: (kinds[name], name)):
        groups = alike_groups([one for one in scored if one.run.suite == name])
        for number, group in enumerate(groups, 1):
            group.sort(
                key=lambda one: (one.run.adapted, one.headline[0].loss, labels[_key(one.run)])
            )
            entries = tuple(map(entry, group))
            apart = tuple(differences(groups[0][0].headline[0], group[0].headline[0]))
            suite = suite_of(group[0].run)
            line = published_line(name, brought) if kinds[name] == SHIFTS else None
            sections.append(Section(suite, entries, number, len(groups), apart, line))
    known = {labels[key]: one for key, one in styles.items()}
    curves = read_trainings(folders, known)
    return StoreReport(tuple(sections), tuple(map(str, left_out)), tuple(curves))


def _key(run: StoredRun) -> str:
    return str(run.details["model_identity"])


def _labels(runs: Sequence[StoredRun], renamed: Container[str]) -> dict[str, str]:
    """Map each model's identity to a name that no other model has, in order of the names."""
    names = {_key(run): run.model for run in runs}
    repeated = {name for name in names.values() if list(names.values()).count(name) > 1}
    repeated |= {run.model for run in runs if run.folder.name in renamed}
    labels = {
        key: f"{name} @{key[:8]}" if name in repeated else name for key, name in names.items()
    }
    return dict(sorted(labels.items(), key=lambda item: (item[1], item[0])))


def _clean_error(one: Scores, all_scores: Sequence[Scores]) -> Score | None:
    """The run's own, or the same model's on a suite of corruptions, if there is just one value."""
    label = error.clean
    if label in one:
        return one[label]
    if one.kind in (SHIFTS, OUTLIERS):  # of the classes that count, and no others
        return complement(one[accuracy.clean]) if accuracy.clean in one else None
    found = [
        other[label]
        for other in all_scores
        if label in other and _key(other.run) == _key(one.run) and _same_set(one, other)
    ]
    return found[0] if len({other.value for other in found}) == 1 else None


def _same_set(one: Scores, other: Scores) -> bool:
    """Whether two runs are of images of the same kind and classes."""
    keys = set()
    for run in (one.run, other.run):
        suite, own = suite_of(run), run.details["labels"] == "own"
        keys.add((suite.edition.name, suite.classes, run.classes if own else None, own))
    return len(keys) == 1


def _grid(scores: Scores) -> ErrorGrid | None:
    """The errors on the scored images; with validation corruptions where all images have them."""
    if scores.kind != "corruptions":
        return None
    run, places = scores.run, scores.images
    names: tuple[str, ...] = ()
    levels: tuple[int, ...] = ()
    for label in (error.mean, error.validation or ""):
        if label in scores:
            around = scores[label].circumstances
            cells = [Cell(name, level) for name in around.names for level in around.levels]
            if around.levels == (levels or around.levels) and run.complete(cells)[places].all():
                names, levels = names + around.names, around.levels
    if not names:
        return None
    clean = [CLEAN] if CLEAN in run.cells else []
    cells = [Cell(name, level) for name in names for level in levels]
    hits = wrong(run.read(clean + cells, ["rank"], places)["rank"]).sum(axis=0).tolist()
    shares = [100 * hit / len(places) for hit in hits]
    ends = [proportion_interval(hit, len(places)) for hit in hits]
    intervals = [Interval(100 * low, 100 * high) for low, high in ends]
    edges = list(pairwise(range(len(clean), len(hits) + 1, len(levels))))
    return ErrorGrid(
        names,
        levels,
        tuple(tuple(shares[a:b]) for a, b in edges),
        tuple(tuple(intervals[a:b]) for a, b in edges),
        (shares[0], intervals[0]) if clean else None,
    )


def _calibration(scores: Scores) -> Calibration | None:
    if scores.kind != "corruptions" or error.mean not in scores or scores.sampled is not None:
        return None
    run, around = scores.run, scores[error.mean].circumstances
    cells = [Cell(name, level) for name in around.names for level in around.levels]
    has_clean = CLEAN in run.cells
    cells = [CLEAN, *cells] if has_clean else cells
    got = run.read(cells, ["rank", "confidence"], scores.images)
    right, sure = ~wrong(got["rank"]), got["confidence"]
    ece = 100 * calibration_gap(sure, right).mean(axis=0)
    first = 1 if has_clean else 0
    by_level = ece[first:].reshape(len(around.names), -1).mean(axis=0).tolist()
    return Calibration(
        _reliability(sure[:, 0], right[:, 0]) if has_clean else None,
        _reliability(sure[:, first:], right[:, first:]),
        (*((0,) if has_clean else ()), *around.levels),
        (*((float(ece[0]),) if has_clean else ()), *by_level),
    )


def _reliability(confidence: npt.NDArray[Any], right: npt.NDArray[np.bool_]) -> Reliability:
    """Accuracy in bins of confidence: of equal width and closed on the right, as for the ECE."""
    sure = confidence.ravel()
    bins = np.clip(np.ceil(sure * ECE_BINS - 1e-6).astype(np.int64) - 1, 0, ECE_BINS - 1)
    count = np.bincount(bins, minlength=ECE_BINS)
    used = count >= _FEWEST
    mean = np.bincount(bins, sure, minlength=ECE_BINS)[used] / count[used]
    share = np.bincount(bins, right.ravel(), minlength=ECE_BINS)[used] / count[used]
    return Reliability(
        tuple((100 * mean).tolist()),
        tuple((100 * share).tolist()),
        tuple((count[used] / len(sure)).tolist()),
        100 * float(sure.mean(dtype=np.float64) - right.mean()),
    )
