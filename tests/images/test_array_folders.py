"""Folders of one array of images and one of labels."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from hardy.errors import InputError
from hardy.images import open_images


def test_a_folder_of_arrays(tmp_path: Path) -> None:
    images = np.random.default_rng(0).integers(0, 256, (3, 8, 9, 3), np.uint8)
    np.save(tmp_path / "images.npy", images)
    source = open_images(tmp_path)
    assert source.labels is None
    assert source.size == (8, 9)
    np.save(tmp_path / "labels.npy", [4, 0, 2])
    (tmp_path / "readme.txt").touch()
    source = open_images(tmp_path)
    assert source.labels.tolist() == [4, 0, 2]
    assert list(source.ids) == [0, 1, 2]
    np.testing.assert_array_equal(source.read(1), images[1])
    np.save(tmp_path / "other.npy", [1, 1, 1])
    with pytest.raises(InputError, match=r"has labels, and so has .*other\.npy"):
        open_images(tmp_path, labels=tmp_path / "other.npy")
    (tmp_path / "labels.npy").unlink()
    assert open_images(tmp_path, labels=tmp_path / "other.npy").labels.tolist() == [1, 1, 1]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("pipe", ["images.npy", "labels.npy"])
def test_a_pipe_is_not_waited_for(tmp_path: Path, pipe: str) -> None:
    np.save(tmp_path / "images.npy", np.zeros((2, 8, 8, 3), np.uint8))
    (tmp_path / pipe).unlink(missing_ok=True)
    os.mkfifo(tmp_path / pipe)
    with pytest.raises(InputError, match=rf"{pipe}.*it is no file"):
        open_images(tmp_path)
