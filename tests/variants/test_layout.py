"""Where the bytes of a build lie, and that they lie nowhere else."""

import io
import tarfile
from pathlib import Path

import numpy as np
import pytest

from hardy.errors import InputError
from hardy.images.source import Listing
from hardy.suites import load
from hardy.suites.cells import Cell
from hardy.variants.disk.array_layout import ArrayLayout
from hardy.variants.disk.layout import FileLayout, Layout, ShardLayout, open_layout, units_of
from hardy.variants.disk.manifest import WORKSHOP, content_hash
from tests.variants.interference import intercept

FOG, SNOW = Cell("fog", 3), Cell("snow", 1)


def source_of(*files: str, ids: list[str] | None = None) -> Listing:
    labels = np.arange(len(files), dtype=np.int64) % 3
    return Listing("a list", "here", list(files), ids or list(files), labels, None)


def layout_of(
    folder: Path, format: str, source: Listing, suite: str = "imagenet_c", side: int = 8
) -> Layout:
    (folder / WORKSHOP).mkdir(parents=True, exist_ok=True)
    return open_layout(load(suite), folder, format, source, (side, side, 3))  # type: ignore[arg-type]


def some(count: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(count).integers(0, 256, (count, *shape), np.uint8)


def test_units() -> None:
    assert units_of(7, 3) == [range(3), range(3, 6), range(6, 7)]
    assert units_of(6, 3) == [range(3), range(3, 6)]


def test_a_unit_is_small_in_memory(tmp_path: Path) -> None:
    rows = source_of(*map(str, range(1000)))
    assert layout_of(tmp_path, "npy", rows, "cifar10_c", 32).size == 500
    assert layout_of(tmp_path, "tar", rows, "imagenet_c", 224).size == 222
    assert layout_of(tmp_path, "npy", rows, "imagenet_p", 224).size * 31 * 224**2 * 3 <= 1 << 25
    assert layout_of(tmp_path, "npy", rows, "imagenet_p", 4000).size == 1
    assert layout_of(tmp_path, "jpeg", rows).size == 1


@pytest.mark.parametrize(
    ("format", "name", "path"),
    [
        ("jpeg", "n01/a.JPEG", "fog/3/n01/a.JPEG"),
        ("jpeg", "n01/a.jpg", "fog/3/n01/a.jpg"),
        ("jpeg", "n01/a.png", "fog/3/n01/a.JPEG"),
        ("jpeg", "00017", "fog/3/00017.JPEG"),
        ("png", "n01/a.JPEG", "fog/3/n01/a.png"),
    ],
)
def test_names_of_files(tmp_path: Path, format: str, name: str, path: str) -> None:
    layout = layout_of(tmp_path, format, source_of(name))
    layout.check()
    assert layout.name(range(1), FOG) == path
    assert list(layout.paths(1, [FOG])) == [path]
    assert not layout.there(range(1), FOG)
    assert layout.hash(range(1), FOG) is None
    value = layout.write(range(1), FOG, some(1, 8, 8, 3), [0])
    assert layout.there(range(1), FOG)
    assert value == layout.hash(range(1), FOG) == content_hash((tmp_path / path).read_bytes())
    assert list((tmp_path / WORKSHOP).iterdir()) == []


def test_a_disk_that_takes_little_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    intercept(lambda write, data: write(data[:1000]), monkeypatch.setattr)
    layout = layout_of(tmp_path, "png", source_of("a"), side=64)
    value = layout.write(range(1), FOG, some(1, 64, 64, 3), [0])
    assert value == content_hash((tmp_path / "fog/3/a.png").read_bytes())


def test_a_video_has_the_name_of_its_photograph(tmp_path: Path) -> None:
    layout = layout_of(tmp_path, "mp4", source_of("n01/a.JPEG"), "imagenet_p")
    assert layout.name(range(1), Cell("tilt", 1)) == "tilt/n01/a.mp4"
    assert layout.name(range(1), Cell("shot_noise", 2)) == "shot_noise_2/n01/a.mp4"


@pytest.mark.parametrize("name", ["../a.png", "n01/../../a.png", "/tmp/a.png", "a\0.png", "", "."])
def test_names_that_lead_elsewhere(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="is no path in "):
        layout_of(tmp_path, "png", source_of("ok.png", name)).check()


def test_names_that_would_share_a_place(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="1 image names differ in their suffix only"):
        layout_of(tmp_path, "png", source_of("n/a.png", "n/a.bmp", "n/b.png")).check()
    layout_of(tmp_path, "tar", source_of("n/a.b.png", "n/a_b.png", ids=["ab", "a_b"])).check()
    with pytest.raises(InputError, match="1 ids differ in their dots and slashes only"):
        layout_of(tmp_path, "tar", source_of("n/a.b.png", "n/a_b.png", ids=["a.b", "a_b"])).check()


def test_shards(tmp_path: Path) -> None:
    long = "x" * 150 + "é"
    files = ["n0/a.png", "n1/b.png", f"n1/{long}.png"]
    layout = layout_of(tmp_path, "tar", source_of(*files, ids=["a", "b", long]))
    assert isinstance(layout, ShardLayout)
    value = layout.write(range(3), FOG, some(2, 8, 8, 3), [0, 2])
    path = tmp_path / "fog/3/000000.tar"
    assert layout.hash(range(3), FOG) == value == content_hash(path.read_bytes())
    with tarfile.open(path) as tar:
        members = {member.name: tar.extractfile(member) for member in tar}
        assert list(members) == ["a.jpg", "a.cls", f"{long}.jpg", f"{long}.cls"]
        assert members[f"{long}.cls"].read() == b"2"  # type: ignore[union-attr]
        assert {(m.mtime, m.uid, m.uname) for m in tar.getmembers()} == {(0, 0, "")}


def test_an_array_is_what_numpy_would_save(tmp_path: Path) -> None:
    layout = layout_of(tmp_path, "npy", source_of(*"abcde"), "cifar10_c")
    assert isinstance(layout, ArrayLayout)
    wanted = np.zeros((25, 8, 8, 3), np.uint8)
    layout.begin([FOG])
    for unit, cell in ((range(3), FOG), (range(3, 5), FOG), (range(3), Cell("fog", 5))):
        rows = some(len(unit), 8, 8, 3)
        wanted[layout.first_row(cell) + unit.start :][: len(unit)] = rows
        layout.write(unit, cell, rows, list(unit))
    assert not (tmp_path / "fog.npy").exists()
    assert (tmp_path / "fog.npy.part").exists()
    layout.finish([FOG], np.array([1, 0, 9, 2, 2]))
    file = io.BytesIO()
    np.save(file, wanted)
    assert (tmp_path / "fog.npy").read_bytes() == file.getvalue()
    labels = np.load(tmp_path / "labels.npy")
    assert labels.dtype == np.uint8
    np.testing.assert_array_equal(labels, [1, 0, 9, 2, 2] * 5)
    assert layout.name(range(3, 5), FOG) == "fog.npy, rows 13 to 14"


def test_an_array_of_sequences(tmp_path: Path) -> None:
    layout = layout_of(tmp_path, "npy", source_of("a", "b"), "cifar10_p")
    tilt, noise = Cell("tilt", 1), Cell("shot_noise", 2)
    layout.begin([tilt, noise])
    rows = some(2, 31, 8, 8, 3)
    layout.write(range(2), tilt, rows, [0, 1])
    layout.finish([tilt, noise], np.array([1, 2]))
    np.testing.assert_array_equal(np.load(tmp_path / "tilt.npy"), rows)
    assert sorted(p.name for p in tmp_path.glob("*.npy")) == ["shot_noise_2.npy", "tilt.npy"]


def test_rows_that_could_not_be_read_are_black(tmp_path: Path) -> None:
    layout = layout_of(tmp_path, "npy", source_of(*"abcde"), "cifar10_c")
    layout.begin([FOG])
    rows = some(2, 8, 8, 3)
    value = layout.write(range(5), FOG, rows, [1, 4])
    assert layout.hash(range(5), FOG) == value
    layout.finish([FOG], None)
    array = np.load(tmp_path / "fog.npy")
    np.testing.assert_array_equal(array[[11, 14]], rows)
    assert not array[[10, 12, 13]].any()


def test_an_array_with_a_damaged_head_is_mended_at_the_start(tmp_path: Path) -> None:
    layout = layout_of(tmp_path, "npy", source_of(*"abc"), "cifar10_c")
    layout.begin([FOG])
    part = tmp_path / "fog.npy.part"
    whole = part.read_bytes()
    part.write_bytes(whole[:20])  # killed inside the first write
    assert layout.hash(range(3), FOG) == ""
    layout.begin([FOG])
    assert part.read_bytes() == whole


def test_other_sizes_of_labels(tmp_path: Path) -> None:
    layout = layout_of(tmp_path, "npy", source_of("a"), "cifar100_c")
    assert isinstance(layout, ArrayLayout)
    assert np.load(io.BytesIO(layout.beside(np.array([300]))["labels.npy"])).dtype == np.int64
    assert layout.beside(None) == {}
    assert isinstance(layout_of(tmp_path, "jpeg", source_of("a")), FileLayout)


def test_an_array_of_a_name_that_no_file_can_have_is_not_there(tmp_path: Path) -> None:
    one = layout_of(tmp_path, "npy", source_of("a", "b"), "cifar10_c", 32)
    assert not one.there(range(1), Cell(400 * "9", 1))
