"""Suites whose images draw a strength of their own are built with one severity."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hardy.suites import load
from hardy.variants.disk.verify import verify
from hardy.variants.generated import Generated
from hardy.variants.stored import open_stored
from tests.suites.helpers import built, cells_of, opened, tree, write_photos, write_rows


def assert_as_made_on_the_fly(suite: str, images: Path, folder: Path, *names: str) -> None:
    assert verify(folder).fine
    stored, wanted = open_stored(folder), load(suite)
    made = Generated(wanted, opened(images, wanted))
    there, now = stored.chunk([3, 0]), made.chunk([3, 0])
    for cell in cells_of(wanted, *names):
        assert cell.level == 1
        np.testing.assert_array_equal(there.make(cell), now.make(cell), err_msg=str(cell))


def test_arrays_hold_every_image_once(tmp_path: Path) -> None:
    rows, names = write_rows(tmp_path / "rows"), ("noc_rain", "noc_hue")
    built("cifar10_noc_23", rows, tmp_path / "noc", *names)
    assert np.load(tmp_path / "noc" / "noc_rain.npy").shape == (7, 32, 32, 3)
    np.testing.assert_array_equal(np.load(tmp_path / "noc" / "labels.npy"), range(7))
    assert_as_made_on_the_fly("cifar10_noc_23", rows, tmp_path / "noc", *names)


def test_photographs_keep_every_byte(tmp_path: Path) -> None:
    """No file format belongs to the benchmark, so none that loses anything is taken."""
    photos, names = write_photos(tmp_path / "photos"), ("noc_border", "noc_shear")
    built("imagenet_noc", photos, tmp_path / "noc", *names)
    assert not [path for path in tree(tmp_path / "noc") if path.endswith(("JPEG", "jpg"))]
    assert_as_made_on_the_fly("imagenet_noc", photos, tmp_path / "noc", *names)
