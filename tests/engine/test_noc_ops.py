"""The primitives of ImageNet-NOC against Pillow and plain loops; the torch engine against both."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from hardy.engine.ops import cpu_ops, ops_for
from hardy.engine.tables import filter_weights, noc_shapes
from tests.engine.torch_device import assert_same, moved
from tests.photos import photos, random_images

OPS = cpu_ops()
RNG = np.random.default_rng(4)
SIZES = [(8, 8), (9, 31), (45, 37), (64, 64)]


def both(name: str, *arguments: np.ndarray, **others: object) -> np.ndarray:
    """The CPU's result, which is the torch engine's too."""
    result = getattr(OPS, name)(*arguments, **others)
    tensors = [moved(one) for one in arguments]
    assert_same(getattr(ops_for(tensors[0]), name)(*tensors, **others), result)
    return result


def batch(height: int, width: int, count: int = 4) -> np.ndarray:
    photographs = photos(height, width)[: count // 2]
    return np.concatenate([photographs, random_images(count - count // 2, height, width)])


@pytest.mark.parametrize(
    ("sides", "place", "first", "weights"),
    [
        ((375, 256), 0, 0, [2678751, 1515553]),
        ((375, 256), 1, 1, [1539086, 2330169, 325049]),
        ((375, 256), 100, 146, [1486049, 2347413, 360842]),
        ((500, 341), 170, 249, [2097152, 2097152]),
        ((134, 224), 0, 0, [4194304]),
        ((134, 224), 1, 0, [2527817, 1666487]),
        ((134, 224), 2, 0, [18725, 4175579]),
    ],
)
def test_weights_of_pillow(sides, place, first, weights):
    """Values computed by hand from Pillow's formula; taps without weight may follow."""
    start, table = filter_weights.bilinear(*sides)
    assert start[place] == first
    assert [int(weight) for weight in table[place] if weight] == weights


@pytest.mark.parametrize("size", [(8, 8), (32, 32), (45, 37), (224, 224)])
def test_windows_are_resampled_as_pillow_does(size):
    images = batch(*size, count=6)
    for shrinking in (True, False):
        length = np.stack([RNG.integers(side // 2, side + 1, 6) for side in size], -1)
        first = np.stack(
            [RNG.integers(0, side + 1 - length[:, k]) for k, side in enumerate(size)], -1
        )
        target = np.stack([
            RNG.integers(1, length[:, k] + 1) if shrinking else RNG.integers(length[:, k], side + 1)
            for k, side in enumerate(size)
        ], -1)  # fmt: skip
        most = float((length / target).max())
        result = OPS.resample(images, first, length, target, most)
        arguments = [moved(one) for one in (images, first, length, target)]
        seen = ops_for(arguments[0]).resample(*arguments, most).cpu().numpy()
        for i, image in enumerate(images):
            (top, left), (tall, wide), (rows, columns) = first[i], length[i], target[i]
            window = Image.fromarray(image).crop((left, top, left + wide, top + tall))
            # In two steps: which of the two comes first depends on Pillow's version.
            for goal in ((columns, tall), (columns, rows)):
                window = window.resize(goal, Image.Resampling.BILINEAR)
            np.testing.assert_array_equal(result[i, :rows, :columns], np.asarray(window))
            np.testing.assert_array_equal(seen[i, :rows, :columns], np.asarray(window))


def test_every_shrinking_of_a_square_and_back():
    side = 40
    image = photos(side)[0]
    full = np.array([[side, side]])
    for small in range(1, side + 1):
        target = np.array([[small, small]])
        shrunk = OPS.resample(image[None], 0 * full, full, target, side / small)
        result = OPS.resample(shrunk, 0 * full, target, full, 1.0)
        picture = Image.fromarray(image).resize((small, small), Image.Resampling.BILINEAR)
        expected = picture.resize((side, side), Image.Resampling.BILINEAR)
        np.testing.assert_array_equal(result[0], np.asarray(expected))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("passes", [1, 2, 5])
def test_box_sums(size, passes):
    images = batch(*size)
    expected = images.astype(float)
    for _ in range(passes):
        padded = np.pad(expected, ((0, 0), (1, 1), (1, 1), (0, 0)))
        expected = sum(
            padded[:, dy : dy + size[0], dx : dx + size[1]] for dy in range(3) for dx in range(3)
        )
    np.testing.assert_array_equal(both("box_sums", images, passes=passes), expected)


def test_box_sums_too_large_to_be_exact():
    both("box_sums", batch(20, 24), passes=22)


@pytest.mark.parametrize("size", SIZES)
def test_blocks(size):
    images = batch(*size, count=6)
    sides = np.array([1, 2, 3, 4, 5, 7])
    result = both("blocks", images, sides)
    for image, side, seen in zip(images, sides, result, strict=True):
        rows, columns = size[0] // side, size[1] // side
        kept = image[: rows * side, : columns * side].astype(int)
        means = kept.reshape(rows, side, columns, side, 3).sum((1, 3)) // side**2
        large = means.repeat(side, 0).repeat(side, 1)
        rest = size[0] - rows * side, size[1] - columns * side
        pad = [(one // 2, one - one // 2) for one in rest]
        np.testing.assert_array_equal(seen, np.pad(large, (*pad, (0, 0)), mode="edge"))
    np.testing.assert_array_equal(result[0], images[0])


def test_look_up_and_sums():
    images = batch(45, 37)
    tables = RNG.integers(0, 256, (4, 256, 3), np.uint8)
    result = both("look_up", images, tables)
    for i, c in ((0, 0), (3, 2)):
        np.testing.assert_array_equal(result[i, ..., c], tables[i, :, c][images[i, ..., c]])
    sums = both("level_sums", images)
    np.testing.assert_array_equal(sums, images.astype(int).sum((1, 2, 3)))


@pytest.mark.parametrize("size", SIZES)
def test_maps_are_pillows(size):
    height, width = size
    images = batch(*size)
    for table in (
        noc_shapes.turns(7, 50, height, width),
        noc_shapes.shears(12, 39, height, width),
    ):
        assert len(table) % 2 == 0
        for start in range(0, len(table), 4):
            maps = np.array(table[start : start + 4])
            result = both("nearest", images[: len(maps)], maps)
            for image, seen, (a, b, c, d, e, f) in zip(images, result, maps / 65536, strict=False):
                # Pillow adds the pixel centres itself.
                matrix = (a, b, c - a / 2 - b / 2, d, e, f - d / 2 - e / 2)
                expected = Image.fromarray(image).transform(
                    (width, height), Image.Transform.AFFINE, matrix, Image.Resampling.NEAREST
                )
                np.testing.assert_array_equal(seen, np.asarray(expected))


def test_stamps():
    size, stamp = (30, 41), noc_shapes.disc(112)
    rows = RNG.integers(-2, 33, (3, 9))
    columns = RNG.integers(-2, 43, (3, 9))
    used = RNG.random((3, 9)) < 0.7
    last, counts = np.zeros((3, *size), np.int64), np.zeros((3, *size), np.int64)
    for i in range(3):
        for k in range(9):
            for dy, dx in stamp if used[i, k] else ():
                y, x = rows[i, k] + dy, columns[i, k] + dx
                if 0 <= y < size[0] and 0 <= x < size[1]:
                    last[i, y, x] = k + 1
                    counts[i, y, x] += 1
    assert counts.max() > 1
    places = rows, columns, used
    np.testing.assert_array_equal(both("last_stamp", *places, stamp=stamp, size=size), last)
    np.testing.assert_array_equal(both("stamp_counts", *places, stamp=stamp, size=size), counts)
