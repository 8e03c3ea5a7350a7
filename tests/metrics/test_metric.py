"""What the registry of metrics declares."""

from __future__ import annotations

import numpy as np
import pytest

from hardy.errors import InputError
from hardy.metrics import METRICS, Metric, error
from hardy.metrics.calibration import nll
from hardy.metrics.metric import metric


def test_a_metric_says_what_it_needs_and_is() -> None:
    relative = METRICS["relative CE"]
    assert relative.needs == ("means", "clean", "reference", "reference_clean")
    assert (relative.base, relative.base.needs) == (error, ("rank",))
    assert (relative.is_ratio, relative.signed, relative.scale) == (True, True, 100)
    assert METRICS["Brier score"].needs == ("log_prob", "square_sum")
    assert METRICS["Zipf"].needs == ("zipf",), "how frames are compared comes by keyword"
    assert (METRICS["NLL"].clean, METRICS["CE"].clean) == ("clean NLL", "")
    assert nll.caption == "The negative log-likelihood of the label, in nats."


def test_every_metric_has_a_caption_of_one_sentence() -> None:
    for name in METRICS:
        caption = METRICS[name].caption
        assert caption[0].isupper(), name
        assert caption.endswith("."), name
        assert METRICS.summary(name) == caption


def test_no_two_scores_are_called_the_same() -> None:
    labels = [
        label
        for name in METRICS
        for label in (METRICS[name].mean, METRICS[name].clean, METRICS[name].validation)
        if label
    ]
    assert len(set(labels)) == len(labels)


def test_the_usual_goes_without_saying() -> None:
    one = Metric("sureness", lambda confidence: np.asarray(confidence))
    assert (one.mean, one.title, one.group) == ("sureness", "sureness", "headline")
    assert one.lower_is_better


def test_a_formula_asks_for_means_only() -> None:
    with pytest.raises(InputError, match=r'parameter of the metric odd: "mean"; did you mean "me'):
        metric("odd", of=error)(lambda mean: np.asarray(mean))
    assert "odd" not in METRICS
