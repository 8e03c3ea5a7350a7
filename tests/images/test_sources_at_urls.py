"""Image sets at URLs: the same names, ids, labels and pixels as in a folder on a disk."""

from __future__ import annotations

import io
import pickle
import shutil
import tarfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import hardy
from hardy import range_files
from hardy.errors import InputError
from hardy.images import open_images
from hardy.images.source import Fault, Source
from hardy.patience import Unreachable
from hardy.progress import untracked
from tests.objects import Objects
from tests.photos import photos

COUNT = 12
PIXELS = np.concatenate([photos(32)] * 2)[:COUNT]
LABELS = np.arange(COUNT) % 5


def png(index: int) -> bytes:
    file = io.BytesIO()
    Image.fromarray(PIXELS[index]).save(file, "PNG")
    return file.getvalue()


def write_all(folder: Path) -> None:
    """The same images as every kind of set."""
    np.save(folder / "rows.npy", PIXELS)
    np.save(folder / "labels.npy", LABELS)
    np.savez(folder / "rows.npz", images=PIXELS, labels=LABELS)
    np.savez_compressed(folder / "packed.npz", images=PIXELS, labels=LABELS)
    (folder / "tars").mkdir()
    for number in range(2):
        with tarfile.open(folder / "tars" / f"val-{number}.tar", "w") as shard:
            for index in range(number, COUNT, 2):
                label = str(LABELS[index]).encode()
                for name, data in ((f"{index:03}.png", png(index)), (f"{index:03}.cls", label)):
                    member = tarfile.TarInfo(name)
                    member.size = len(data)
                    shard.addfile(member, io.BytesIO(data))
    for index in range(COUNT):
        place = folder / "classes" / f"c{LABELS[index]}" / "deeper" / f"{index:03}.png"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(png(index))
    (folder / "classes" / ".hidden").mkdir()
    (folder / "classes" / ".hidden" / "x.png").write_bytes(png(0))
    flat = folder / "flat"
    flat.mkdir()
    for index in range(COUNT):
        (flat / f"{index:03}.png").write_bytes(png(index))
    lines = [f"{index:03}.png,{LABELS[index]}" for index in range(COUNT)]
    (flat / "labels.csv").write_text("\n".join(["file,label", *lines]))
    batch = np.concatenate([LABELS[:, None], PIXELS.transpose(0, 3, 1, 2).reshape(COUNT, -1)], 1)
    (folder / "cifar").mkdir()
    (folder / "cifar" / "test_batch.bin").write_bytes(batch.astype(np.uint8).tobytes())
    rows = [
        {"image": {"bytes": png(index), "path": f"{index:03}.png"}, "label": int(LABELS[index])}
        for index in range(COUNT)
    ]
    (folder / "saved" / "data").mkdir(parents=True)
    for name in ("rows.parquet", "saved/data/test-00000-of-00001.parquet"):
        pq.write_table(pa.Table.from_pylist(rows), folder / name, row_group_size=5)
    for format in ("jpeg", "raw"):
        hardy.pack(folder / "classes", folder / format, side=24, format=format, track=untracked)


@pytest.fixture
def both(objects: Objects, tmp_path: Path) -> Path:
    """A folder of image sets, that are at s3://bucket/sets too."""
    folder = tmp_path / "sets"
    folder.mkdir()
    write_all(folder)
    shutil.copytree(folder, objects.folder / "bucket" / "sets")
    return folder


def check_same(one: Source, other: Source) -> None:
    assert list(one.files) == list(other.files)
    assert list(one.ids) == list(other.ids)
    assert one.labels is not None
    assert other.labels is not None
    assert one.labels.tolist() == other.labels.tolist()
    assert one.classes == other.classes
    for index in range(len(one)):
        np.testing.assert_array_equal(one.read(index), other.read(index))


@pytest.mark.parametrize(
    "name",
    [
        *("rows.npz", "packed.npz", "classes", "flat", "tars", "tars/val-*.tar"),
        *("tars/val-1.tar", "rows.parquet", "saved", "saved:test", "cifar", "cifar:test"),
        *("jpeg", "raw"),
    ],
)
def test_every_kind(both: Path, name: str) -> None:
    there = open_images(f"s3://bucket/sets/{name}")
    check_same(open_images(f"{both}/{name}"), there)
    assert "s3://bucket/sets/" in there.describe()
    # Other processes get it by pickle.
    check_same(there, pickle.loads(pickle.dumps(there)))


def test_labels_of_their_own(both: Path) -> None:
    there = open_images("s3://bucket/sets/rows.npy", labels="s3://bucket/sets/labels.npy")
    check_same(open_images(both / "rows.npy", labels=both / "labels.npy"), there)


def test_a_set_that_was_replaced_is_read_anew(both: Path, objects: Objects) -> None:
    there = objects.folder / "bucket" / "sets"
    for name in ("tars/val-0.tar", "rows.npz"):
        before = open_images(f"s3://bucket/sets/{name}").read(0)
        other = {"tars/val-0.tar": "tars/val-1.tar", "rows.npz": "packed.npz"}[name]
        if name == "rows.npz":
            np.savez(there / other, images=PIXELS[::-1], labels=LABELS)
        (there / other).replace(there / name)
        assert (open_images(f"s3://bucket/sets/{name}").read(0) != before).any()


def test_what_is_not_there(both: Path) -> None:
    with pytest.raises(InputError, match="there is no file or folder s3://bucket/sets/nothing"):
        open_images("s3://bucket/sets/nothing")
    source = open_images("s3://bucket/sets/classes")
    shutil.rmtree(both.parent / "objects" / "bucket" / "sets" / "classes")
    with pytest.raises(InputError, match=r"cannot read s3://.*000.png: there is no such file"):
        source.read(0)


def test_class_folders_are_listed_by_few_requests(both: Path, objects: Objects) -> None:
    objects.requests.clear()
    open_images("s3://bucket/sets/classes")
    lists = [key for what, key in objects.requests if what == "get_file_info"]
    assert lists.count("bucket/sets/classes/c4") == 0


@pytest.mark.parametrize("name", ["classes", "tars", "rows.npz", "rows.parquet"])
def test_a_store_that_fails_is_no_fault_of_the_image(
    both: Path, objects: Objects, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(range_files, "KEPT", 0)
    faults: list[Fault] = []
    source = open_images(f"s3://bucket/sets/{name}", faults=faults)
    objects.fails = lambda what, key: "connection reset"
    with pytest.raises(Unreachable, match="see to the connection"):
        source.read(5)
    assert faults == []


def test_damaged_images_are_left_out_as_elsewhere(both: Path, objects: Objects) -> None:
    (objects.folder / "bucket/sets/classes/c0/deeper/000.png").write_bytes(b"")
    (objects.folder / "bucket/sets/classes/c1/deeper/001.png").write_bytes(b"no image")
    source = open_images("s3://bucket/sets/classes")
    with pytest.raises(InputError, match=r"cannot read s3://.*000.png: the file is empty"):
        source.read(0)
    with pytest.raises(InputError, match=r"001.png: not an image of a known format"):
        source.read(list(source.files).index("c1/deeper/001.png"))


@pytest.mark.parametrize("format", ["npy", "tar", "png"])
def test_a_built_suite_is_read_at_a_url(both: Path, objects: Objects, format: str) -> None:
    how = {"suite": "cifar10_c", "only": ["contrast"], "severities": [1, 5]}
    out = both / "built"
    hardy.build(
        "cifar10_c", images=both / "rows.npz", out=out, only=["contrast"], workers=1, format=format
    )
    shutil.copytree(out, objects.folder / "bucket" / "built")
    here = hardy.evaluate("fake:10", files=out, store=both / "runs", **how)
    there = hardy.evaluate("fake:10", files="s3://bucket/built", store="s3://bucket/runs", **how)
    assert here.folder.name == there.folder.name  # the identity of the run
    assert here.score().as_dicts() == there.score().as_dicts()
