"""Full runs that samples are drawn from: of the nets of `bench.until_nets`, and two of a law."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bench.until_nets import STORE
from hardy.metrics import wrong
from hardy.metrics.stability import flips
from hardy.store.reader import find_runs
from hardy.suites import load
from hardy.suites.cells import CLEAN, Cell

# Standard deviations of what an image, and an image under a cell, have in common for two models
# and what each has of its own: two cells of an image correlate by 0.43, two models within a cell by
# 0.62, as EfficientNet-Lite0 and -Lite1 do on photographs.
SHARED, UNDER_CELL, OWN = 0.83, 0.36, 0.42


class Truth(NamedTuple):
    """A full run: which predictions are wrong, and the scores that are looked at."""

    name: str
    cells: tuple[Cell, ...]  # clean images first
    wrong: np.ndarray  # (images, cells), or a share of frames
    labels: np.ndarray
    weights: dict[str, np.ndarray]  # of the means of cells, by score
    paired: bool = False  # predictions of one net less those of another

    def value(self, score: str) -> float:
        return float(self.weights[score] @ self.wrong.mean(axis=0))


def read_truths() -> list[Truth]:
    runs = [run for run in find_runs(STORE) if run.suite == "cifar10_c"]
    found = []
    for run in sorted(runs, key=lambda run: -run.read(run.cells, ["rank"])["rank"].mean()):
        cells = (CLEAN, *(cell for cell in run.cells if cell != CLEAN))
        missed = wrong(run.read(cells, ["rank"])["rank"])
        found.append(truth_of(run.model, cells, missed, run.labels))
    return found


def truth_of(name: str, cells: tuple[Cell, ...], missed: np.ndarray, labels: np.ndarray) -> Truth:
    """The main score, the corruption that is hardest, and the clean error, in percent."""
    names = [cell.name for cell in cells]
    errors = {one: missed[:, [n == one for n in names]].mean() for one in set(names[1:])}
    worst = max(errors, key=lambda one: errors[one])

    def mean_over(chosen: Sequence[bool]) -> np.ndarray:
        return 100 * np.array(chosen, float) / sum(chosen)

    weights = {
        "mean error": mean_over([cell != CLEAN for cell in cells]),
        f"error {worst}": mean_over([one == worst for one in names]),
        "clean error": mean_over([cell == CLEAN for cell in cells]),
    }
    return Truth(name, cells, missed, labels, weights)


def pair_of(one: Truth, two: Truth) -> Truth:
    """How much more often the second errs than the first; the corruption where it does so most."""
    apart = two.wrong.astype(float) - one.wrong
    name = f"{two.name} − {one.name}"
    return truth_of(name, one.cells, apart, one.labels)._replace(paired=True)


def read_sequences() -> list[Truth]:
    """Which share of its frames flips, of each sequence; there are no clean images."""
    found = []
    for run in (run for run in find_runs(STORE) if run.suite == "cifar10_p"):
        suite = load(run.suite)
        cells = tuple(Cell(name, 1) for name in suite.counted)
        images = np.flatnonzero(run.complete(cells))
        columns = [np.zeros(len(images))]
        for cell in cells:
            best = run.read([cell], ["top1"], images)["top1"][:, 0]
            columns.append(flips(best, noise=suite.edition.steps(cell.name).is_noise))
        shares = np.stack(columns, axis=1)
        truth = truth_of(f"{run.model}, flips", (CLEAN, *cells), shares, run.labels[images])
        found.append(truth._replace(weights=dict(list(truth.weights.items())[:2])))
    return found


def like_photographs(images: int = 50_000) -> tuple[Truth, Truth]:
    """Two similar models of a law, on as many images as ImageNet has."""
    names = load("imagenet_c").counted
    cells = (CLEAN, *(Cell(name, level) for name in names for level in range(1, 6)))
    rng = np.random.default_rng(0)
    edges = np.concatenate([[0.7], rng.uniform(-0.9, 0.7, len(cells) - 1)]).astype(np.float32)
    image = SHARED * rng.standard_normal((images, 1), np.float32)
    common = image + UNDER_CELL * rng.standard_normal((images, len(cells)), np.float32)
    own = [OWN * rng.standard_normal(common.shape, np.float32) for _ in range(2)]
    labels = np.arange(images) % 1000
    one, two = (
        truth_of(name, cells, common + noise > edges, labels)
        for name, noise in zip(("A of a law", "B of a law"), own, strict=True)
    )
    return one, two
