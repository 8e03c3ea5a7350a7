"""`verify` finds what is missing, altered or extra, down to one byte."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardy.errors import InputError
from hardy.places import UNFINISHED
from hardy.variants.disk.build_header import HEADER
from hardy.variants.disk.manifest import LINES, LOCK, WORKSHOP
from hardy.variants.disk.verify import verify
from tests.suites.helpers import built, tree, write_photos, write_rows

# A file of each.
FORMATS = {
    "jpeg": "contrast/2/n00000001/photo_001.JPEG",
    "png": "contrast/2/n00000001/photo_001.png",
    "npy": "contrast.npy",
    "tar": "contrast/2/000000.tar",
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    top = tmp_path_factory.mktemp("verify")
    images = write_photos(top / "val", 3)
    for format in FORMATS:
        # An array is whole when it has all severities.
        severities = None if format == "npy" else (1, 2)
        built("imagenet_c", images, top / format, "contrast", severities=severities, format=format)
    return {format: top / format for format in FORMATS}


@pytest.fixture(params=FORMATS)
def folder(request: pytest.FixtureRequest, folders: dict[str, Path], tmp_path: Path) -> Path:
    """A copy to spoil, in a folder called after its format."""
    copy = tmp_path / request.param
    for name, data in tree(folders[request.param]).items():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_bytes(data)
    return copy


def flip(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)


def test_nothing_to_find(folder: Path) -> None:
    report = verify(folder)
    assert report.fine
    assert report.left_out == 0
    # Six files; two shards; an array of five parts, and labels.
    assert report.checked == {"jpeg": 6, "png": 6, "tar": 2, "npy": 6}[folder.name]


@pytest.mark.parametrize("share", [0.5, 1])
def test_one_bit(folder: Path, share: float) -> None:
    """The bit is in the middle, of the second severity in the array, or at the end."""
    path = folder / FORMATS[folder.name]
    size = len(path.read_bytes())
    if folder.name == "npy":  # three severities were not built: their rows are not looked at
        size = size - 3 * 3 * 224 * 224 * 3 if share == 1 else size
        flip(path, size - 1 if share == 1 else (size * 3) // 10)
    else:
        flip(path, int(size * share) - 1)
    report = verify(folder)
    names = {"npy": "contrast.npy, rows 3 to 5"}
    assert report.spoilt == (FORMATS[folder.name],)
    assert report.altered == [names.get(folder.name, FORMATS[folder.name])]
    assert (report.missing, report.extra) == ([], [])


def test_a_shorter_and_a_longer_file(folder: Path) -> None:
    path = folder / FORMATS[folder.name]
    data = path.read_bytes()
    path.write_bytes(data[:-1])
    assert verify(folder).altered
    path.write_bytes(data + b"x")
    assert verify(folder).altered
    path.write_bytes(b"")
    assert verify(folder).altered


def test_a_missing_file(folder: Path) -> None:
    (folder / FORMATS[folder.name]).unlink()
    report = verify(folder)
    rows = [f"contrast.npy, rows {first} to {first + 2}" for first in range(0, 15, 3)]
    assert report.missing == (rows if folder.name == "npy" else [FORMATS[folder.name]])
    assert report.checked == {"jpeg": 5, "png": 5, "tar": 1, "npy": 1}[folder.name]
    assert (report.altered, report.extra) == ([], [])


def test_a_link_to_a_folder_is_extra(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (folder / "more").symlink_to(tmp_path / "other")
    try:
        assert verify(folder).extra == ["more"]
    finally:
        (folder / "more").unlink()


def test_extra_files(folder: Path) -> None:
    extra = ["a.txt", "contrast/1/x.JPEG", "contrast/x", "contrast/5/n00000001/photo_001.JPEG",
             "fog/1/n00000001/photo_001.JPEG", "fog.npy"]  # fmt: skip
    ours = [f"{WORKSHOP}/17", f".0123{UNFINISHED}"]  # that killed processes left
    for name in extra + ours:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    report = verify(folder)
    assert report.extra == sorted(extra)
    assert (report.altered, report.missing) == ([], [])


def test_a_folder_in_the_place_of_a_file(folder: Path) -> None:
    path = folder / FORMATS[folder.name]
    path.unlink()
    path.mkdir()
    assert verify(folder).missing


def test_labels_and_heads_of_arrays(tmp_path: Path) -> None:
    out = tmp_path / "out"
    built("cifar10_c", write_rows(tmp_path / "rows"), out, "contrast")
    whole = tree(out)
    flip(out / "labels.npy", -1)
    assert verify(out).altered == ["labels.npy"]
    assert verify(out).spoilt == ("labels.npy",)
    (out / "labels.npy").unlink()
    assert verify(out).missing == ["labels.npy"]
    (out / "labels.npy").write_bytes(whole["labels.npy"])
    assert verify(out).fine
    flip(out / "contrast.npy", 20)
    assert len(verify(out).altered) == 5
    np.save(out / "contrast.npy", np.zeros((35, 3072), np.uint8))  # as many bytes, another shape
    assert len(verify(out).altered) == 5


def test_what_is_not_built_yet_is_not_missing(folder: Path) -> None:
    """Two of three images have no line in the manifest; the third is looked at, and labels come at
    the end."""
    path = folder / LINES
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[: len(lines) - 2]))
    (folder / WORKSHOP).mkdir()
    (folder / WORKSHOP / LOCK).touch()
    (folder / "labels.npy").unlink(missing_ok=True)
    report = verify(folder)
    per_file = folder.name in ("jpeg", "png")
    assert (report.unfinished, report.fine, report.images) == (True, False, 3)
    assert (report.built, report.checked) == ((1, 2) if per_file else (0, 0))
    assert (report.missing, report.altered, report.extra) == ([], [], [])


def test_a_build_that_was_killed_when_all_was_listed(folder: Path) -> None:
    (folder / WORKSHOP).mkdir()
    (folder / WORKSHOP / LOCK).touch()
    report = verify(folder)
    assert (report.unfinished, report.built, report.images) == (True, 3, 3)
    assert not report.fine


def test_a_spoilt_array_that_is_not_whole_is_named_as_it_is(tmp_path: Path) -> None:
    out = tmp_path / "out"
    built("cifar10_c", write_rows(tmp_path / "rows"), out, "contrast", severities=(1,))
    flip(out / "contrast.npy.part", 2000)
    assert verify(out).spoilt == ("contrast.npy.part",)


def test_a_folder_that_was_not_built(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"without {HEADER}"):
        verify(tmp_path)
    with pytest.raises(InputError, match=f"without {HEADER}"):
        verify(tmp_path / "nowhere")


def test_progress_is_by_units(folder: Path) -> None:
    seen = []

    def track(units: Iterable[Any], total: int, unit: str = "", *_: Any) -> Iterable[Any]:
        assert (total, unit) == (len(list(units)), "units")
        seen.extend(units)
        return units

    verify(folder, track=track)
    assert len(seen) == (3 if folder.name in ("jpeg", "png") else 1)
