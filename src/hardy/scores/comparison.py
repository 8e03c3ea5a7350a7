"""Two stored runs on the same images, pair by pair: how `hardy.compare` compares them."""

import os
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError, printable
from hardy.metrics import error, wrong
from hardy.metrics.intervals import Interval
from hardy.metrics.statistics import mcnemar
from hardy.progress import Track
from hardy.scores.compared import Compared
from hardy.scores.naming import choose, other_names, readable_runs
from hardy.scores.paired_scores import compare_scores, differences
from hardy.scores.run_scores import Scores, score_run
from hardy.scores.sampled_pairs import pair_samples
from hardy.scores.scoring import Run
from hardy.store.reader import StoredRun
from hardy.suites.cells import CLEAN

_ITSELF = "A and B are the same run, which cannot differ; name another model"
_TWINS = "A and B are the same model, by its weights: there is no difference"


def compare_stored(
    first: object,
    second: object,
    store: str | os.PathLike[str] | None,
    suite: str | None,
    track: Track,
) -> Compared:
    """Two runs, their scores, or with a store the names of two models in it."""
    if store is None:
        one, two = (_scores_of(some) for some in track((first, second), 2, "runs"))
        return compare_runs(one, two)
    found, faults = readable_runs(store)
    typed = [printable(str(name)) for name in (first, second)]
    runs = [choose(found, name, suite) for name in typed]
    are_twins = runs[0].folder == runs[1].folder and typed[0] != typed[1]
    one, two = (
        replace(score_run(run), called=name if are_twins or other_names(run, [name]) else None)
        for run, name in zip(track(runs, 2, "runs"), typed, strict=True)
    )
    return replace(compare_runs(one, two), faults=tuple(faults))


def _scores_of(some: object) -> Scores:
    if isinstance(some, Scores):
        return some
    if isinstance(some, Run):
        return some.score()
    got = f'"{some}"; name the store it is in' if isinstance(some, str) else type(some).__name__
    raise InputError(f"expected a run or its scores, got {got}")


def compare_runs(first: Scores | StoredRun, second: Scores | StoredRun) -> Compared:
    """The paired differences; refused for runs that were made differently.

    Where one has more images than the other, both are scored on those of the other. Single
    corruptions that just one model was run on are left out.
    """
    one, two = (some if isinstance(some, Scores) else score_run(some) for some in (first, second))
    sampled = one.sampled or two.sampled
    compared = _compare_sampled(one, two) if sampled else _compare_full(one, two)
    if one.run.folder != two.run.folder:
        return compared
    # What is exactly known has no interval.
    headline, singles = (
        tuple(one._replace(interval=Interval(0.0, 0.0), p_value=1.0) for one in some)
        for some in (compared.headline, compared.singles)
    )
    notes = (*compared.notes, _TWINS if compared.are_twins else _ITSELF)
    return replace(compared, headline=headline, singles=singles, notes=notes)


def _compare_full(one: Scores, two: Scores) -> Compared:
    one, two, notes = _on_common_images(one, two)
    leading = [
        score.name
        for score in one.headline
        if score.name in two
        # Corruptions for tuning may have been run on other images: that stops nothing else.
        and not (score.part == "validation" and differences(score, two[score.name]))
    ] or [s.name for s in one.headline if s.name in two]
    if not leading:  # which cannot be compared: this says why
        compare_scores(one.headline[0], two.headline[0])
    headline = tuple(compare_scores(one[name], two[name]) for name in leading)
    singles = tuple(
        compare_scores(score, theirs[name])
        for metric, ours in one.singles().items()
        for theirs in [two.singles().get(metric, {})]
        for name, score in ours.items()
        if name in theirs and not differences(score, theirs[name])
    )
    clean = None
    if error.clean in leading:
        clean = mcnemar(_clean_errors(one), _clean_errors(two))
    return Compared(one, two, headline, singles, clean, notes)


def _compare_sampled(one: Scores, two: Scores) -> Compared:
    """There is no exact test of clean images, which a sample may have few of."""
    pairs = pair_samples(one, two)
    headline = tuple(pairs.compare(s.name) for s in one.headline if s.name in two)
    singles = tuple(
        pairs.compare(score.name)
        for ours in one.singles().values()
        for score in ours.values()
        if score.name in two
    )
    return Compared(one, two, headline, singles, None, (pairs.note,))


def _on_common_images(one: Scores, two: Scores) -> tuple[Scores, Scores, tuple[str, ...]]:
    """What is said of it in a note; image sets that only overlap are left as they are."""
    ours, theirs = ({some.run.ids[place] for place in some.images} for some in (one, two))
    if one.run.suite != two.run.suite or not (ours < theirs or theirs < ours):
        return one, two, ()
    more, fewer = (one, two) if theirs < ours else (two, one)
    note = (
        f"{more.model} has {len(more.images):,} images, {fewer.model} has {len(fewer.images):,} of "
        "them: both are scored on these"
    )
    if more is one:
        return one.on(theirs), two, (note,)
    return one, two.on(ours), (note,)


def _clean_errors(scores: Scores) -> npt.NDArray[np.bool_]:
    return wrong(scores.run.read([CLEAN], ["rank"], scores.images)["rank"][:, 0])
