"""The same bytes, however the work is cut, ordered, spread and stored."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import hardy
from hardy.corrupt import CORRUPTIONS
from tests.cells import middle, severities, small
from tests.golden.make import digest
from tests.photos import photos, random_images

NAMES = CORRUPTIONS.names()
ROOT = Path(__file__).parents[2]
SIZE = (32, 32)
every_corruption = pytest.mark.parametrize("name", NAMES)


def batch() -> np.ndarray:
    """64 images: more than the engine takes in one go at this size."""
    return np.concatenate(
        [*[np.roll(photos(32), k, axis=2) for k in range(7)], random_images(8, 32, 32)]
    )


@pytest.mark.parametrize(
    ("name", "severity"), [(n, s) for n in NAMES for s in (1, 4, 5) if s in severities(n)]
)
def test_batch_size_and_order(name, severity):
    images, ids = batch(), np.arange(64) * 1000 + 7
    whole = hardy.corrupt(images, name, severity, ids=ids)
    for size in (1, 7):
        parts = [
            hardy.corrupt(images[k : k + size], name, severity, ids=ids[k : k + size])
            for k in range(0, 64, size)
        ]
        np.testing.assert_array_equal(np.concatenate(parts), whole)
    order = np.random.default_rng(0).permutation(64)
    shuffled = hardy.corrupt(images[order], name, severity, ids=ids[order])
    np.testing.assert_array_equal(shuffled, whole[order])


@every_corruption
def test_large_batches_are_cut(name):
    # At 224 the engine takes one image at a time.
    images = photos(224)[:3]
    severity = severities(name)[-1]
    whole = hardy.corrupt(images, name, severity)
    for i in range(3):
        np.testing.assert_array_equal(hardy.corrupt(images[i], name, severity, ids=i), whole[i])


@every_corruption
def test_layout_of_the_input(name):
    images = photos(32, 40)[:4]
    assert not images.flags.writeable
    severity, chosen = middle(name), small(name)
    expected = hardy.corrupt(images.copy(), name, severity, edition=chosen)
    wide = np.zeros((4, 32, 80, 6), np.uint8)
    wide[:, :, ::2, ::2] = images
    layouts = {
        "read-only": images,
        "strided": wide[:, :, ::2, ::2],
        "planes": np.ascontiguousarray(images.transpose(3, 0, 1, 2)).transpose(1, 2, 3, 0),
        "reversed": images[:, ::-1, ::-1].copy()[:, ::-1, ::-1],
        "Fortran": np.asfortranarray(images),
    }
    for layout, same in layouts.items():
        result = hardy.corrupt(same, name, severity, edition=chosen)
        np.testing.assert_array_equal(result, expected, err_msg=layout)


@every_corruption
def test_no_global_generator_is_read_or_written(name):
    image = photos(32)[0]
    severity = middle(name)
    expected = hardy.corrupt(image, name, severity)
    np.random.seed(1)
    before = np.random.get_state()[1].copy()
    np.testing.assert_array_equal(hardy.corrupt(image, name, severity), expected)
    np.testing.assert_array_equal(np.random.get_state()[1], before)


def job(cell: tuple[str, int]) -> str:
    return digest(small(cell[0]), *cell, SIZE)


CELLS = [(n, s) for n in NAMES for s in (severities(n)[0], severities(n)[-1])]


def serial() -> list[str]:
    return [job(cell) for cell in CELLS]


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_threads(workers):
    # Twice over and interleaved, so that different corruptions run at once.
    with ThreadPoolExecutor(workers) as pool:
        assert gathered(pool, CELLS * 2) == serial() * 2


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_processes(workers):
    # Spawned, not forked: they share nothing, and start as on any platform.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        assert gathered(pool, CELLS) == serial()


def gathered(pool: Executor, cells: list[tuple[str, int]]) -> list[str]:
    return list(pool.map(job, cells))


@pytest.mark.parametrize("name", ["glass_blur", "snow", "elastic_transform", "spatter"])
def test_one_corruption_in_many_threads(name):
    # Kernels share tables and nothing else; images differ, so a shared buffer would show.
    images = batch()
    expected = hardy.corrupt(images, name, 5)
    with ThreadPoolExecutor(4) as pool:
        futures = [pool.submit(hardy.corrupt, images[i], name, 5, ids=i) for i in range(64)]
        results = [future.result() for future in futures]
    np.testing.assert_array_equal(np.stack(results), expected)


@pytest.mark.parametrize("run", ["serial()", "gathered(ThreadPoolExecutor(4), CELLS)"])
def test_a_restart(run):
    # The second starts with four threads that find every table and kernel cold.
    code = f"from tests.corrupt.test_determinism import *; print(*{run}, sep='\\n')"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT, env=os.environ | {"PYTHONHASHSEED": "1"}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == serial()
