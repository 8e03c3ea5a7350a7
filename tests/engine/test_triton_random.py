"""Words, what is made of them, and noise: the kernels' bits are the CPU engine's."""

from __future__ import annotations

import numpy as np
import pytest

from tests.engine import triton_device  # noqa: F401, isort: skip

from hardy.engine.ops import cpu_ops
from hardy.engine.tables import noise_laws
from hardy.engine.triton import random
from tests.engine.torch_device import BATCHES, DEVICE, assert_same, moved

CPU = cpu_ops()
KEY = 0xFEDC_BA98_7654_3210
IDS = np.array([0, 7, 2**63 + 11, 2**64 - 1], np.uint64)
# The ends and the middle of the range, where the quantile's pieces begin.
EDGES = np.array([0, 1, 2, 2**31 - 1, 2**31, 2**31 + 1, 2**32 - 2, 2**32 - 1], np.uint32)


def some_words(count: int) -> np.ndarray:
    words = CPU.words(KEY, IDS, 3, count)
    words[0, : len(EDGES)] = EDGES
    return words


@pytest.mark.parametrize("count", [1, 6, 1024, 1027, 2500])
@pytest.mark.parametrize("stream", [0, 2**32 - 1])
def test_words(count, stream):
    import torch

    result = random.words(KEY, IDS, stream, count, torch.device(DEVICE))
    assert_same(result, CPU.words(KEY, IDS, stream, count))


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-45.0, 45.0), (-0.1, 0.7)])
def test_uniform(low, high):
    words = some_words(700)
    assert_same(random.uniform(moved(words), low, high), CPU.uniform(words, low, high))


def test_normal():
    words = some_words(3000)
    assert_same(random.normal(moved(words)), CPU.normal(words))


@pytest.mark.parametrize("below", [1, 4, 400, 2**31 - 1])
def test_scaled(below):
    words = some_words(300)
    result = random.scaled(moved(words), below).cpu().numpy()
    np.testing.assert_array_equal(result, CPU.scaled(words, below))


def test_scaled_by_an_array():
    words, below = some_words(8), np.array([[1], [3], [400], [2**31]])
    assert_same(random.scaled(moved(words), moved(below)), CPU.scaled(words, below))


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize(("kind", "strength"), [("gaussian", 0.18), ("shot", 5), ("impulse", 0.27)])
def test_table_noise(batch, kind, strength):
    images = BATCHES[batch]
    words = CPU.words(KEY, IDS[: len(images)], 5, images[0].size).reshape(images.shape)
    words.reshape(-1)[: len(EDGES)] = EDGES
    table = noise_laws.noise_table(kind, strength)
    result = random.table_noise(moved(images), moved(words), table)
    assert_same(result, CPU.table_noise(images, words, table))
