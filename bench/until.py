"""`python -m bench.until`: samples of full runs, drawn and stopped as `hardy eval --until` does.

The truth is known: nets of `bench.until_nets` have predictions of all 10,000 images under all
cells. Each replay has a seed of its own, and with it another order of images and cells. The rest is
what a run does: rounds, looks, the choice of cells per image, stopping.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from bench.cpu import RESULTS
from bench.table import grid
from bench.until_truths import Truth, like_photographs, pair_of, read_sequences, read_truths
from hardy.files import write_file
from hardy.metrics import Interval
from hardy.metrics.intervals import NORMAL_QUANTILE, difference_interval
from hardy.metrics.sampled_means import Control, SampledTable
from hardy.run.cells_per_image import Costs, Looked
from hardy.run.sample_design import SampleDesign
from hardy.run.sample_plan import first_round
from hardy.run.sample_rounds import SampleRounds
from hardy.scores.sampled_estimates import SampledEstimate, estimate_mean
from hardy.scores.score import unseen_share

TARGETS = (2.0, 1.0, 0.5, 0.3)
# Small images that lie in memory: nothing but predictions costs anything.
COSTS = Costs(0.0, 1e-3)
LINES = RESULTS / "until.json"  # what was measured, of which the page is made
Line = dict[str, Any]


class Replay(NamedTuple):
    estimates: dict[str, tuple[float, Interval]]
    cells: int  # predictions, and those of clean images
    clean: int
    per_image: int


def replay(truth: Truth, target: float, control: Truth | None, seed: int) -> Replay:
    """One sample, stopped when the interval of the main score is narrow enough."""
    images, columns = truth.wrong.shape
    design = SampleDesign(
        range(images), truth.labels, cells=columns - 1, suite="cifar10_c", seed=seed
    )
    rounds = SampleRounds(design, truth.cells)
    missed, labels = truth.wrong[design.line], truth.labels[design.line]
    while True:
        wanted = rounds.wanted()
        kept = wanted.any(axis=1)
        values = np.where(wanted[kept], missed[kept], np.nan)
        known = None
        if control is not None:
            theirs = control.wrong[design.line[kept]].astype(float)
            known = Control(control.name, theirs, control.wrong.mean(axis=0))
        table = SampledTable(values, images, labels[kept], known)
        looked = look(estimate(table, truth.weights["mean error"], truth.paired), target)
        if not rounds.plan.per_image and looked.far > 1:
            rounds.choose(looked, COSTS, lambda line: None)
        if not rounds.advance(looked, 0.0, math.inf):
            shown = wanted.sum(axis=0)
            estimates = {
                name: estimate(table, one, truth.paired) for name, one in truth.weights.items()
            }
            found = {name: (one.value, one.interval) for name, one in estimates.items()}
            return Replay(found, int(shown[1:].sum()), int(shown[0]), rounds.plan.per_image)


def estimate(table: SampledTable, weights: np.ndarray, paired: bool) -> SampledEstimate:
    value = float(weights[weights != 0] @ table.means[weights != 0])
    if paired:  # as `hardy.scores.sampled_pairs` has it
        error, images, freedom, known = table.error_of(weights)
        leeway = unseen_share(images) * float(np.abs(weights).sum())
        interval, _ = difference_interval(value, error, leeway, freedom)
        return SampledEstimate(value, interval, freedom, known, table, weights)

    def reach(share: float) -> Interval:
        return Interval((1 - share) * value, (1 - share) * value + 100 * share)

    return estimate_mean(table, weights, value, reach)


def look(one: SampledEstimate, target: float) -> Looked:
    half = (one.interval.high - one.interval.low) / 2
    return Looked("", half / target, 0.0, one.known, *one.table.components(one.weights), target)


class Needed(NamedTuple):
    """Predictions of cells that bring the main score to a width, by the variances of the truth."""

    subset: float
    spread: float  # as few cells per image as there are images for
    per_image: int
    rho: float  # mean correlation of two cells of an image


def theory(truth: Truth, target: float, control: Truth | None = None) -> Needed:
    """Images within classes; a sample spread over cells has the variance within each of these."""
    own = _within(truth)
    between, single, together = _variances(own)
    subset = (target / NORMAL_QUANTILE) ** 2 + between / len(own)
    needed_by_subset = own.shape[1] * between / subset
    rho = together / single
    if control is not None:
        other = _within(control)
        own = own - float((own * other).sum() / (other * other).sum()) * other
        between, single, together = _variances(own)
    images, cells = own.shape
    k = np.arange(1, cells + 1)
    allowed = (target / NORMAL_QUANTILE) ** 2 + between / images
    n = (between + (single - together) * (1 - k / cells) / k) / allowed
    best = int(np.argmin(np.where(n <= images, n * k, np.inf)))
    return Needed(needed_by_subset, float(n[best] * k[best]), int(k[best]), rho)


def _within(truth: Truth) -> np.ndarray:
    """What is left of each prediction when the means of its cell and of its class are taken off:
    classes are in proportion in a sample, but not under each of its cells."""
    classes = np.unique(truth.labels, return_inverse=True)[1]
    own = truth.wrong[:, 1:] - truth.wrong[:, 1:].mean(axis=0)
    of_class = np.bincount(classes, own.mean(axis=1)) / np.bincount(classes)
    return np.asarray(100 * (own - of_class[classes][:, None]))


def _variances(rest: np.ndarray) -> tuple[float, float, float]:
    """The variances of an image's mean and of a prediction, and the covariance of two of it."""
    cells = rest.shape[1]
    between, single = float((rest.mean(axis=1) ** 2).mean()), float((rest**2).mean())
    return between, single, (cells * between - single) / (cells - 1)


class Summary(NamedTuple):
    held: dict[str, float]
    bias: dict[str, float]  # in half-widths
    half: float
    used: float
    clean: float
    per_image: str


def summarise(truth: Truth, some: Sequence[Replay]) -> Summary:
    held, bias = {}, {}
    for name in truth.weights:
        value = truth.value(name)
        values = np.array([one.estimates[name][0] for one in some])
        ends = np.array([one.estimates[name][1] for one in some])
        held[name] = float(((ends[:, 0] <= value) & (value <= ends[:, 1])).mean())
        half = (ends[:, 1] - ends[:, 0]).mean() / 2
        bias[name] = float((values.mean() - value) / half)
        if name == "mean error":
            main = half
    counts = np.bincount([one.per_image for one in some])
    shares = ", ".join(f"{k}" for k in np.flatnonzero(counts > 0.02 * len(some)))
    used, clean = (float(np.mean([one[place] for one in some])) for place in (1, 2))
    return Summary(held, bias, float(main), used, clean, shares)


TOLD = """# How well samples of a run estimate it

Three small nets (`python -m bench.until_nets`, trained on a CPU) have full runs of CIFAR-10-C,
10,000 images under 75 cells: the truth. `python -m bench.until` draws samples of them,
each with a seed of its own, and stops each as `hardy eval --until` does. Reading an image costs
nothing here, so each gets as few cells as there are images for. "by" another net: its full run is
the control. "of a law" are simulated: 50,000 images, two cells of which correlate by 0.43, and two
models within a cell by 0.61, near the 0.43 and 0.62 of EfficientNets on
photographs; 20 samples say what they cost, not how often intervals hold. "flips": sequences of
CIFAR-10-P, whole, of 1,000 images; a prediction is a sequence
there, and the clean images, which they lack, count for nothing. "−" between two nets: the
difference of their errors, pair by pair, as `hardy compare A B --until` stops; the worst corruption
is there the one with the largest difference.

Percent of 95 % intervals that hold the full run's value, when the sample had stopped; then the
bias, in half-widths of the interval. The worst corruption is the one with the highest error.

{held}

Predictions under cells. By theory, from the variances of the full run: all cells of fewer images
(`--subset`), and this design, had it known these from the start. Used: the mean over samples, to
which clean images come. A design that also held classes in proportion under each cell, as this one
does not, would need less: for ± 1 by 4 % (weak), 8 % (usual) and 3 % (disturbed), so that 17 to
20 % more than it were used. The steps after the first round were settled on the first 200 of
usual's samples, which are among those counted here.

By theory all images of a sample have equally many cells. Where it shows all images there are, and
some of them under a cell more, that is cheaper, so "used" may be less than theory.

The first round: images of two cells, and of one. "Earlier" rows are of nets trained on another
machine and of a first round of 375 images of two cells; of sequences it had 100, as it has now.

{costs}
"""


def page(lines: Mapping[str, Line]) -> str:
    scores = ["mean error", "worst corruption", "clean error"]
    head = ["net, half-width", "samples", *scores, "bias", "bias, worst", "bias, clean"]
    cost_head = ["net, half-width", "--subset", "theory", "used", "clean images", "saved"]
    cost_head += ["used / theory", "cells per image", "first round"]
    ordered = sorted(lines.items(), key=lambda item: (-item[1]["target"], item[0]))
    held = [[name, f"{one['times']:,}", *one["held"]] for name, one in ordered]
    costs = [[name, *one["costs"], one.get("first", "earlier")] for name, one in ordered]
    return TOLD.format(held=grid(head, held), costs=grid(cost_head, costs))


def measure(truth: Truth, control: Truth | None, target: float, times: int, workers: int) -> Line:
    with ProcessPoolExecutor(workers) as pool:
        draw = partial(replay, truth, target, control)
        some = list(pool.map(draw, range(times), chunksize=5))
    found, needed = summarise(truth, some), theory(truth, target, control)
    names = list(truth.weights)
    held = [f"{100 * found.held[name]:.1f}" for name in names]
    held += [""] * (3 - len(names))  # sequences have no clean images
    held += [f"{found.bias[name]:+.3f}" for name in names] + [""] * (3 - len(names))
    figures = (needed.subset, needed.spread, found.used, found.clean)
    costs = [f"{one:,.0f}" for one in figures]
    costs += [f"{needed.subset / found.used:.1f}", f"{found.used / needed.spread:.2f}"]
    images, columns = truth.wrong.shape
    _, pilot, once = first_round(images, columns - 1)
    line = {"target": target, "times": times, "held": held, "costs": [*costs, found.per_image]}
    return line | {"first": f"{pilot:,} × 2 + {once:,}"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=1000)
    parser.add_argument("--targets", type=float, nargs="+", default=TARGETS)
    parser.add_argument("--only", nargs="+", help="nets by their names, if not all and a law's")
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    nets = read_truths()
    plans: list[tuple[Truth, Truth | None]] = [(net, None) for net in nets]
    if len(nets) > 1:  # the two that are most alike
        plans.append((nets[-1], nets[-2]))
    plans += [(pair_of(a, b), None) for a, b in combinations(nets, 2)]
    one, two = like_photographs()
    plans += [(one, None), (one, two), *((some, None) for some in read_sequences())]
    for target in asked.targets:
        for truth, control in plans:
            if asked.only is None or truth.name in asked.only:
                label = f"{truth.name}{f' by {control.name}' if control else ''}, ± {target:g}"
                line = measure(truth, control, target, asked.times, asked.workers)
                print(label, line, flush=True)
                lines = json.loads(LINES.read_text()) if LINES.exists() else {}
                write_file(LINES, json.dumps(lines | {label: line}, indent=1).encode())
    write_file(RESULTS / "until.md", page(json.loads(LINES.read_text())).encode())


if __name__ == "__main__":
    main()
