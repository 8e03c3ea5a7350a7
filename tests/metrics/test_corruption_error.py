"""CE, relative CE and AUDE on the worked examples and relations of the fact sheet."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hardy.metrics.classification import aude, corruption_error, relative_corruption_error

FRACTION = st.floats(0, 1)


def test_resnet_50_under_gaussian_noise() -> None:
    """CE 80 means e = 70.9; relative CE (70.9 − 23.9)/(88.6 − 43.5) prints as 104, not 83."""
    error = 0.80 * 0.886
    assert round(100 * error, 1) == 70.9
    assert corruption_error([error], [0.886]) == pytest.approx(0.80)
    relative = relative_corruption_error([error], 0.239, [0.886], 0.435)
    assert f"{100 * relative[0]:.1f}" == "104.2"


def test_ce_is_a_ratio_of_sums() -> None:
    errors = np.array([[0.1, 0.9]])
    reference = np.array([[0.5, 0.9]])
    ce = corruption_error(errors.mean(-1), reference.mean(-1))
    assert ce == pytest.approx([1.0 / 1.4])  # the mean of ratios would be 0.6


def test_a_reference_that_is_always_wrong_gives_the_plain_error() -> None:
    errors = np.array([0.3, 0.7])
    assert corruption_error(errors, np.ones(2)).tolist() == errors.tolist()


@given(FRACTION, arrays(np.float64, (3, 5), elements=FRACTION))
def test_aude_and_its_relation_to_the_mean_error(clean: float, errors: np.ndarray) -> None:
    area = aude(clean, errors)
    for row, value in zip(errors, area, strict=True):
        curve = [clean, *row]
        trapezoid = sum((a + b) / 2 for a, b in pairwise(curve)) / 5
        assert value == pytest.approx(trapezoid, abs=1e-12)
        assert value == pytest.approx(row.mean() - (row[-1] - clean) / 10, abs=1e-12)


def test_leading_axes_are_free() -> None:
    rng = np.random.default_rng(0)
    clean, errors = rng.random(4), rng.random((4, 3, 5))
    reference = rng.uniform(0.6, 1, 3)
    relative = relative_corruption_error(errors.mean(-1), clean, reference, 0.5)
    areas = aude(clean, errors)
    for i in range(4):
        one = relative_corruption_error(errors[i].mean(-1), clean[i], reference, 0.5)
        assert relative[i] == pytest.approx(one)
        assert areas[i] == pytest.approx(aude(clean[i], errors[i]))


def test_nothing_to_divide_by() -> None:
    assert np.isnan(corruption_error([0.5], [0.0]))
    assert np.isnan(relative_corruption_error([0.5], 0.2, [0.4], 0.4))
