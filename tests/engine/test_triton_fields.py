"""Shuffle, plasma and relief in Triton: the bits of the CPU engine's."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from tests.engine import triton_device  # noqa: F401, isort: skip

from hardy.engine.cpu import fields as cpu_fields
from hardy.engine.ops import cpu_ops
from hardy.engine.triton import fields, relief
from hardy.engine.triton.launch import launch
from tests.engine.torch_device import BATCHES, assert_same, moved

OPS = cpu_ops()
# The interpreter takes a millisecond or more for a program, so there are few.
every_batch = pytest.mark.parametrize("batch", ["extremes", "smallest", "narrow"])


def _targets(images, reach):
    _, height, width, _ = images.shape
    return max(height - 2 * reach, 0) * max(width - 2 * reach, 0)


@every_batch
@pytest.mark.parametrize(("reach", "passes"), [(1, 2), (2, 3), (4, 2)])
def test_shuffle(batch, reach, passes):
    images = BATCHES[batch][-2:]
    shape = (len(images), passes, _targets(images, reach))
    moves = np.random.default_rng(0).integers(0, 4 * reach * reach, shape).astype(np.uint32)
    dtype = np.int32 if passes == 2 else np.int64
    result = fields.shuffle(moved(images), moved(moves.astype(dtype)), reach)
    assert_same(result, OPS.shuffle(images, moves, reach))


@pytest.mark.parametrize("reach", [2, 4])
def test_shuffle_with_the_longest_chains(reach):
    """Each pixel copies the one to its right, and where that has gone far enough, one below."""
    images = BATCHES["narrow"][:1] if reach == 2 else BATCHES["extremes"][:1, :14]
    _, height, width, _ = images.shape
    right = reach * 2 * reach + reach + 1
    down_left = (reach + 1) * 2 * reach
    for period in (reach + 1, width):
        moves = np.full((height - 2 * reach, width - 2 * reach), right, np.uint32)
        moves[:, ::period] = down_left
        moves = moves.reshape(1, 1, -1)
        expected = OPS.shuffle(images, moves, reach)
        assert_same(fields.shuffle(moved(images), moved(moves), reach), expected)


def test_shuffle_never_reads_outside():
    images = BATCHES["random"][:1]
    moves = np.random.default_rng(0).integers(-(2**31), 2**31, (1, 1, _targets(images, 2)))
    result = fields.shuffle(moved(images), moved(moves.astype(np.int32)), 2)
    assert_same(result, OPS.shuffle(images, moves.astype(np.uint32), 2))


@pytest.mark.parametrize(("side", "decay"), [(8, 2), (32, 1.4), (64, 3)])
def test_plasma(side, decay):
    steps = np.random.default_rng(0).random((2, side * side - 1))
    assert_same(fields.plasma(moved(steps), decay, side), OPS.plasma(steps, decay, side))


def test_a_plasma_too_large_for_one_program(monkeypatch):
    monkeypatch.setattr(fields, "_LARGEST_CLOUD", 16)
    monkeypatch.setattr(fields, "launch", None)
    steps = np.random.default_rng(0).random((1, 32 * 32 - 1))
    assert_same(fields.plasma(moved(steps), 1.7, 32), OPS.plasma(steps, 1.7, 32))


def _layers(size, seed=0):
    """Drops, a whole layer of noise, nothing at all, and one step: few edges, many, none, one."""
    rng = np.random.default_rng(seed)
    drops = OPS.smooth(rng.normal(0.65, 0.3, (1, *size)), 1.5, 4.0, "nearest")
    layers = np.zeros((4, *size), np.uint8)
    layers[0] = (255 * np.where(drops < 0.68, 0, drops)).astype(np.int32) & 255
    layers[1] = rng.integers(0, 256, size)
    layers[3, :, size[1] // 2 :] = 200
    return layers


@pytest.mark.parametrize("size", [(8, 8), (21, 29)])
def test_edges(size):
    layers = _layers(size)
    expected = np.stack([cv2.Canny(layer, 50, 150) for layer in layers]) // 255
    assert_same(relief.edges(moved(layers)), expected)


def test_edges_that_hang_together_from_afar():
    """A weak line that winds through the layer, strong at its very end."""
    layer = np.zeros((1, 31, 32), np.uint8)
    layer[0, 2::6, 2:-2] = 20
    layer[0, 5::12, -3] = layer[0, 11::12, 2] = 20
    for row in range(2, 29, 6):
        side = -3 if row % 12 == 2 else 2
        layer[0, row : row + 7, side] = 20
    for last in (20, 90):
        layer[0, 26, 12:14] = last
        expected = cv2.Canny(layer[0], 50, 150)[None] // 255
        assert (expected.sum() > 80) == (last == 90)
        assert_same(relief.edges(moved(layer)), expected)


@pytest.mark.parametrize("size", [(8, 8), (45, 21)])
def test_distance(size):
    """Exact up to where the relief looks, wherever edges lie."""
    rng = np.random.default_rng(1)
    edge = (rng.random((3, *size)) < np.array([0.002, 0.05, 0.0])[:, None, None]).astype(np.uint8)
    expected = np.empty(edge.shape, np.float32)
    cpu_fields.chamfer(edge > 0, expected)
    blocks = -(-size[0] * size[1] // 64)
    along, distance = moved(edge), moved(np.zeros(edge.shape, np.int32))
    for kernel, source, out in (
        (relief._along, moved(edge), along),
        (relief._distance, along, distance),
    ):
        launch(kernel, 3 * blocks, out.device, source, out, *size, blocks, BLOCK=64)
    cut = np.minimum(expected, 20) * 65536
    assert_same(distance, cut.astype(np.int32))


@pytest.mark.parametrize("size", [(8, 8), (27, 25)])
def test_relief(size):
    layers = _layers(size)
    assert_same(relief.relief(moved(layers)), OPS.relief(layers))
