"""CIFAR-10-C-bar's check values, made by the original code on the card of `test_vectors`.

c_bar_vectors.json: zooms of the three channels, ways of the nine whirls, column after column, and
lines as row, column and angle; then channel means, the standard deviation and three pixels.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hardy
from tests.corrupt.test_vectors import PLACES, synthetic
from tests.engine.torch_device import assert_same, moved

ROWS = json.loads(Path(__file__).with_name("c_bar_vectors.json").read_text())


def drawn(row: dict[str, Any]) -> dict[str, np.ndarray]:
    if "zooms" in row:
        return {"order": np.argsort(np.argsort(row["zooms"]))[None]}
    if "ways" in row:
        return {"turns": (np.array(row["ways"]).reshape(1, 3, 3) > 0).swapaxes(1, 2).astype(int)}
    places, columns, angles = np.array(row["lines"]).T[:, None]
    turn = angles / (2 * np.pi)
    one = np.ones((1, 1))
    return {"row": places, "column": columns, "angle": 0 * one, "spread": one, "turn": turn}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['corruption']}-{row['severity']}")
def test_original_values(row):
    name, severity, card = row["corruption"], row["severity"], synthetic(32)
    result = hardy.replay(card, name, severity, drawn(row), edition="c_bar_cifar")
    np.testing.assert_allclose(result.mean(axis=(0, 1)), row["mean"], rtol=0, atol=0.0006)
    assert result.std() == pytest.approx(row["std"], abs=0.0006)
    assert [result[place].tolist() for place in PLACES[32]] == row["pixels"]
    on_device = hardy.replay(moved(card), name, severity, drawn(row), edition="c_bar_cifar")
    assert_same(on_device, result)
