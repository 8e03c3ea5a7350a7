"""Shuffle, plasma and relief of the torch engine: the bits of the CPU engine's."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from hardy.engine.cpu import fields as cpu_fields
from hardy.engine.ops import cpu_ops
from hardy.engine.torch import fields as torch_fields
from tests.engine.torch_device import BATCHES, assert_same, moved
from tests.photos import photos

OPS = cpu_ops()


def _targets(images, reach):
    _, height, width, _ = images.shape
    return max(height - 2 * reach, 0) * max(width - 2 * reach, 0)


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize(("reach", "passes"), [(1, 2), (2, 1), (2, 3), (3, 2), (4, 2), (5, 1)])
def test_shuffle(batch, reach, passes):
    images = BATCHES[batch]
    shape = (len(images), passes, _targets(images, reach))
    moves = np.random.default_rng(0).integers(0, 4 * reach * reach, shape).astype(np.uint32)
    expected = OPS.shuffle(images, moves, reach)
    for dtype in (np.uint32, np.int64):
        assert_same(
            torch_fields.shuffle(moved(images), moved(moves.astype(dtype)), reach), expected
        )


@pytest.mark.parametrize("reach", [2, 3, 4])
def test_shuffle_with_the_longest_chains(reach):
    """Each pixel copies the one to its right, and where that has gone far enough, one below."""
    images = BATCHES["random"][:1]
    _, height, width, _ = images.shape
    right = reach * 2 * reach + reach + 1
    down_left = (reach + 1) * 2 * reach
    for period in (1, 2, reach + 1, width):
        moves = np.full((height - 2 * reach, width - 2 * reach), right, np.uint32)
        moves[:, ::period] = down_left
        moves = moves.reshape(1, 1, -1)
        expected = OPS.shuffle(images, moves, reach)
        assert_same(torch_fields.shuffle(moved(images), moved(moves), reach), expected)


def test_shuffle_never_reads_outside():
    images = BATCHES["random"]
    moves = np.random.default_rng(0).integers(-(2**31), 2**31, (3, 1, _targets(images, 2)))
    result = torch_fields.shuffle(moved(images), moved(moves), 2)
    assert_same(result, OPS.shuffle(images, moves.astype(np.uint32), 2))


@pytest.mark.parametrize("side", [8, 32, 64])
@pytest.mark.parametrize("decay", [1.4, 2, 3])
def test_plasma(side, decay):
    for n in (1, 3):
        steps = np.random.default_rng(n).uniform(size=(n, side * side - 1))
        assert_same(torch_fields.plasma(moved(steps), decay, side), OPS.plasma(steps, decay, side))


def _drops(size, sigma):
    """Layers of drops as spatter makes them."""
    layer = OPS.smooth(np.random.default_rng(0).normal(0.65, 0.3, size), sigma, 4.0, "nearest")
    return (255 * np.where(layer < 0.68, 0.0, layer)).astype(np.int32).astype(np.uint8)


def _snake(end):
    """A faint band to and fro down the layer; `end` is a dot at its end, strong if 255."""
    band = np.zeros((64, 64), np.float32)
    for turn, row in enumerate(range(4, 60, 8)):
        band[row - 1 : row + 2, 4:60] = 40
        if row < 52:
            left = 4 if turn % 2 else 57
            band[row : row + 8, left : left + 3] = 40
    layer = cv2.GaussianBlur(band, (0, 0), 1.2).astype(np.uint8)
    layer[52, 32] = end
    return layer


def _layers():
    noise = np.random.default_rng(0).integers(0, 256, (3, 30, 41), np.uint8)
    snake = _snake(255)
    return {
        "drops": _drops((3, 64, 64), 2.0),
        "large drops": _drops((1, 45, 70), 4.0),
        "photos": np.ascontiguousarray(photos(61, 90)[..., 1]),
        "noise": noise,
        "faint noise": noise // 3,
        "smallest": noise[:, :8, :8].copy(),
        "tall": noise[:, :, :9].copy(),
        "snakes": np.stack([snake, snake[::-1], snake.T, snake.T[::-1]]),
        "empty": np.zeros((1, 33, 40), np.uint8),
        "full": np.full((2, 33, 40), 255, np.uint8),
        "one dot": np.pad(np.full((1, 1, 1), 255, np.uint8), ((0, 0), (40, 9), (3, 50))),
    }


LAYERS = _layers()


@pytest.mark.parametrize("name", LAYERS)
def test_edges(name):
    layers = np.ascontiguousarray(LAYERS[name])
    expected = np.stack([cv2.Canny(layer, 50, 150) for layer in layers]) > 0
    assert_same(torch_fields.edges(moved(layers)), expected)


def test_a_faint_snake_hangs_on_its_end():
    """Hysteresis has far to go: ten lengths of the layer."""
    layers = np.stack([_snake(255), _snake(40)])
    seen = torch_fields.edges(moved(layers)).sum((1, 2)).tolist()
    assert seen[0] > 800
    assert seen[1] == 0


@pytest.mark.parametrize("name", LAYERS)
def test_relief(name):
    layers = np.ascontiguousarray(LAYERS[name])
    assert_same(torch_fields.relief(moved(layers)), OPS.relief(layers))


@pytest.mark.parametrize("size", [(8, 8), (9, 60), (60, 9), (53, 64)])
@pytest.mark.parametrize("share", [0.0, 0.0005, 0.003, 0.03, 0.5, 1.0])
def test_distance(size, share):
    edges = np.random.default_rng(0).uniform(size=(8, *size)) < share
    expected = np.empty(edges.shape, np.float32)
    cpu_fields.chamfer(edges, expected)
    fixed = (np.minimum(expected, 20) * 65536).astype(np.int32)
    assert_same(torch_fields._distance(moved(edges)), fixed)
