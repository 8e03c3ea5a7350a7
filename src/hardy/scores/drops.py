"""Do models that lose little on one suite lose little on another? Correlations of accuracy drops.

A drop is clean accuracy minus accuracy, in shares of 1; of sequences it is the flip probability.
Over models, Pearson's and Spearman's correlation of the drops on two suites, each with its
interval. Of a family of suites, such as many drawn alike, the mean correlation over its members:
its interval is the bootstrap's over models, because the members share them.
"""

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hardy.errors import InputError
from hardy.files import check_ours, check_target, write_output
from hardy.metrics import Interval, error, percentile_interval
from hardy.metrics.classification import Floats
from hardy.metrics.metric import CORRUPTIONS, PERTURBATIONS, SHIFTS
from hardy.metrics.natural_shifts import accuracy
from hardy.metrics.stability import flips
from hardy.metrics.statistics import LEAST, fisher_interval, pearson, spearman
from hardy.places import locate
from hardy.progress import Track, untracked, watch
from hardy.registry import unknown
from hardy.scores.accuracy_files import check_shares, read_accuracies
from hardy.scores.paired_scores import differences
from hardy.scores.run_scores import Scores, score_run
from hardy.scores.score import Score
from hardy.scores.text_tables import TextTable, to_csv
from hardy.store.reader import find_runs

REPLICATES = 1000
# By kind of suite, the scores that a drop is made of: on its images, and on clean ones.
_NEEDED = {
    CORRUPTIONS: (error.mean, error.clean),
    PERTURBATIONS: (flips.mean,),
    SHIFTS: (accuracy.mean, accuracy.clean),
}

Drops = Mapping[str, Mapping[str, float]]  # by suite, then model


class ModelDrop(NamedTuple):
    """What a model loses on a suite."""

    model: str
    suite: str
    drop: float  # of accuracy; of sequences the flip probability
    made: Score | None = None  # where it is from a store, which says on what it was made


class Correlation(NamedTuple):
    """The correlation of the drops on two suites over models, with 95 % intervals."""

    first: str
    second: str
    suites: int  # of the first: more than one of a family
    models: int
    pearson: float
    pearson_interval: Interval
    spearman: float
    spearman_interval: Interval

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for CSV and JSON."""
        made: dict[str, Any] = {}
        for name, value in self._asdict().items():
            if isinstance(value, Interval):
                stem = name.removesuffix("_interval")
                made |= {f"{stem}_low": value.low, f"{stem}_high": value.high}
            else:
                made[name] = value
        return made

    @staticmethod
    def table(found: "Sequence[Correlation]") -> TextTable:
        """Correlations as text, a line per pair."""
        lines = [
            (
                f"{one.first} and {one.second}",
                str(one.models),
                str(one.suites),
                *(
                    f"{value:.2f} [{interval.low:.2f} to {interval.high:.2f}]"
                    for value, interval in (
                        (one.pearson, one.pearson_interval),
                        (one.spearman, one.spearman_interval),
                    )
                ),
            )
            for one in found
        ]
        header = ("drops on", "models", "suites averaged", "Pearson", "Spearman")
        return TextTable("Correlation of accuracy drops", header, lines)


def drop(clean: float, accuracy: float, what: str) -> float:
    """Clean accuracy minus accuracy; both must be shares of 1, not per cents."""
    check_shares(clean, accuracy, what)
    return clean - accuracy


def correlate(
    results: str | Path | Sequence[str | Path],
    *,
    target: str | None = None,
    family: str | None = None,
    output: str | Path | None = None,
    seed: int = 0,
    tell: Callable[[str], object] = lambda reason: None,
    track: Track = watch,
) -> list[Correlation]:
    """Say whether models that lose little accuracy on one suite lose little on another.

    `results` are stores, or CSV files with the columns model, suite, clean and accuracy, in shares
    of 1. All pairs of suites are correlated over models, or each suite with the `target`; suites
    that fit the pattern `family`, such as "noc_*", are one line, their mean. Too few models say
    nothing: `tell` is told what is left out. `output` is a CSV to write.

    ```python
    from pathlib import Path

    import hardy

    rows = [f"m{k},{suite},0.9,{0.9 - k / 10}" for k in range(5) for suite in ("fog", "snow")]
    Path("results.csv").write_text("\\n".join(["model,suite,clean,accuracy", *rows]))
    print(hardy.correlate("results.csv")[0].pearson)
    ```
    """
    given = [results] if isinstance(results, str | Path) else results
    paths = list(map(locate, given))
    output = None if output is None else locate(output)
    if output is not None and output.resolve() in [path.resolve() for path in paths]:
        raise InputError(f"cannot write {output}: the results are read from it; name another file")
    rows: list[ModelDrop] = []
    for path in paths:
        rows += stored_drops(path, track, tell) if path.is_dir() else read_drops(path)
    found = correlate_drops(rows, target, family, seed, tell=tell, track=track)
    if output is not None:
        text = to_csv([one.as_dict() for one in found])
        check_target(output)
        check_ours(output, text.partition("\n")[0], "table that `hardy correlate` wrote")
        write_output(output, text.encode())
    return found


def correlate_drops(
    rows: Sequence[ModelDrop],
    target: str | None = None,
    family: str | None = None,
    seed: int = 0,
    *,
    tell: Callable[[str], object] = lambda reason: None,
    track: Track = untracked,
) -> list[Correlation]:
    """Correlate all pairs of suites, or each suite with the target. Suites and pairs of too few
    models are left out; a target or a family of too few is refused."""
    drops = _by_suite(rows)
    if target is not None and target not in drops:
        raise unknown("suite among the results", target, drops)
    members = [one for one in drops if family and fnmatchcase(one, family) and one != target]
    if family and not members:
        raise InputError(f'expected suites that fit the pattern "{family}", got {", ".join(drops)}')
    few = [one for one in drops if len(drops[one]) < LEAST]
    for one in few:
        if one == target or one in members:
            raise _too_few(f"on {one}", len(drops[one]))
    groups = {one: [one] for one in drops if one not in (*members, *few)}
    if family:
        groups = {family: members, **groups}
    pairs = list(combinations(groups, 2))
    if target is not None:
        pairs = [(one, target) for one in groups if one != target]
    counts = {one: _counted(one, len(models)) for one, models in drops.items()}
    if not pairs:
        raise InputError(
            f"expected results on two suites or more, of {LEAST} models or more each, got "
            f"{', '.join(counts.values())}"
        )
    common = {(a, b): _common(drops, (*groups[a], *groups[b])) for a, b in pairs}
    apart = [pair for pair in pairs if len(common[pair]) < LEAST]
    kept = [pair for pair in pairs if pair not in apart]
    if not kept or (family and not any(family in pair for pair in kept)):
        a, b = next(pair for pair in apart if not family or family in pair)
        raise _too_few(f"on both {a} and {b}", len(common[a, b]))
    left_out = [counts[one] for one in few]
    left_out += [_counted(f"{a} with {b}", len(common[a, b])) for a, b in apart]
    if left_out:
        tell(f"{', '.join(left_out)}; a correlation takes {LEAST} or more")
    return [
        _correlate(drops, a, groups[a], b, groups[b][0], common[a, b], seed)
        for a, b in track(kept, len(kept), "pairs of suites")
    ]


def _counted(what: str, models: int) -> str:
    return f"{what} ({models} model{'' if models == 1 else 's'})"


def _too_few(where: str, models: int) -> InputError:
    return InputError(
        f"expected {LEAST} models or more {where}, got {models}; of so few any correlation may be "
        "chance"
    )


def _common(drops: Drops, suites: Sequence[str]) -> list[str]:
    return [model for model in drops[suites[-1]] if all(model in drops[one] for one in suites)]


def _by_suite(rows: Sequence[ModelDrop]) -> dict[str, dict[str, float]]:
    drops: dict[str, dict[str, float]] = {}
    first: dict[str, tuple[str, Score]] = {}
    for row in rows:
        of_suite = drops.setdefault(row.suite, {})
        if row.model in of_suite:
            raise InputError(f"expected each model once on {row.suite}, got {row.model} twice")
        of_suite[row.model] = row.drop
        if row.made is not None:
            model, made = first.setdefault(row.suite, (row.model, row.made))
            # On other images or corruptions, a model may lose more or less for that alone.
            if apart := differences(made, row.made):
                raise InputError(
                    f"expected the runs of {model} and {row.model} alike on {row.suite}, got "
                    f"{', '.join(apart)}; run both on the same"
                )
    return drops


def _correlate(
    drops: Drops,
    first: str,
    members: Sequence[str],
    second: str,
    other: str,
    models: Sequence[str],
    seed: int,
) -> Correlation:
    one = np.array([[drops[member][model] for model in models] for member in members])
    two = np.array([drops[other][model] for model in models])
    for name, values in (*zip(members, one, strict=True), (other, two)):
        if np.ptp(values) == 0:
            raise InputError(f"expected models to differ on {name}, but all have the same drop")
    figures: list[Any] = []
    for kind, ranks in ((pearson, False), (spearman, True)):
        mean = _mean(kind, one, two)
        if len(members) == 1:
            interval = fisher_interval(mean, len(models), ranks=ranks)
        else:
            interval = _resampled(kind, one, two, seed)
        figures += [mean, interval]
    return Correlation(first, second, len(members), len(models), *figures)


def _mean(kind: Callable[..., float], one: Floats, two: Floats) -> float:
    return float(np.mean([kind(row, two) for row in one]))


def _resampled(kind: Callable[..., float], one: Floats, two: Floats, seed: int) -> Interval:
    """The bootstrap's interval over models; a drawing in which nothing varies says nothing."""
    generator = np.random.Generator(np.random.PCG64(seed))
    drawn = generator.integers(len(two), size=(REPLICATES, len(two)))
    means = np.array([_mean(kind, one[:, some], two[some]) for some in drawn])
    return percentile_interval(means[~np.isnan(means)])


def read_drops(path: Path) -> list[ModelDrop]:
    """The drops in a CSV with the columns model, suite, clean and accuracy."""
    return [
        ModelDrop(model, suite, drop(clean, right, f"{model} on {suite}"))
        for model, suite, clean, right in read_accuracies(path)
    ]


def stored_drops(
    store: Path, track: Track = untracked, tell: Callable[[str], object] = lambda reason: None
) -> list[ModelDrop]:
    """The drops of all runs in a store: of accuracy, from clean images to others; of sequences the
    flip probability. `tell` hears of suites on which no accuracy can drop."""
    runs = find_runs(store)
    rows = []
    without: dict[str, None] = {}
    for run in track(runs, len(runs), "runs"):
        scores = score_run(run, reference=None)
        if scores.kind in _NEEDED:
            rows.append(drop_of(scores, run.model))
        else:
            without[run.suite] = None
    if without:
        tell(f"{', '.join(without)}, on which no accuracy can drop")
    return rows


def has_drop(scores: Scores) -> bool:
    """Whether a run tells what its model loses: it has clean images too, and classes that can be
    right, which outliers have not."""
    return scores.kind in _NEEDED and all(one in scores for one in _NEEDED[scores.kind])


def drop_of(scores: Scores, model: str) -> ModelDrop:
    """What a model loses in a run, whose suite is one on which it can."""
    run, needed = scores.run, _NEEDED[scores.kind]
    lacking = [one for one in needed if one not in scores]
    if lacking:
        raise InputError(
            f"expected the {' and '.join(lacking)} of {run.model} on {run.suite}, "
            "which was not run on what that needs; run it on all of the suite"
        )
    made, *clean = (scores[one] for one in needed)
    lost = made.value / 100
    if clean:
        right = [one.value / 100 for one in (*clean, made)]
        if made.lower_is_better:  # errors
            right = [1 - share for share in right]
        lost = drop(right[0], right[1], f"{run.model} on {run.suite}")
    return ModelDrop(model, run.suite, lost, made)
