"""Scores on subtypes of broad types: type by type, and as the original script counts them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from hardy.metrics import Interval, Resampling
from hardy.metrics.natural_shifts import accuracy
from hardy.scores.columns import Measured
from hardy.scores.formulas import make_scores
from hardy.scores.score import Score
from hardy.scores.scored_cells import Places, ScoredCells, circumstances, resampling
from hardy.store.provenance import UNREADABLE
from hardy.store.reader import StoredRun
from hardy.suites.cells import IS_CLEAN
from hardy.suites.suite import Suite

_LEAST = 2  # images that have an interval


def score_types(
    run: StoredRun,
    suite: Suite,
    part: ScoredCells,
    measured: Mapping[str, Measured],
    how: Resampling | None,
) -> dict[str, Score]:
    """The accuracy on each type: "accuracy bird" on unseen subtypes, "clean accuracy bird" on seen
    ones."""
    assert suite.shift is not None
    found: dict[str, Score] = {}
    clean, cells = measured[accuracy.name]
    for number, name in enumerate(suite.shift.types or ()):
        rows = np.flatnonzero(run.labels[part.images] == number)
        if len(rows) < _LEAST:
            continue
        some = part._replace(images=part.images[rows])
        own = Measured(None if clean is None else clean[rows], cells[rows])
        made, _ = make_scores(
            {accuracy.name: own},
            circumstances(run, suite, some),
            [accuracy],
            counted=suite.counted,
            how=resampling(run, some.images, how, suite),
        )
        for label, score in made.items():
            own_label = type_label(label, name)
            found[own_label] = replace(score, name=own_label, metric="", part="")
    return found


def type_label(score: str, name: str) -> str:
    return f"{score} {name}"


def count_broken(
    run: StoredRun, parts: Sequence[ScoredCells], places: Places, scores: Mapping[str, Score]
) -> dict[str, Score]:
    """The accuracy on unseen subtypes with unreadable images in the denominator, as the original
    script has it; nothing where all could be read, or where the run is not finished."""
    unseen = [place for place in places if not str(run.ids[place]).startswith(IS_CLEAN)]
    scored = sum(len(part.images) for part in parts)
    broken = len(unseen) - len(parts[0].images)
    unread = run.left_out.get(UNREADABLE, 0)
    if accuracy.mean not in scores or not broken or len(places) - scored != unread:
        return {}
    plain = scores[accuracy.mean]
    share = len(parts[0].images) / len(unseen)
    label = f"{accuracy.mean} as in the original"
    return {
        label: replace(
            plain,
            name=label,
            value=plain.value * share,
            interval=Interval(*(end * share for end in plain.interval)),
            replicates=plain.replicates * share,
            metric="",
            part="",
        )
    }
