"""Tiny ImageNet's validation set in the layout of its authors, wherever images are read."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import hardy
from hardy.errors import InputError
from hardy.images import Fault, open_images
from tests.photos import random_images

CLASSES = [f"n{9_000_000 - 7 * k:08}" for k in range(200)]  # not sorted
FEW = {"only": ["contrast"], "severities": [1]}


@pytest.fixture
def val(tmp_path: Path) -> Path:
    """A folder of 200 images, one of each class."""
    folder = tmp_path / "val"
    (folder / "images").mkdir(parents=True)
    pixels = random_images(200, 64, 64)
    for k, image in enumerate(pixels):
        Image.fromarray(image).save(folder / f"images/val_{k}.JPEG")
    lines = [f"val_{k}.JPEG\t{name}\t0\t32\t44\t62\n" for k, name in enumerate(CLASSES)]
    (folder / "val_annotations.txt").write_text("".join(lines))
    return folder


def test_annotations_are_labels(val: Path) -> None:
    source = open_images(val, id_rule="file_stem")
    assert source.describe() == f"200 images of 200 classes, Tiny ImageNet in {val}"
    assert source.classes == tuple(sorted(CLASSES))
    assert source.labels is not None
    place = source.ids.index("val_0")
    assert source.files[place] == f"{CLASSES[0]}/val_0.JPEG"
    assert source.labels[place] == 199, "in sorted order, as models have them"
    with Image.open(val / "images/val_0.JPEG") as image:
        np.testing.assert_array_equal(source.read(place), np.asarray(image))


def test_an_image_without_a_line_is_left_out(val: Path) -> None:
    Image.new("RGB", (64, 64)).save(val / "images/val_777.JPEG")
    faults: list[Fault] = []
    assert len(open_images(val, faults=faults)) == 200
    assert [fault.kind for fault in faults] == ["without a label"]
    with pytest.raises(InputError, match=r"val brings its own labels; leave .*annotations.txt out"):
        open_images(val, labels=val / "val_annotations.txt")


def test_evaluated_and_built_in_the_official_layout(val: Path, tmp_path: Path) -> None:
    what = {"suite": "tiny_imagenet_c", "store": tmp_path / "runs", **FEW}
    run = hardy.evaluate("fake:200", images=val, **what)
    assert dict(zip(run.stored.ids, run.stored.labels.tolist(), strict=True))["val_0"] == 199
    hardy.build("tiny_imagenet_c", images=val, out=tmp_path / "c", workers=1, **FEW)
    assert (tmp_path / f"c/contrast/1/{CLASSES[0]}/val_0.JPEG").is_file()
    stored = hardy.evaluate("fake:200", files=tmp_path / "c", **what)
    assert stored.stored.labels.tolist() == run.stored.labels.tolist()


def test_a_corrupted_copy_with_the_annotations_is_read_too(val: Path, tmp_path: Path) -> None:
    for place in (val / "images").glob("val_1*"):
        place.unlink()
    hardy.corrupt_files(val, tmp_path / "out", "contrast", 1, keep_format=True)
    shutil.copy(val / "val_annotations.txt", tmp_path / "out")
    assert list(open_images(tmp_path / "out").files) == list(open_images(val).files)
    labels = val / "val_annotations.txt"
    source = open_images(tmp_path / "out/images", labels=labels)
    assert len(source) == len(open_images(val))
