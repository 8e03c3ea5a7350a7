"""A corruption that another package brings runs like ours."""

from __future__ import annotations

import numpy as np
import pytest

import hardy
from hardy.corrupt import CORRUPTIONS, Corruption

IMAGE = np.full((1, 40, 48, 3), 100, np.uint8)


@pytest.fixture
def dimming(monkeypatch):
    """Halves the light, and more so with severity, in the editions 64 and cifar."""

    def apply(ops, images, fields, *, factor):
        return ops.to_bytes(ops.unit(images, "float64") * factor)

    rows = [{"factor": 1 / severity} for severity in range(1, 6)]
    made = Corruption(
        "dimming",
        "weather",
        ("factor",),
        "x / severity",
        lambda draws, size, **_: {},
        apply,
        rows={"64": rows, "cifar": rows},
    )
    monkeypatch.setitem(CORRUPTIONS._objects, "dimming", made)
    return made


def test_its_own_rows_are_used(dimming):
    assert "dimming" in hardy.corruptions()
    assert (hardy.corrupt(IMAGE, "dimming", 2) == 50).all()
    assert (hardy.corrupt(IMAGE, "dimming", 4, edition="64") == 25).all()


def test_an_edition_it_has_no_row_for_is_named(dimming):
    with pytest.raises(hardy.InputError, match='corruption of edition 224 "dimming"'):
        hardy.corrupt(IMAGE, "dimming", 2, edition="224")


@pytest.mark.parametrize(
    ("name", "fields", "message"),
    [
        ("shot_noise", {"count": np.ones((1, 7, 7, 3))}, r"'count' as float64 \(1, 40, 48, 3\)"),
        ("gaussian_noise", {"normal": np.ones((1, 1, 1, 1))}, "'normal' as float64"),
        ("gaussian_noise", {"normal": np.full((1, 40, 48, 3), None)}, "got object"),
        ("gaussian_noise", {"nomral": np.ones((1, 40, 48, 3))}, "among word, normal, got 'nomral'"),
        ("contrast", {"word": np.ones((1, 40, 48, 3))}, "among none at all"),
    ],
)
def test_replayed_draws_must_fit(name, fields, message):
    with pytest.raises(hardy.InputError, match=message):
        hardy.replay(IMAGE, name, 1, fields)
