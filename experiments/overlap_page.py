"""The page of an overlap experiment: what it says is computed here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from bench.bars import Bar
from bench.table import grid
from hardy.design.balanced_sets import measure_balance
from hardy.design.categories import ENOUGH, Categories, categorise
from hardy.design.independent_sets import select_independent
from hardy.design.matrix import Matrix
from hardy.design.overlap_score import Overlap, resample_accuracy, scores
from hardy.design.proxy import Agreement, agree
from hardy.design.results import MeasuredOverlap, OverlapResults, analyse
from hardy.metrics import Interval, percentile_interval
from hardy.metrics.classification import Floats
from hardy.suites import load

NAMED, LATER = "by_image", "errors"  # kinds of the stand-in
WANTED = 0.6  # the least ρ of one that will do
THRESHOLD = 0.5  # of the set that becomes a suite, and of pairs that are listed
THRESHOLDS = (0.2, 0.3, 0.4, THRESHOLD, 0.6, 0.7, 0.8)
SMALL = 3.0  # points of accuracy: a gain below it is called small
PUBLISHED = "imagenet_noc"
SUITE = "cifar10_apart.toml"


class Figures(NamedTuple):
    measured: MeasuredOverlap
    results: OverlapResults
    replicates: Floats  # of the accuracies
    matrices: dict[str, Matrix]  # by form
    categories: dict[str, Categories]

    def overlap(self, form: str) -> Overlap:
        return next(one for one in self.results.overlaps if one.form == form)


def figures(measured: MeasuredOverlap) -> Figures:
    results, collected = analyse(measured), measured.collected
    replicates = resample_accuracy(collected.correct, collected.severities, collected.how)
    matrices = {one.form: Matrix(one.names, one.values) for one in results.overlaps}
    found = {form: categorise(matrix) for form, matrix in matrices.items()}
    return Figures(measured, results, replicates, matrices, found)


def page(made: Figures) -> str:
    sections = (_circumstances, _gains, _pairs, _categories, _sets, _of_published, _stand_in)
    return "\n\n".join(part for section in sections for part in section(made)) + "\n"


def short(name: str) -> str:
    return name.removeprefix("noc_")


def listed(names: Sequence[str]) -> str:
    return ", ".join(map(short, names))


def ranged(value: float, interval: Sequence[float], form: str = ".2f") -> str:
    low, high = interval
    return f"{value:{form}} [{low:{form}} to {high:{form}}]"


def _circumstances(made: Figures) -> Iterator[str]:
    record, results = made.measured.experiment, made.results
    recipe, versions = record["recipe"], record["versions"]
    seconds = sum(record["training_seconds"].values())
    count = len(results.names)
    yield f"# Which of {count} corruptions overlap on CIFAR-10"
    yield (
        f"Machine: {record['device']}. torch {versions['torch']}, numpy {versions['numpy']}. "
        f"Commit {record.get('commit', 'unknown')}. {record.get('note', '')} The trainings alone "
        f"took {seconds:.0f} seconds, added up."
    )
    yield (
        f"{count + 1} models, a clean one and one for each corruption of {record['suite']}: "
        f"{recipe['net']}, {recipe['epochs']} epochs, batch {recipe['batch']}, SGD with Nesterov "
        f"momentum {recipe['momentum']}, weight decay {recipe['weight_decay']}, learning rate "
        f"{recipe['lr']} falling by {recipe['schedule']}, {recipe['precision']}, seed "
        f"{recipe['seed']}, one training each. Training: {record['data']}. Test: {record['test']}. "
        f"Intervals are 95 %, {results.resampling}: how far a figure would move with another seed "
        "of the training they do not say. Names are without their noc_."
    )
    yield (
        "<!-- not run: it trains 24 nets on a GPU -->\n"
        "```bash\n"
        f"hardy overlap --suite {record['suite']} --data cifar10 --net {recipe['net']} "
        f"--epochs {recipe['epochs']} --precision {recipe['precision']} --out overlap\n"
        "python -m experiments.overlap keep overlap results/overlap/kept.npz "
        f"--commit {record.get('commit', 'HASH')}\n"
        "python -m experiments.overlap page results/overlap/kept.npz\n"
        "```"
    )
    yield (
        "[docs/overlap.md](../../docs/overlap.md) says what overlap is, and what this shows. "
        "`kept.npz` has which model was right on which image; all else here is made from it."
    )
    yield f"* {_bar(made)}"


def _bar(made: Figures) -> Bar:
    one = made.results.agreements["ratio"][NAMED]
    what = f"the stand-in that was named before the trainings, {NAMED}, has ρ ≥ {WANTED:g} with "
    return Bar(f"{what}overlap (ratio)", ranged(one.rho, one.interval), one.rho >= WANTED)


def _gains(made: Figures) -> Iterator[str]:
    values, names = made.results.accuracy, made.results.names
    assert values is not None
    accuracy, matrix = values.values, made.matrices["ratio"].values - np.eye(len(names))
    gains, rows = {}, []
    for place, name in enumerate(names, 1):
        gain = 100 * (accuracy[place, place] - accuracy[0, place])
        drawn = 100 * (made.replicates[:, place, place] - made.replicates[:, 0, place])
        gains[name] = gain, percentile_interval(drawn)
        most = int(matrix[place - 1].argmax())
        rows.append(
            [
                short(name),
                f"{100 * accuracy[0, place]:.1f}",
                f"{100 * accuracy[place, place]:.1f}",
                ranged(gain, gains[name][1], ".1f"),
                f"{100 * accuracy[place, 0]:.1f}",
                f"{_a_point(accuracy, place):.3f}",
                f"{short(names[most])} {matrix[place - 1, most]:.2f}",
            ]
        )
    yield "## What training with a corruption brings against it"
    yield (
        f"Accuracies in per cent. The clean model has {100 * accuracy[0, 0]:.1f} on clean images. "
        "*A point*: what the overlaps (ratio) of a corruption move by, if one model has a point "
        "more or less on it."
    )
    head = ["corruption", "clean model", "own model", "gain", "own on clean", "a point",
            "overlaps most with"]  # fmt: skip
    yield grid(head, rows)
    small = {name: found for name, found in gains.items() if found[0] < SMALL}
    if small:
        told = ", ".join(f"{short(n)} {ranged(*found, '.1f')}" for n, found in small.items())
        points = [_a_point(accuracy, names.index(name) + 1) for name in small]
        yield (
            f"Gains below {SMALL:g} points: {told}. Overlaps are shares of a gain: if another seed "
            f"made a point of difference, it would move these by {min(points):.2f} or more, which "
            "no interval here shows. They say little."
        )


def _a_point(accuracy: Floats, place: int) -> float:
    ratio = accuracy[:, place] / accuracy[:, 0]
    return float(0.01 / accuracy[place, 0] / (ratio[place] - ratio[0]) / 2)


def _pairs(made: Figures) -> Iterator[str]:
    found = [
        (row["ratio"], row)
        for row in made.results.pairs()
        if row["ratio"] >= THRESHOLD or row["raw"] >= THRESHOLD
    ]
    rows = [
        [
            f"{short(row['first'])} and {short(row['second'])}",
            *(ranged(row[f], (row[f"{f}_low"], row[f"{f}_high"])) for f in ("ratio", "raw")),
        ]
        for _, row in sorted(found, key=lambda one: -one[0])
    ]
    yield "## Pairs that overlap"
    yield "![Overlap of all pairs](overlap_ratio.png)"
    counts = []
    for one in made.results.overlaps:
        assert one.low is not None
        assert one.high is not None
        upper = np.triu_indices(len(one.names), 1)
        values, low, high = one.values[upper], one.low[upper], one.high[upper]
        apart = f"{(low >= THRESHOLD).sum()} of them with the whole interval"
        counts.append(
            f"{one.form}: {(values >= THRESHOLD).sum()} of {len(values)} pairs overlap by "
            f"{THRESHOLD:g} or more, {apart}; {(values == 0).sum()} have 0; the widest interval is "
            f"{(high - low).max():.2f} wide, the median {np.median(high - low):.2f}."
        )
    yield "\n".join(f"* {line}" for line in counts)
    yield f"All that reach {THRESHOLD:g} in either form:"
    yield grid(["pair", "ratio", "raw"], rows)


def _categories(made: Figures) -> Iterator[str]:
    yield "## Categories"
    yield (
        "By the published rule (K-means over rows of the matrix, seed 0, until the mean "
        f"correlation within categories exceeds {ENOUGH:g}): "
        "`hardy design results/overlap/overlap_ratio.csv`."
    )
    for form, found in made.categories.items():
        lines = [f"{form}: {len(found.groups)}, mean correlation {found.correlation:.2f}", ""]
        lines += [f"{number}. {listed(group)}" for number, group in enumerate(found.groups, 1)]
        yield "\n".join(lines)
    yield "![Categories](categories.png)"


def _sets(made: Figures) -> Iterator[str]:
    yield "## Largest sets"
    lines = []
    for threshold in THRESHOLDS:
        ratio, raw = (
            select_independent(made.matrices[form], threshold).names for form in ("ratio", "raw")
        )
        lines.append(f"* {threshold:g}: {len(ratio)} (raw {len(raw)}): {listed(ratio)}")
    low, high = _sizes(made)
    yield (
        "No two corruptions of the set overlap by the threshold or more, and no set is larger; of "
        "several, by the rule of `hardy design --below`. With other test images the set below "
        f"{THRESHOLD:g} (ratio) would have {low:.0f} to {high:.0f}. It is the suite [{SUITE}]"
        f"({SUITE})."
    )
    yield "\n".join(lines)


def _sizes(made: Figures) -> Interval:
    names = made.results.names
    drawn = scores(made.replicates, "ratio")
    whole = drawn[~np.isnan(drawn).any(axis=(1, 2))]
    sizes = [len(select_independent(Matrix(names, values), THRESHOLD).names) for values in whole]
    return percentile_interval(np.array(sizes, float))


def published(made: Figures) -> tuple[str, ...]:
    names = load(PUBLISHED).counted
    return tuple(name for name in made.results.names if name in names)


def _of_published(made: Figures) -> Iterator[str]:
    names, eight, one = made.results.names, published(made), made.overlap("ratio")
    assert one.low is not None
    assert one.high is not None
    yield f"## The {len(eight)} of {PUBLISHED}"
    yield f"{listed(eight)}."
    yield "\n".join(f"* {form}: {measure_balance(c, eight)}" for form, c in made.categories.items())
    sets = np.array(list(combinations(range(len(names)), len(eight))))
    total, largest = np.zeros(len(sets)), np.zeros(len(sets))
    inside = list(combinations(range(len(eight)), 2))
    for a, b in inside:
        values = one.values[sets[:, a], sets[:, b]]
        total += values
        largest = np.maximum(largest, values)
    places = [names.index(name) for name in eight]
    ours = int(np.flatnonzero((sets == sorted(places)).all(axis=1))[0])
    upper = one.values[np.triu_indices(len(names), 1)]
    best = int(np.lexsort((total, largest))[0])
    pairs = sorted(combinations(places, 2), key=lambda pair: -one.values[pair])
    told = [
        f"{short(names[a])} and {short(names[b])} "
        f"{ranged(one.values[a, b], (one.low[a, b], one.high[a, b]))}"
        for a, b in pairs[:3]
    ]
    yield (
        f"Their mean overlap (ratio) is {total[ours] / len(inside):.3f}, that of all pairs "
        f"{upper.mean():.3f}; of all {len(sets):,} sets of {len(eight)}, "
        f"{100 * (total < total[ours]).mean():.1f} % have a smaller one, and "
        f"{100 * (largest < largest[ours]).mean():.1f} % a smaller largest overlap. The largest: "
        f"{'; '.join(told)}. The least that any {len(eight)} can have as their largest is "
        f"{largest[best]:.2f}: {listed([names[k] for k in sets[best]])}."
    )


def _stand_in(made: Figures) -> Iterator[str]:
    yield "## The stand-in"
    found = made.results.agreements
    accuracy = made.results.accuracy
    assert accuracy is not None
    lost = 1 - accuracy.values[0, 1:]
    strength = {one.form: agree(np.outer(lost, lost), one.values) for one in made.results.overlaps}
    rows = [
        [kind, *(text for form in found for text in _agreement(found[form].get(kind)))]
        for kind in found["ratio"]
    ]
    rows.append(["error rates", *(t for form in found for t in _agreement(strength[form]))])
    pairs = found["ratio"][NAMED].pairs
    yield (
        f"Spearman's ρ with the trained overlap, over {pairs} pairs. Intervals resample "
        "corruptions; p is Mantel's, one-sided, and 0.001 the least it can be. The last row is no "
        "stand-in, but what the strength of two corruptions alone tells: the product of the clean "
        "model's error rates under them."
    )
    yield grid(["kind", "ratio", "p", "raw", "p"], rows)
    named, later = found["ratio"][NAMED], found["ratio"][LATER]
    verdict = "and does" if named.rho >= WANTED else "and does not"
    yield (
        f"`{NAMED}` was named before the models were trained, as the one to be judged; it was to "
        f"reach {WANTED:g}, {verdict}: {ranged(named.rho, named.interval)}. `{LATER}` "
        f"({ranged(later.rho, later.interval)}) was found afterwards, on this very matrix, as the "
        "best of about six that were tried. Its interval and its p know nothing of that choice: it "
        "has yet to be confirmed on other corruptions."
    )


def _agreement(one: Agreement | None) -> tuple[str, str]:
    return ("-", "-") if one is None else (ranged(one.rho, one.interval), f"{one.p_value:.3f}")
