"""The line that clean accuracy predicts by, beside SciPy's, and what is beyond it."""

import math

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import linregress, t

from hardy.errors import InputError
from hardy.metrics import Interval, proportion_interval
from hardy.metrics.logit_fit import effective_interval, fit_logits

POINTS = [(56.5, 43.4), (69.0, 55.7), (69.8, 57.9), (70.4, 57.4), (76.1, 63.2), (78.3, 66.8)]


def test_the_line_is_that_of_an_ordinary_regression_of_logits():
    clean, right = np.array(POINTS).T / 100
    line, plain = fit_logits(POINTS), linregress(logit(clean), logit(right))
    assert line.slope == pytest.approx(plain.slope)
    assert line.intercept == pytest.approx(plain.intercept)
    assert (line.number, line.low, line.high) == (6, 56.5, 78.3)
    predicted = 100 * expit(plain.intercept + plain.slope * logit(clean))
    assert [line.predict(one) for one, _ in POINTS] == pytest.approx(predicted)
    off = 100 * right - predicted
    assert line.spread == pytest.approx(math.sqrt(off @ off / 4))


def test_points_on_a_line_by_hand():
    """Slope 1 and a shift by −log 3: half right falls to a quarter, three quarters to a half."""
    clean = [20.0, 50.0, 60.0, 75.0, 90.0]
    line = fit_logits([(one, 100 * one / (one + 3 * (100 - one))) for one in clean])
    assert line.slope == pytest.approx(1)
    assert line.intercept == pytest.approx(-math.log(3))
    assert line.predict(50) == pytest.approx(25)
    assert line.predict(75) == pytest.approx(50)
    assert line.spread == pytest.approx(0, abs=1e-9)


def test_a_model_that_is_never_or_always_right_has_no_logit_and_does_not_count():
    assert fit_logits([*POINTS, (91.9, 0.0), (100.0, 60.0)]) == fit_logits(POINTS)
    line = fit_logits(POINTS)
    assert (line.predict(0), line.predict(100)) == (0, 100)
    assert line.predict(99.999) == pytest.approx(100, abs=0.1)
    assert [line.beyond(one) for one in (56.4, 56.5, 78.3, 78.4)] == [True, False, False, True]


def test_too_few_points_and_a_line_that_does_not_rise_are_refused():
    with pytest.raises(InputError, match=r"expected at least 5 models .* above 0 and .*, got 4"):
        fit_logits([*POINTS[:4], (91.9, 0.0)])
    for points in ([(clean, 100 - right) for clean, right in POINTS], [(70.0, 50.0)] * 5):
        with pytest.raises(InputError, match="expected accuracy to rise with clean accuracy over"):
            fit_logits(points)


def test_what_is_beyond_the_line_varies_as_over_resampled_images_of_both_sets():
    line, random, number = fit_logits(POINTS), np.random.default_rng(0), 1000
    sure = line._replace(residual=0.0)
    hits, clean_hits = 650, 740
    drawn = random.binomial(number, [hits / number, clean_hits / number], (4000, 2)) / number
    plain = 100 * drawn[:, 0] - [line.predict(100 * one) for one in drawn[:, 1]]
    ends = [proportion_interval(one, number) for one in (clean_hits, hits)]
    clean, right = (Interval(100 * low, 100 * high) for low, high in ends)
    value, interval = effective_interval(sure, (74.0, clean), (65.0, right))
    assert value == pytest.approx(65 - line.predict(74.0))
    assert tuple(interval) == pytest.approx(np.quantile(plain, [0.025, 0.975]), abs=0.25)
    alone = effective_interval(sure, (74.0, Interval(74.0, 74.0)), (65.0, right))[1]
    assert tuple(alone) == pytest.approx([one - line.predict(74.0) for one in right])
    wider = effective_interval(line, (74.0, clean), (65.0, right))[1]
    assert wider.low < interval.low
    assert interval.high < wider.high


def test_the_line_is_as_uncertain_as_a_regression_says():
    """The formula of every textbook, by way of a matrix; and in logits, then in percent."""
    line = fit_logits(POINTS)
    x, y = (np.array([math.log(p[s] / (100 - p[s])) for p in POINTS]) for s in (0, 1))
    design = np.column_stack([np.ones(len(x)), x])
    found, rest, *_ = np.linalg.lstsq(design, y, rcond=None)
    here = np.array([1.0, math.log(74 / 26)])
    freedom = len(x) - 2
    error = math.sqrt(rest[0] / freedom * here @ np.linalg.inv(design.T @ design) @ here)
    half = t.ppf(0.975, freedom) * error
    ends = [100 / (1 + math.exp(-(here @ found + one))) for one in (-half, half)]
    assert tuple(line.interval(74.0)) == pytest.approx(ends)
    assert line.interval(100.0) == (100.0, 100.0)


def test_intervals_hold_the_truth_over_lines_that_are_drawn_anew():
    """Nine models around a line, and one with 2,000 images of each kind, 3 points beyond it."""
    random, held, rounds, number = np.random.default_rng(1), 0, 400, 2000
    clean_logits = np.linspace(0.2, 1.6, 9)
    clean = 100 / (1 + math.exp(-1.0))
    truth = 100 / (1 + math.exp(0.6 - 0.9)) + 3
    for _ in range(rounds):
        logits = -0.6 + 0.9 * clean_logits + random.normal(0, 0.15, 9)
        sides = [100 / (1 + np.exp(-one)) for one in (clean_logits, logits)]
        line = fit_logits(zip(*sides, strict=True))
        counts = [int(random.binomial(number, share / 100)) for share in (clean, truth)]
        seen = []
        for hits in counts:
            low, high = proportion_interval(hits, number)
            seen.append((100 * hits / number, Interval(100 * low, 100 * high)))
        low, high = effective_interval(line, *seen)[1]
        held += low <= 3 <= high
    assert 0.92 <= held / rounds <= 0.98
