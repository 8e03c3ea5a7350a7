"""Words of the torch engine are Philox's, and all that is made of them has the CPU's bits."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hardy.engine import rng
from hardy.engine.ops import cpu_ops
from hardy.engine.tables.noise_laws import noise_table
from hardy.engine.torch import random as torch_random
from tests.engine.philox import philox4x32
from tests.engine.torch_device import DEVICE, assert_same, moved
from tests.photos import random_images

OPS = cpu_ops()
IDS = np.array([0, 1, 2**32 - 1, 2**32, 2**63, 2**64 - 1, 123456789012345678], np.uint64)
KEY = 0x9F3A5C7712E4D680
# Words where the sign, the octave or the segment of a normal changes.
EDGES = np.array([0, 1, 2, 3, 15, 16, 2**30, 2**31 - 1, 2**31, 2**31 + 1, 2**32 - 1], np.uint32)


def words(count: int, key: int = KEY, stream: int = 0xC0FFEE01) -> torch.Tensor:
    return torch_random.words(key, IDS, stream, count, torch.device(DEVICE))


@pytest.mark.parametrize("count", [1, 3, 4, 5, 64, 4099])
def test_words(count):
    assert_same(words(count), OPS.words(KEY, IDS, 0xC0FFEE01, count))


@pytest.mark.parametrize("key", [0, 2**32 - 1, 2**63, 2**64 - 1])
def test_the_published_function(key):
    for stream in (0, 2**31, 2**32 - 1):
        counters = [[0, stream, int(i) & rng.LOW_32, int(i) >> 32] for i in IDS]
        block = philox4x32(np.array(counters, np.uint32), (key & rng.LOW_32, key >> 32))
        assert_same(words(4, key, stream), block)


def numbers() -> np.ndarray:
    return np.concatenate([EDGES, OPS.words(1, IDS, 2, 3000).reshape(-1)])[None]


def test_uniform():
    for low, high in ((0.0, 1.0), (-45.0, 45.0), (-0.1, 0.3)):
        result = torch_random.uniform(moved(numbers()), low, high)
        assert_same(result, OPS.uniform(numbers(), low, high))


def test_normal():
    assert_same(torch_random.normal(moved(numbers())), OPS.normal(numbers()))


def test_scaled():
    for below in (1, 2, 5, 16, 1000, 2**31 - 1):
        result = torch_random.scaled(moved(numbers()), below)
        assert result.dtype == torch.int64
        np.testing.assert_array_equal(result.cpu().numpy(), OPS.scaled(numbers(), below))
    bounds = np.arange(numbers().size)[None] * 37 + 1
    result = torch_random.scaled(moved(numbers()), moved(bounds))
    assert_same(result, OPS.scaled(numbers(), bounds))


@pytest.mark.parametrize(("kind", "strength"), [("gaussian", 0.26), ("shot", 5), ("impulse", 0.2)])
def test_table_noise(kind, strength):
    images = random_images(len(IDS), 16, 21)
    images[:2] = np.array([0, 255], np.uint8)[:, None, None, None]
    drawn = OPS.words(KEY, IDS, 5, images[0].size).reshape(images.shape)
    table = noise_table(kind, strength)
    result = torch_random.table_noise(moved(images), moved(drawn), table)
    assert_same(result, OPS.table_noise(images, drawn, table))
