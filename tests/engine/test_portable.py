"""The portable mathematics against exact arithmetic and SciPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from hardy.engine import portable
from hardy.suites import edition, editions
from tests.exact import exact_exp

SIGMAS = sorted(
    {row["sigma"] * row.get("base", 1) for e in editions("fog")
     for c in edition(e).corruptions.values() for row in c if row.get("sigma", 0) > 0}
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.floats(-60, 20))
def test_exp_is_correctly_rounded(x):
    assert portable.exp(x) == exact_exp(x)


def test_exp_of_every_filter_weight_is_correctly_rounded():
    checked = 0
    for sigma in SIGMAS:
        factor = -0.5 / (sigma * sigma)
        for i in range(0, int(4 * sigma + 0.5) + 1, max(1, int(sigma / 8))):
            assert portable.exp(factor * (i * i)) == exact_exp(factor * (i * i))
            checked += 1
    assert checked > 300


def test_exp_array_is_within_an_ulp():
    x = np.concatenate([np.linspace(-700, 20, 4001), np.linspace(-1, 1, 2001)])
    exact = np.array([exact_exp(value) for value in x])
    assert np.max(np.abs(portable.exp_array(x) - exact) / np.spacing(exact)) <= 1.0
    assert portable.exp_array(np.zeros(1))[0] == 1.0


def test_normal_cdf_against_scipy():
    z = np.concatenate([np.linspace(-40, 40, 20_001), np.linspace(-5.01, 5.01, 20_001)])
    cdf = portable.normal_cdf(z)
    np.testing.assert_allclose(cdf, special.ndtr(z), rtol=0, atol=1e-14)
    far = z[(z > -37) & (z < -5)]
    np.testing.assert_allclose(portable.normal_cdf(far), special.ndtr(far), rtol=1e-12)
    np.testing.assert_allclose(cdf + portable.normal_cdf(-z), 1.0, rtol=0, atol=2e-16)


def test_normal_quantile_against_scipy():
    p = np.concatenate([np.ldexp(1.0, np.arange(-33, 0)), np.linspace(1e-6, 0.5, 3001)])
    quantile = portable.normal_quantile_of_tail(p)
    np.testing.assert_allclose(quantile, -special.ndtri(p), rtol=0, atol=1e-9)


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 17, 127, 128, 129, 1025, 3001])
def test_pairwise_sum_is_numpys_sum_to_the_bit(n):
    values = np.random.default_rng(n).standard_normal(n)
    assert portable.pairwise_sum(values) == values.sum()


def test_pairwise_sum_is_the_same_in_every_python(monkeypatch):
    """The built-in `sum` of floats compensates for rounding from 3.12 on, as `fsum` does."""
    monkeypatch.setattr(portable, "sum", math.fsum, raising=False)
    values = np.array([1e16, 1.0, 1.0, 1.0])
    assert portable.pairwise_sum(values) == values.sum() == 1e16
    assert portable.pairwise_sum(np.tile(values, 5)) == np.tile(values, 5).sum()


def test_cos_sin_degrees_against_numpy():
    # Motion blur draws within 45 degrees, snow within -135 and -45.
    angle = np.concatenate([np.linspace(-135, 135, 100_001), [-90.0, -45.0, 0.0, 45.0]])
    cosine, sine = portable.cos_sin_degrees(angle)
    np.testing.assert_allclose(cosine, np.cos(np.deg2rad(angle)), rtol=0, atol=2e-15)
    np.testing.assert_allclose(sine, np.sin(np.deg2rad(angle)), rtol=0, atol=2e-15)
