"""Every published check value is met, with the reference's own draws injected.

vectors.csv: a synthetic n x n image (a ramp in red along x, in green along y, a chequerboard of
16-pixel fields in blue) corrupted by the reference with the legacy generator at seed 0. Channel
means, the standard deviation, and three pixels; motion blur and snow in the dataset's rounding.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import hardy
from hardy.suites import edition, load
from tests.corrupt.legacy import legacy_fields

VECTORS = Path(__file__).parent / "vectors.csv"
ROWS = list(csv.DictReader(VECTORS.read_text().splitlines()))
PLACES = {
    224: ((10, 20), (112, 60), (200, 150)),
    32: ((5, 9), (15, 8), (24, 22)),
}


def synthetic(side: int) -> np.ndarray:
    y, x = np.mgrid[:side, :side]
    blue = 25 + 200 * ((x // 16 + y // 16) % 2)
    return np.stack([255 * x // (side - 1), 255 * y // (side - 1), blue], axis=-1).astype(np.uint8)


def test_the_table_is_whole():
    cells = {(row["edition"], row["corruption"], row["severity"]) for row in ROWS}
    assert len(cells) == len(ROWS) == 2 * len(load("imagenet_c").corruptions) * 5


@pytest.mark.parametrize(
    "row", ROWS, ids=lambda row: "-".join([row["edition"], row["corruption"], row["severity"]])
)
def test_reference_values(row):
    constants = edition(row["edition"])
    name, severity = row["corruption"], int(row["severity"])
    image = synthetic(constants.side)
    fields = legacy_fields(name, image, constants.params(name, severity))
    result = hardy.replay(image, name, severity, fields, edition=row["edition"])
    means = np.array(row["mean_rgb"].split(), float)
    np.testing.assert_allclose(result.mean(axis=(0, 1)), means, rtol=0, atol=0.05)
    assert result.std() == pytest.approx(float(row["std"]), abs=0.05)
    for number, place in enumerate(PLACES[constants.side], start=1):
        expected = np.array(row[f"pixel_{number}"].split(), int)
        np.testing.assert_allclose(result[place].astype(int), expected, rtol=0, atol=1)
