"""`hardy.card`: the results of a model in its card, as Hugging Face reads them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hardy.documents import read_document, why_unread
from hardy.errors import InputError
from hardy.files import check_target, write_output
from hardy.metrics.intervals import LEVEL
from hardy.metrics.metric import OUTLIERS, SHIFTS
from hardy.places import locate
from hardy.progress import Track, watch
from hardy.scores.part_of_suite import LEVELS, parts_told, usual_levels
from hardy.scores.run_scores import Scores
from hardy.scores.score import Circumstances, Score
from hardy.scores.scored_cells import suite_of
from hardy.scores.scoring import Run, score
from hardy.share.card_text import mark_as_ours, with_results
from hardy.share.tracked_run import plain
from hardy.suites.suite import Suite

_DIGITS = 2  # behind the point: intervals of usual runs have no use for more


def card(
    store: str | os.PathLike[str] | Run,
    model: str,
    output: str | os.PathLike[str],
    *,
    suite: str | None = None,
    track: Track = watch,
    tell: Callable[[str], None] = warnings.warn,
) -> Path:
    """Write a model's scores into the `model-index` of its model card, or begin such a card.

    The card is a README.md as Hugging Face has it, with YAML at its head. Each suite is a result:
    the headline scores with their 95 % intervals, the suite's version, the images, and what else
    there is to know. It replaces the one that Hardy wrote of that suite before; all else of the
    file stays as it is. Of a name any part will do that only one model has.

    ```python
    import hardy
    import numpy as np

    images = np.zeros((20, 32, 32, 3), np.uint8)
    hardy.evaluate("fake:10", suite="cifar10_c", images=images, labels=[0] * 20, only=["fog"])
    print(hardy.card("runs", "fake:10", "README.md"))
    ```
    """
    target = locate(output)
    check_target(target)
    before = _read_card(target)
    scored = score(store, model=model, suite=suite, track=track, tell=tell)
    names = list(dict.fromkeys(one.model for one in scored))
    if len(names) > 1:
        raise InputError(
            f'expected the runs of one model, got those of {" and ".join(names)} for "{model}"; '
            "name one of them, or a `suite`"
        )
    for fault in scored.faults:
        tell(fault)
    text = with_results(before, names[0], [_result(one) for one in scored], str(target))
    write_output(target, text.encode())
    return target


def _read_card(path: Path) -> str:
    try:
        return read_document(path).decode()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path}: expected a model card in UTF-8, but {why_unread(error)}"
        ) from error


def _result(scores: Scores) -> dict[str, Any]:
    """One result of a model-index; what is usual, such as the suite's own classes, is left out."""
    suite, around = suite_of(scores.run), scores.headline[0].circumstances
    parts = parts_told(suite, around)
    whole = [f"not the whole of {suite.title}: {', '.join(parts)}"] if parts else []
    about = {
        "model": scores.model,
        "suite": suite.name,
        "suite_version": suite.version,
        "images": around.images,
        "images_of": around.total,
        "sampled": around.sample or None,
        **_cells(suite, around),
        "classes": "the images' own" if around.labels == "own" else None,
        "recipe": around.recipe,
        "made": around.made,
        "precision": scores.run.identity.precision,
        "defence": scores.run.defence,
        "notes": [*whole, *scores.notes] or None,
    }
    told = {name: value for name, value in about.items() if value is not None}
    return {
        "task": {"type": "image-classification", "name": "Image Classification"},
        "dataset": {"type": suite.name, "name": suite.title, "args": mark_as_ours(told)},
        "metrics": [_metric(score, scores) for score in scores.headline],
    }


def _cells(suite: Suite, around: Circumstances) -> dict[str, list[Any]]:
    """Which of a suite's corruptions and severities these scores are of, where not of all."""
    if suite.shift is not None or not around.names:
        return {}
    found: dict[str, list[Any]] = {}
    if {*around.names} != {*suite.counted}:
        found[around.kind] = list(around.names)
    if around.levels != usual_levels(suite):
        found[LEVELS[suite.kind][1]] = list(around.levels)
    return found


def _metric(score: Score, scores: Scores) -> dict[str, Any]:
    around = score.circumstances
    seen = list(score.seen(scores.run.seen))
    about = {
        "low": round(score.interval.low, _DIGITS),
        "high": round(score.interval.high, _DIGITS),
        "level": LEVEL,
        "unit": score.unit or None,
        "reference": around.reference,
        around.kind: None if around.kind in (SHIFTS, OUTLIERS) else len(around.names) or None,
        "trained_on": seen or None,
    }
    return {
        "type": plain(score.name).lower(),
        "value": round(score.value, _DIGITS),
        "name": score.name,
        "args": {name: value for name, value in about.items() if value is not None},
    }
