"""Logits to columns, against a slow formulation with Python's own numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hardy.errors import InputError
from hardy.images.labels import Classes
from hardy.metrics.frame_distance import zipf_columns
from hardy.run import reduce as module
from hardy.run.batching import check_finite, check_shape
from hardy.run.reduce import reduce
from hardy.suites import load


def slowly(logits: list[float], label: int) -> dict[str, Any]:
    """One row, term by term."""
    order = sorted(range(len(logits)), key=lambda k: (-logits[k], k))
    top = max(logits)
    weights = [math.exp(max(value - top, -1e4)) for value in logits]
    total = math.fsum(weights)
    prob = [weight / total for weight in weights]
    padding = 5 - min(5, len(order))
    return {
        "log_prob": max(logits[label] - top - math.log(total), -3.4028234663852886e38)
        if label >= 0
        else math.nan,
        "rank": order.index(label) if label >= 0 else -1,
        "square_sum": math.fsum(p * p for p in prob),
        "top5": order[:5] + padding * [-1],
        "top5_prob": [prob[k] for k in order[:5]] + padding * [0.0],
    }


@st.composite
def batches(draw: st.DrawFn) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    classes = draw(st.sampled_from([2, 3, 4, 5, 6, 10, 100, 1000]))
    rows = draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    logits = rng.normal(size=(rows, classes)) * draw(st.sampled_from([1e-3, 1.0, 30.0, 1e30]))
    if draw(st.booleans()):  # ties
        logits = np.round(logits / np.abs(logits).max(), 1) * draw(st.sampled_from([1.0, 1e30]))
    labels = rng.integers(-1, classes, rows)
    return logits.astype(draw(st.sampled_from([np.float32, np.float64]))), labels


@settings(deadline=None, max_examples=150, derandomize=True, database=None)
@given(batches())
@example((np.array([[1e308, -1e308], [0.0, 0.0]]), np.array([1, 1])))
@example((np.full((3, 6), 3.0, np.float32), np.array([0, 5, -1])))
def test_reduce(batch: tuple[npt.NDArray[Any], npt.NDArray[np.int64]]) -> None:
    logits, labels = batch
    got = reduce(logits, labels)
    for row, label in enumerate(labels):
        for name, value in slowly(logits[row].tolist(), label).items():
            if got[name].dtype == np.int32:
                assert got[name][row].tolist() == value, name
            else:
                assert got[name].dtype == np.float32
                np.testing.assert_allclose(got[name][row], value, rtol=2e-7, atol=1e-7)
        assert np.isfinite(got["log_prob"][row]) == (label >= 0)


def test_many_rows_are_reduced_as_one_is(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    logits, labels = rng.normal(size=(24, 10)).astype(np.float32), rng.integers(-1, 10, 24)
    whole = reduce(logits, labels, frames=4)
    monkeypatch.setattr(module, "BLOCK", 70)  # seven rows, and then some
    for name, values in reduce(logits, labels, frames=4).items():
        np.testing.assert_array_equal(values, whole[name])
    for row in range(24):
        for name, values in reduce(logits[row : row + 1], labels[row : row + 1]).items():
            np.testing.assert_array_equal(values[0], whole[name][row])


def test_distances_between_frames() -> None:
    logits = np.random.default_rng(0).normal(size=(6, 31, 12)).astype(np.float32)
    got = reduce(logits.reshape(-1, 12), np.full(6 * 31, -1), frames=31)["zipf"]
    np.testing.assert_array_equal(got.reshape(6, 31, 4), zipf_columns(logits).astype(np.float32))
    with pytest.raises(InputError, match="whole sequences of 31 frames, got 32 frames"):
        reduce(np.zeros((32, 12)), np.zeros(32, int), frames=31)


@pytest.mark.parametrize(
    ("logits", "labels", "message"),
    [
        (np.full((2, 3), np.nan), [0, 0], "expected finite logits"),
        (np.full((2, 3), -np.inf), [0, 0], "expected finite logits"),
        (np.zeros(3), [0], r"\(images, classes\), got \(3,\)"),
        (np.zeros((2, 3)), [0], "expected 2 labels"),
        (np.zeros((2, 3)), [0.0, 1.0], "whole numbers, got float64"),
        (np.zeros((2, 3)), [0, 3], "labels from 0 to 2 for a model of 3 classes, got 3"),
        (np.zeros((2, 3)), [-2, 0], "got -2"),
    ],
)
def test_what_cannot_be_reduced(logits: Any, labels: list[Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        reduce(logits, np.array(labels))


def test_a_models_mistakes_are_said_in_its_name() -> None:
    known: Any = {
        "classes": Classes(np.arange(5, dtype=np.int32), None, 10),
        "suite": load("cifar10_c"),
    }
    check_shape(np.zeros((5, 10)), model="m", rows=5, **known)
    with pytest.raises(InputError, match=r"^timm:x: expected logits for 10 classes, got 1,000;"):
        check_shape(np.zeros((5, 1000)), model="timm:x", rows=5, **known)
    with pytest.raises(InputError, match=r"^m: expected logits \(5, classes\).*64 \(10, 5\)"):
        check_shape(np.zeros((10, 5)), model="m", rows=5, **known)
    ids = ["a", "b\n", "c", "d", "e"]
    check_finite(np.ones(5, np.bool_), model="m", ids=ids)
    with pytest.raises(InputError, match=r"^m: .* for 4 of 5 images: b\\n, c, d, \.\.\.; look at"):
        check_finite(np.arange(5) == 0, model="m", ids=ids)
