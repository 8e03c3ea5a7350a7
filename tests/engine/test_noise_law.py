"""The four pixelwise noises draw from the law of their formula, truncation included.

Laws are computed here with scipy.stats from the formula, never with ours, as arrays (256, 256):
the probability of each output byte for each input byte. Bytes come through the public functions.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

import hardy
from hardy.suites import SEVERITIES, edition, editions

NOISES = ("gaussian_noise", "shot_noise", "impulse_noise", "speckle_noise")
CELLS = list(product(editions("shot_noise"), NOISES, SEVERITIES))
LEVELS = np.arange(256)


def between(survival: np.ndarray) -> np.ndarray:
    """P(out >= 1), ..., P(out >= 255) of each input level, as the probability of each byte."""
    ones, zeros = np.ones((256, 1)), np.zeros((256, 1))
    whole = np.hstack([ones, survival, zeros])
    return whole[:, :-1] - whole[:, 1:]


def gaussian_noise(sigma: float) -> np.ndarray:
    x, y = LEVELS[:, None] / 255, LEVELS[1:] / 255
    return between(stats.norm.sf(y, loc=x, scale=sigma))


def speckle_noise(sigma: float) -> np.ndarray:
    x, y = LEVELS[1:, None] / 255, LEVELS[1:] / 255
    black = np.zeros((1, 255))
    return between(np.vstack([black, stats.norm.sf(y, loc=x, scale=x * sigma)]))


def shot_noise(photons: float) -> np.ndarray:
    counts = np.arange(int(photons) + 1)
    chance = stats.poisson.pmf(counts, photons * LEVELS[:, None] / 255)
    chance[:, -1] = stats.poisson.sf(photons - 1, photons * LEVELS / 255)
    law = np.zeros((256, 256))
    for count in counts:
        law[:, np.uint8(np.clip(count / photons, 0, 1) * 255)] += chance[:, count]
    return law


def impulse_noise(amount: float) -> np.ndarray:
    law = np.eye(256) * (1 - amount)
    law[:, [0, 255]] += amount / 2
    return law


def expected_law(edition_name: str, noise: str, severity: int) -> np.ndarray:
    (strength,) = edition(edition_name).params(noise, severity).values()
    return globals()[noise](strength)


def measured_law(edition_name: str, noise: str, severity: int) -> np.ndarray:
    """What all 2**32 words give for all 256 levels, found through `replay` by bisection.

    The upper eight bits of a word choose a column. Within a column one switch, from one byte to
    another, is possible as the lower 24 bits rise; it is searched for. (That there is no second
    one, the draws of the chi-square test watch over.)
    """
    level, column = (np.repeat(grid[..., None], 3, -1) for grid in np.mgrid[:256, :256])
    images = level.astype(np.uint8)

    def byte(low: np.ndarray) -> np.ndarray:
        words = (column << 24 | low).astype(np.uint32)
        fields = {"word": words[None]}
        return hardy.replay(images, noise, severity, fields, edition=edition_name)

    first, last = np.zeros_like(level), np.full_like(level, 2**24 - 1)
    start, end = byte(first), byte(last)
    while np.any(last - first > 1):
        middle = (first + last) // 2
        before = byte(middle) == start
        first, last = np.where(before, middle, first), np.where(before, last, middle)
    switch = np.where(start == end, 2**24, last)[..., 0]
    law = np.zeros((256, 256))
    np.add.at(law, (level[..., 0], start[..., 0]), switch)
    np.add.at(law, (level[..., 0], end[..., 0]), 2**24 - switch)
    return law / 2**32


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: "-".join(map(str, cell)))
def test_exact_law(cell):
    law = expected_law(*cell)
    np.testing.assert_allclose(law.sum(axis=1), 1, rtol=0, atol=1e-12)
    # Probabilities are multiples of 2**-32: both edges of a byte's share are rounded to one.
    np.testing.assert_allclose(measured_law(*cell), law, rtol=0, atol=1.01 * 2**-32)


def chi_square(cell: tuple[str, str, int], draws: int, law: np.ndarray) -> float:
    """p of `draws` values of the production path, every input level equally often, under `law`."""
    edition_name, noise, severity = cell
    count = -(-draws // (256 * 256 * 3))
    values = np.arange(count * 256 * 256 * 3, dtype=np.int64)
    images = (values * 91 + values // 256).astype(np.uint8).reshape(count, 256, 256, 3)
    result = hardy.corrupt(images, noise, severity, edition=edition_name)
    pairs = images.reshape(-1).astype(np.int64) << 8 | result.reshape(-1)
    observed = np.bincount(pairs, minlength=65536).reshape(256, 256)
    expected = law * observed.sum(axis=1, keepdims=True)
    assert observed.sum(axis=1).min() > 0.99 * draws / 256
    statistic, freedom = 0.0, 0
    for seen, hoped in zip(observed, expected, strict=True):
        seen, hoped = merged(seen, hoped)
        assert seen[hoped == 0].sum() == 0
        seen, hoped = seen[hoped > 0], hoped[hoped > 0]
        statistic += ((seen - hoped) ** 2 / hoped).sum()
        freedom += len(seen) - 1
    return float(stats.chi2.sf(statistic, freedom))


def merged(seen: np.ndarray, hoped: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bins joined from the left until each expects 10 or more; the last bin takes the remainder.

    Bytes that cannot occur at all are kept apart, at zero, so that one occurrence is an error.
    """
    never = hoped < 1e-13 * hoped.sum()
    bins: list[list[float]] = []
    for s, h in zip(seen[~never], hoped[~never], strict=True):
        if bins and bins[-1][1] < 10:
            bins[-1][0], bins[-1][1] = bins[-1][0] + s, bins[-1][1] + h
        else:
            bins.append([s, h])
    if len(bins) > 1 and bins[-1][1] < 10:
        s, h = bins.pop()
        bins[-1][0], bins[-1][1] = bins[-1][0] + s, bins[-1][1] + h
    joined = np.array(bins)
    return np.append(joined[:, 0], seen[never].sum()), np.append(joined[:, 1], 0.0)


@pytest.mark.parametrize(("name", "severity"), [("224", 5), ("cifar", 1)])
@pytest.mark.parametrize("noise", NOISES)
def test_a_million_draws(name, noise, severity):
    cell = (name, noise, severity)
    assert chi_square(cell, 10**6, expected_law(*cell)) > 1e-4 / 8


@pytest.mark.slow
def test_ten_million_draws_of_every_cell():
    p = {cell: chi_square(cell, 10**7, expected_law(*cell)) for cell in CELLS}
    worst = min(p, key=p.__getitem__)
    print(f"\nsmallest of {len(p)} p-values: {p[worst]:.2e} at {worst}")
    assert p[worst] > 1e-4 / len(p), worst
    # Too good a fit would be as suspicious: p-values of true laws are uniform.
    assert stats.kstest(list(p.values()), "uniform").pvalue > 1e-4


def test_a_wrong_law_is_noticed():
    cell = ("224", "gaussian_noise", 1)
    assert edition("224").params(*cell[1:]) == {"sigma": 0.08}
    assert chi_square(cell, 10**6, gaussian_noise(0.085)) < 1e-10
