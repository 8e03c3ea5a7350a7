"""What `until` asks for, and how far a sampled run is from it."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hardy import progress
from hardy.errors import InputError
from hardy.metrics import Interval
from hardy.registry import unknown
from hardy.run.cells_per_image import Looked
from hardy.run.failures import Failures
from hardy.run.sample_limits import read_limits
from hardy.run.sample_plan import LEAST, SampleExtent
from hardy.run.sampled_run import Look, SampledRun
from hardy.schema import brief
from hardy.scores.run_scores import Scores, score_run
from hardy.scores.sampled_pairs import pair_samples
from hardy.scores.sampled_scores import refuse_thin
from hardy.scores.stored_sample import StoredSample, find_sample
from hardy.scores.wanted_scores import usable_metrics
from hardy.store.reader import StoredRun, open_run
from hardy.suites.cells import CLEAN, Cell
from hardy.suites.suite import Suite

_MAIN = ""  # the score that ranks, whatever it is called
DIFFERENCE = "difference"  # of the main score, the second model's minus the first's
Until = float | int | str | Mapping[str, float]


def plan_sample(
    until: Until | None,
    at_most: int | str | None,
    suite: Suite,
    workers: int,
    models: int,
    **others: Any,
) -> SampledRun | None:
    """What `until` asks for; refused beside options that a sample has no use for."""
    if until is None:
        if at_most is not None:
            raise InputError("expected `at_most` with `until`, got it alone")
        return None
    for name, said in others.items():
        if said is not None:
            part = name in ("subset", "images_per_class")
            why = "a sample is of all images" if part else "one process looks at the whole sample"
            raise InputError(f"expected `until` without `{name}`, since {why}, got both")
    targets = read_targets(until)
    if DIFFERENCE in targets and models != 2:
        raise InputError(
            f"expected two models for the {DIFFERENCE} between them in `until`, got {models}"
        )
    _check_possible(targets, suite, (*suite.counted, *suite.validation), referred=True)
    return SampledRun(_look_for(targets), read_limits(at_most), progress.mention, workers)


def check_targets(until: Until, suite: Suite, cells: Sequence[Cell], *, own_classes: bool) -> None:
    """Refuse scores that a sample of these cells will not have."""
    names = tuple(dict.fromkeys(cell.name for cell in cells if cell != CLEAN))
    _check_possible(read_targets(until), suite, names, referred=not own_classes)


def _check_possible(
    targets: Iterable[str], suite: Suite, names: Sequence[str], *, referred: bool
) -> None:
    possible = list(_possible_scores(suite, names, referred=referred))
    for name in targets:
        if re.sub(r" \(difficulty \d+\)$", "", name) not in (_MAIN, DIFFERENCE, *possible):
            raise unknown("score for `until`", name, possible)


def read_targets(until: Until) -> dict[str, float]:
    """Half-widths by the names of scores: 0.5, or "mCE=0.5,clean error=0.3"."""
    if isinstance(until, Mapping):
        pairs: list[tuple[Any, object]] = list(until.items())
    elif isinstance(until, str) and "=" in until:
        parts = [part.partition("=") for part in until.split(",")]
        pairs = [(name.strip(), width) for name, _, width in parts]
    else:
        return {_MAIN: _width(until, until)}
    found: dict[str, float] = {}
    for name, width in pairs:
        if name in found:
            raise InputError(f'expected each score once in `until`, got "{name}" twice')
        if not isinstance(name, str) or name == _MAIN:
            raise _no_targets(until)
        found[name] = _width(width, until if isinstance(until, str) else width)
    if not found:
        raise _no_targets(until)
    return found


def _width(text: object, told: object) -> float:
    try:
        width = math.nan if isinstance(text, bool) else float(str(text))
    except ValueError:
        width = math.nan
    if not 0 < width < math.inf:
        raise _no_targets(told)
    return width


def _no_targets(got: object) -> InputError:
    return InputError(
        "expected `until` as points above 0, such as 0.5, or as scores with theirs, such as "
        f'"mCE=0.5,clean error=0.3", got {brief(str(got))}'
    )


def _possible_scores(suite: Suite, names: Sequence[str], *, referred: bool) -> Iterator[str]:
    """The scores that a sample of these corruptions may have, ratios if a reference is there."""
    divisor = suite.reference or suite.flips if referred else None
    for metric in usable_metrics(suite.kind)[0]:
        if metric.base.beneath is not None or (metric.is_ratio and divisor is None):
            continue
        yield from [metric.clean] if metric.clean else ()
        for label, group in ((metric.mean, suite.counted), (metric.validation, suite.validation)):
            yield from [label] if label and not set(names).isdisjoint(group) else ()
        for name in names if metric.single else ():
            yield metric.single_label(name)


def _look_for(targets: Mapping[str, float]) -> Look:
    """The function that tells how far the samples in runs' folders are from these half-widths."""
    own = {name: width for name, width in targets.items() if name != DIFFERENCE}

    def look(folders: Sequence[Path], extent: SampleExtent) -> list[Looked]:
        runs = [open_run(folder) for folder in folders]
        if DIFFERENCE in targets and len(runs) == 1:
            raise InputError(
                f"expected two models for the {DIFFERENCE} between them in `until`, got "
                f"{runs[0].model} alone: the other failed, or does not fit in memory beside it"
            )
        samples = [find_sample(run, extent) for run in runs]
        if any(sample is not None and _is_thin(sample) for sample in samples):
            return [_unknown(f"{run.model}: too few images under each cell") for run in runs]
        scores = [score_run(run, sample=one) for run, one in zip(runs, samples, strict=True)]
        found = [_look_at(one, own) for one in scores] if own else []
        if DIFFERENCE in targets and scores:
            found.append(_look_at_pair(scores[0], scores[1], targets[DIFFERENCE]))
        return found

    return look


def with_scores(
    runs: Iterable[StoredRun], names: Mapping[str, str], failures: Failures
) -> list[StoredRun]:
    """The runs whose samples are large enough for scores: models of others, whose `names` are by
    what identifies their runs, have failed."""
    found = []
    for run in runs:
        sample = find_sample(run)
        with failures.of(names[run.details["identity"]]):
            if sample is not None:
                refuse_thin(sample)
            found.append(run)
    return found


def _is_thin(sample: StoredSample) -> bool:
    return int(sample.wanted[:, 1:].sum(axis=0).min()) < LEAST


def _unknown(told: str) -> Looked:
    return Looked(told, math.inf, 0.0, 0.0, 0.0, 0.0, math.inf)


def _whole(told: str) -> Looked:
    return Looked(told, 0.0, 0.0, 0.0, 0.0, 0.0, math.inf, sampled=False)


def _look_at(scores: Scores, targets: Mapping[str, float]) -> Looked:
    """How far a model's scores are from their half-widths."""
    wanted = {name or scores.headline[0].name: width for name, width in targets.items()}
    for name in wanted:
        if name not in scores:
            raise unknown("score for `until`", name, tuple(scores))
    told = ", ".join(f"{name} {scores[name].figure()}" for name in wanted)
    told = f"{scores.model}: {told}"
    if scores.sampled is None:
        return _whole(told)
    far = {name: _half(scores[name].interval) / width for name, width in wanted.items()}
    weights = {name: scores.sampled.estimates[name].weights for name in wanted}
    clean = [far[name] for name in wanted if weights[name][0] != 0]
    cells = {name: far[name] for name in wanted if weights[name][1:].any()}
    if not cells:
        return Looked(told, 0.0, max(clean), 0.0, 0.0, 0.0, math.inf)
    worst = max(cells, key=lambda name: cells[name])
    one = scores.sampled.estimates[worst]
    between, within = one.table.components(one.weights)
    clean_far = max(clean, default=0.0)
    return Looked(told, cells[worst], clean_far, one.known, between, within, wanted[worst])


def _look_at_pair(first: Scores, second: Scores, width: float) -> Looked:
    """How far the difference of two models is from its half-width."""
    name = first.headline[0].name
    if first.sampled is None and second.sampled is None:
        return _whole(f"{name} of both is known")
    pairs = pair_samples(first, second)
    found, table, weights = pairs.compare(name), *pairs.table_of(name)
    told = f"{name}, {second.model} − {first.model}: {found.figure()}"
    far, known = _half(found.interval) / width, table.error_of(weights)[3]
    between, within = table.components(weights)
    return Looked(told, far, far if weights[0] else 0.0, known, between, within, width)


def _half(interval: Interval) -> float:
    return (interval.high - interval.low) / 2
