"""Whether boxes and masks still fit: what each corruption says of itself, against a soft spot."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import hardy
from bench.displacement import displacements
from hardy.corrupt import CORRUPTIONS
from hardy.corrupt.corruption import corruption
from hardy.errors import InputError
from hardy.suites import edition, editions

SIZE = (180, 240)
# In pixels. Noise and drawn things hide parts of the spot, so that its middle seems to move.
STILL, GONE = 2.5, 20.0
HIDES_HALF_OF_IT = "checkerboard_cutout"
# Of the fifteen, so not refused: its affine step moves objects at severities 1 and 2.
FARTHEST = {"elastic_transform": 40.0}
OWN = [name for name in CORRUPTIONS if name not in CORRUPTIONS.plugins()]


def farthest(name: str) -> tuple[float, float]:
    """The mean and the greatest displacement, of the severity at which it is greatest."""
    levels = edition(editions(name)[0]).severities(name)
    calls = [partial(hardy.corrupt, name=name, severity=level) for level in levels]
    found = [displacements(call, SIZE, count=3) for call in calls]
    return max((float(np.nanmean(one)), float(np.nanmax(one))) for one in found)


@pytest.mark.parametrize("name", OWN)
def test_a_corruption_moves_what_it_says(name: str) -> None:
    mean, most = farthest(name)
    moves = CORRUPTIONS[name].moves
    if moves == "objects":
        assert mean > GONE
    elif moves == "pixels":
        assert most > STILL
        assert mean < FARTHEST.get(name, 22.0)
    else:
        assert mean < STILL
        assert most < STILL or name == HIDES_HALF_OF_IT


def test_the_measure_sees_a_shift() -> None:
    shifted = partial(np.roll, shift=(3, -4), axis=(1, 2))
    assert displacements(shifted, SIZE, count=2) == pytest.approx(np.full(6, 5.0), abs=0.01)


def test_another_word_is_refused_when_it_is_registered() -> None:
    with pytest.raises(
        InputError, match="expected moves among nothing, pixels, objects, got 'all'"
    ):
        corruption("weather", moves="all")  # type: ignore[arg-type]
