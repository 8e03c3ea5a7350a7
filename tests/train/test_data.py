"""Training data: what is read, where it is kept, how it is cropped and flipped."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from hardy.errors import InputError
from hardy.train.method import Draw
from hardy.train.training_data import Streaming, crop_and_flip, open_data, read_data
from tests.photos import photos
from tests.train.small import CPU, small_data, write_arrays


def test_crops_and_flips_are_windows_of_the_padded_image() -> None:
    images = np.repeat(photos(32)[:1], 200, 0)
    made = crop_and_flip(torch.from_numpy(images), Draw(0, CPU)).permute(0, 2, 3, 1).numpy()
    padded = np.pad(images[0], ((4, 4), (4, 4), (0, 0)))
    windows = {}
    for row in range(9):
        for column in range(9):
            crop = padded[row : row + 32, column : column + 32]
            windows[crop.tobytes()] = (row, column, 0)
            windows[crop[:, ::-1].tobytes()] = (row, column, 1)
    places = np.array([windows[image.tobytes()] for image in made])
    assert set(places[:, 0]) == set(places[:, 1]) == set(range(9))
    assert 70 < places[:, 2].sum() < 130


def test_data_that_cannot_be_trained_with(tmp_path) -> None:
    np.save(tmp_path / "images.npy", np.zeros((4, 16, 16, 3), np.uint8))
    with pytest.raises(InputError, match=r"has no labels to train with; bring them by `labels`"):
        read_data(str(tmp_path / "images.npy"), CPU)
    np.save(tmp_path / "labels.npy", np.zeros(4, np.int64))
    with pytest.raises(InputError, match="expected at least 2 classes, got 1"):
        read_data(str(tmp_path / "images.npy"), CPU, labels=str(tmp_path / "labels.npy"))


def test_images_of_several_sizes_are_told_how_to_be_trained_on(tmp_path) -> None:
    for number, name in enumerate("ab"):
        (tmp_path / name).mkdir()
        Image.fromarray(np.zeros((20 + number, 20, 3), np.uint8)).save(tmp_path / name / "0.png")
    with pytest.raises(InputError, match="expected images of one size, got others too; say a `si"):
        read_data(tmp_path, CPU)


def test_the_classes_keep_the_names_that_the_source_has(tmp_path) -> None:
    for name in ("dog", "cat"):
        (tmp_path / "folders" / name).mkdir(parents=True)
        Image.new("RGB", (8, 8)).save(tmp_path / "folders" / name / "a.png")
    assert read_data(str(tmp_path / "folders"), CPU).names == ("cat", "dog")
    assert small_data(tmp_path).names is None


def test_data_too_large_for_the_gpu_stay_on_the_host_as_they_are(tmp_path, monkeypatch) -> None:
    """Batches are gathered into new memory, which pinning the whole set would not make faster."""
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (0, 0))
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda self: pytest.fail("pinned"))
    data = read_data(str(write_arrays(tmp_path)), torch.device("cuda"))
    assert data.images.device == data.labels.device == CPU
    assert torch.equal(data.images, small_data(tmp_path).images)


@pytest.mark.parametrize("stream", [False, True])
def test_a_subset_has_so_many_images_of_every_class_the_same_each_time(
    stream: bool, tmp_path: Path
) -> None:
    path = str(write_arrays(tmp_path, 60))
    every, few, again = (
        open_data(path, CPU, Streaming(stream=stream), recipe="none@1", subset=subset)
        for subset in (None, 12, 12)
    )
    assert (len(every), len(few)) == (60, 12)
    assert few.labels.bincount().tolist() == [4, 4, 4]
    assert few.sha256 == again.sha256 != every.sha256
    assert few.described.startswith("12 of 60 ")
