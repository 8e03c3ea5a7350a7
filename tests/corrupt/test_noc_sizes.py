"""The corruptions of ImageNet-NOC at other sizes than the 224 pixels they were made for."""

from __future__ import annotations

import numpy as np
import pytest

import hardy
from hardy.engine.ops import cpu_ops
from hardy.engine.tables import noc_shapes
from hardy.suites import load
from tests.corrupt.noc_references import replay
from tests.photos import photos


def test_strengths_are_those_of_224_at_any_size():
    for name in load("noc_23").corruptions:
        drawn = [hardy.draw(name, 1, size, ids=range(40)) for size in ((224, 224), (32, 32))]
        for field in ("strength", "right", "down"):
            if field in drawn[0]:
                np.testing.assert_array_equal(drawn[0][field], drawn[1][field])


@pytest.mark.parametrize(
    ("length", "side", "expected"),
    [(47, 224, 47), (47, 32, 7), (125, 32, 18), (9, 32, 1), (1, 32, 1), (3, 32, 1), (46, 299, 61),
     (7, 448, 14), (4, 112, 2), (1, 112, 1), (11, 112, 6)],
)  # fmt: skip
def test_lengths_are_rounded_and_at_least_one_pixel(length, side, expected):
    assert noc_shapes.scaled(length, side) == expected


def cells(stamp: np.ndarray) -> set[tuple[int, int]]:
    return set(map(tuple, stamp.tolist()))


def test_stamps_at_32_pixels():
    assert cells(noc_shapes.disc(32)) == {(-1, 0), (0, -1), (0, 0), (0, 1), (1, 0)}
    assert cells(noc_shapes.rhombus(32)) == {(0, -1), (0, 0)}
    assert cells(noc_shapes.dash(32)) == {(0, 0)}
    assert cells(noc_shapes.dots(6, 32)) == {(0, 1), (0, 2)}
    assert cells(noc_shapes.dots(-10, 32)) == {(0, -1), (0, 0)}


@pytest.mark.parametrize("side", [224, 299, 448, 600])
def test_stamps_grow_with_the_image(side):
    scale = (side / 224) ** 2
    for stamp, area in (
        (noc_shapes.disc(side), 121),
        (noc_shapes.rhombus(side), 98),
        (noc_shapes.dash(side), 15),
    ):
        assert len(stamp) == pytest.approx(area * scale, rel=0.3)
        assert len(cells(stamp)) == len(stamp)
    for upright in (False, True):
        turned = cells(noc_shapes.dots(6, side, upright))
        flat = cells(noc_shapes.dots(6, side))
        assert turned == ({(b, a) for a, b in flat} if upright else flat)


@pytest.mark.parametrize(
    ("side", "reach"), [(8, 1), (32, 1), (64, 1), (100, 2), (224, 5), (448, 10)]
)
def test_reach_of_the_blur(side, reach):
    image = np.zeros((side, side, 3), np.uint8)
    image[:, side // 2] = 255
    blurred = replay(image, "blur", strength=0.95)
    sums = cpu_ops().box_sums(image[None], noc_shapes.scaled(5, side))[0, side // 2, :, 0]
    assert np.flatnonzero(sums).tolist() == list(range(side // 2 - reach, side // 2 + reach + 1))
    assert blurred[side // 2, side // 2 + 1, 0] > 0


def test_nothing_is_left_as_it_is_at_32_pixels():
    images = photos(32)
    for name in load("cifar10_noc_23").corruptions:
        result = hardy.corrupt(images, name, 1, seed=1)
        assert (result != images).any(axis=(1, 2, 3)).all(), name
