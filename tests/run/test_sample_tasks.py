"""The blocks in which a sample is predicted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hardy.run.sample_tasks import list_sample_tasks
from hardy.run.selection import open_subject
from hardy.run.subject import Subject
from hardy.suites import load
from tests.suites.helpers import write_rows


def sizes(subject: Subject, turns: int, images: int) -> list[int]:
    wanted = np.zeros((images, len(subject.cells)), np.bool_)
    wanted[:, :turns] = True
    have = [np.zeros(wanted.shape, np.bool_)]
    tasks = list_sample_tasks(subject, np.arange(images), wanted, have)
    assert np.concatenate([task.rows for task in tasks]).tolist() == list(range(images))
    return [len(task.rows) for task in tasks]


@pytest.fixture
def corruptions(tmp_path: Path) -> Subject:
    return open_subject(load("cifar10_c"), images=write_rows(tmp_path, 20))


def test_a_block_has_as_many_predictions_whatever_the_cells_per_image(
    corruptions: Subject,
) -> None:
    assert sizes(corruptions, 1, 600) == [256, 256, 88]
    assert sizes(corruptions, 2, 300) == [128, 128, 44]


def test_a_device_makes_many_images_of_a_cell_at_once(corruptions: Subject) -> None:
    small = replace(corruptions, device="cuda:0")  # 8,192 images of 32 pixels are a block there
    assert sizes(small, 2, 4096) == [2048, 2048]
    large = replace(small, variants=replace(small.variants, suite=load("imagenet_c")))
    assert sizes(large, 4, 2048) == [1024, 1024]
    wide = replace(large, variants=replace(small.variants, suite=load("imagenet_c_299")))
    assert sizes(wide, 1, 4000)[0] == 4 * wide.chunk_size < 4000


def test_whole_sequences_stay_what_fits_a_device(tmp_path: Path) -> None:
    subject = open_subject(load("cifar10_p"), images=write_rows(tmp_path, 20))
    device = replace(subject, device="cuda:0")
    assert sizes(device, 2, 1000)[0] == device.chunk_size // 2


def test_a_device_is_asked_for_the_frames_of_many_sequences_at_once(tmp_path: Path) -> None:
    """Four times as many frames as images of a corruption: asking takes the host long."""
    small = open_subject(load("cifar10_p"), images=write_rows(tmp_path, 20))
    assert replace(small, device="cuda:0").chunk_size == 4 * 8192 // 31
    large = replace(small, variants=replace(small.variants, suite=load("imagenet_p")))
    assert large.chunk_size == 64 // 41
    assert replace(large, device="cuda:0").chunk_size == 4 * 1024 // 41 == 99
