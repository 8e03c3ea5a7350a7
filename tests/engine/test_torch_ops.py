"""The torch engine's own primitives have the CPU engine's bits; it is found by its tensors."""

from __future__ import annotations

import gc

import numpy as np
import pytest
import torch

from hardy.engine.cpu.ops import NumpyOps
from hardy.engine.ops import cpu_ops, ops_for
from hardy.engine.torch import constants as torch_constants
from hardy.engine.torch.ops import TorchOps, torch_ops
from hardy.errors import InputError
from tests.engine.torch_device import BATCHES, DEVICE, assert_same, moved
from tests.photos import codec_pictures, flat_images, photos, random_images

OPS, TORCH = cpu_ops(), ops_for(moved(0))
every_batch = pytest.mark.parametrize("batch", BATCHES)


def test_tensors_bring_their_engine():
    assert isinstance(TORCH, TorchOps)
    assert TORCH.device == moved(0).device
    assert ops_for(moved([1, 2])) is TORCH
    assert TORCH.name == ("torch cpu" if DEVICE == "cpu" else "triton cuda")


def test_a_device_without_float64_is_refused():
    with pytest.raises(InputError, match=r"with float64, got one on mps; move it with .cpu\(\)"):
        torch_ops(torch.device("mps"))


def test_other_arrays_are_refused():
    with pytest.raises(InputError, match="NumPy array or a torch tensor, got list; convert it"):
        ops_for([1])


def test_no_primitive_is_missing():
    def public(engine: object) -> set[str]:
        return {name for name in dir(engine) if not name.startswith("_")}

    assert public(NumpyOps) <= public(TORCH)


@every_batch
def test_between_bytes_and_numbers(batch):
    images = BATCHES[batch]
    for dtype in ("float32", "float64"):
        unit = OPS.unit(images, dtype)
        assert_same(TORCH.unit(moved(images), dtype), unit)
        spread = (unit - unit.dtype.type(0.5)) * unit.dtype.type(1.7) + unit.dtype.type(0.5)
        assert_same(TORCH.to_bytes(moved(spread)), OPS.to_bytes(spread))
        assert_same(TORCH.to_levels(moved(spread * 255)), OPS.to_levels(spread * 255))


def test_numbers_divide_as_they_do_on_the_host():
    values = np.arange(1, 3000) / 7.0
    for number in (3.0, 6.0, 0.1):
        assert_same(moved(values) / TORCH.float64(number), values / OPS.float64(number))
        single = values.astype(np.float32)
        assert_same(moved(single) / TORCH.float32(number), single / OPS.float32(number))


def test_arrays():
    a, b = np.random.default_rng(0).normal(size=(2, 3, 5, 4))
    ta, tb = moved(a), moved(b)
    for bound in (0.1, 0):
        assert_same(TORCH.maximum(ta, bound), OPS.maximum(a, bound))
        assert_same(TORCH.minimum(ta, bound), OPS.minimum(a, bound))
    assert_same(TORCH.maximum(ta, tb[..., :1]), OPS.maximum(a, b[..., :1]))
    assert_same(TORCH.minimum(ta, tb), OPS.minimum(a, b))
    assert_same(TORCH.where(ta < tb, 0.0, ta), OPS.where(a < b, 0.0, a))
    assert_same(TORCH.where(ta < 0, ta, 1.0), OPS.where(a < 0, a, 1.0))
    assert_same(TORCH.floor(ta), OPS.floor(a))
    assert_same(TORCH.ceil(ta), OPS.ceil(a))
    assert_same(TORCH.largest(ta), OPS.largest(a))
    assert_same(TORCH.half_turn(ta), OPS.half_turn(a))
    assert_same(TORCH.stack([ta, tb]), OPS.stack([a, b]))
    assert_same(TORCH.join([ta, tb]), OPS.join([a, b]))
    for dtype in ("float32", "float64", "int32", "int64"):
        assert_same(TORCH.cast(ta * 9, dtype), OPS.cast(a * 9, dtype))
    for table in ([1, 2], [[0.5, 1.0]], (0.1, 0.2), np.uint8([3])):
        assert_same(TORCH.host(table), OPS.host(table))


@every_batch
def test_channel_means(batch):
    images = BATCHES[batch]
    assert_same(TORCH.channel_means(moved(images)), OPS.channel_means(images))


def test_channel_means_are_added_one_by_one():
    # Long sums of numbers that are no sums of powers of two, where any other order shows.
    for images in (photos(200, 150)[:2], flat_images(31, 33), random_images(1, 190, 200)):
        assert_same(TORCH.channel_means(moved(images)), OPS.channel_means(images))


@pytest.mark.parametrize("size", [(8, 8), (17, 31), (64, 48), (101, 77)])
def test_pixelate(size):
    images = codec_pictures(*size)
    for share in (0.6, 0.5, 0.4, 0.3, 0.25, 0.15, 1.0):
        small = (int(size[0] * share), int(size[1] * share))
        assert_same(TORCH.pixelate(moved(images), small), OPS.pixelate(images, small))


@pytest.mark.parametrize("extra", range(16))
def test_jpeg(extra):
    # 4:2:0 works on blocks of 16: all remainders of both sides.
    images = codec_pictures(16 + extra, 16 + (extra * 7 + 3) % 16)
    for quality in (1, 18, 49, 85, 100):
        assert_same(TORCH.jpeg(moved(images), quality), OPS.jpeg(images, quality))


def test_jpeg_of_smallest_and_larger_images():
    for size in ((8, 8), (8, 9), (9, 8), (120, 133)):
        images = codec_pictures(*size)
        assert_same(TORCH.jpeg(moved(images), 25), OPS.jpeg(images, 25))


def test_jpeg_refuses_the_sides_that_libjpeg_refuses():
    wide = np.zeros((1, 8, 65501, 3), np.uint8)
    for ops, images in ((OPS, wide), (TORCH, moved(wide))):
        with pytest.raises(
            InputError, match=r"at most 65500 pixels, got width 65501, height 8; crop"
        ):
            ops.jpeg(images, 50)


SOURCES = tuple(random_images(1, height, 60 - height)[0] for height in (20, 31, 25))
WHICH, ROWS, COLUMNS = np.array([2, 0, 1, 2, 0]), np.array([0, 8, 19, 13, 3]), np.arange(5) * 2


def test_crops():
    size = (12, 10)
    expected = OPS.crops(SOURCES, WHICH, ROWS, COLUMNS, size)
    assert_same(TORCH.crops(SOURCES, *map(moved, (WHICH, ROWS, COLUMNS)), size), expected)
    # `hardy.draw` brings the texture's number as uint32.
    places = moved(WHICH.astype(np.uint32)), moved(ROWS), moved(COLUMNS)
    assert_same(TORCH.crops(SOURCES, *places, size), expected)


@pytest.mark.skipif(DEVICE != "cpu", reason="a GPU is not waited for, and fails later")
@pytest.mark.parametrize(
    ("which", "row", "column"), [(3, 0, 0), (-1, 0, 0), (0, 9, 0), (0, -1, 0), (1, 0, 20)]
)
def test_crops_outside_are_refused(which, row, column):
    places = [np.array([0, place]) for place in (which, row, column)]
    message = rf"texture {which} at row {row}, column {column}, which lies outside"
    for ops, arrays in ((OPS, places), (TORCH, map(moved, places))):
        with pytest.raises(InputError, match=message):
            ops.crops(SOURCES, *arrays, (12, 10))


def test_constants_are_moved_once_and_go_with_their_table():
    table, device = np.arange(6.0), torch.device(DEVICE)
    table.flags.writeable = False
    first = torch_constants.constant(table, device)
    assert_same(first, table)
    assert torch_constants.constant(table, device) is first
    kept = len(torch_constants._KEPT)
    del table
    gc.collect()
    assert len(torch_constants._KEPT) == kept - 1
