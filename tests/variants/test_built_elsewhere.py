"""Built and corrupted folders that came from somebody else: what they claim is not believed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import hardy
from hardy.errors import InputError
from hardy.suites.cells import Cell
from hardy.variants.disk.build_header import HEADER
from hardy.variants.disk.encode import read_video
from hardy.variants.disk.manifest import LINES
from hardy.variants.disk.verify import verify
from hardy.variants.mirror_manifest import CORRUPTED
from hardy.variants.stored import open_stored
from tests.records import read_unsealed
from tests.suites.helpers import built, write_photos, write_rows

CONTRAST = Cell("contrast", 1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two images, built as files."""
    photos = write_photos(tmp_path / "photos", 2)
    built("imagenet_c", photos, tmp_path / "built", "contrast", severities=(1,))
    return tmp_path / "built"


def change(folder: Path, **fields: Any) -> None:
    header = read_unsealed(folder / HEADER) | fields
    (folder / HEADER).write_text(json.dumps(header))


@pytest.mark.parametrize(
    "name", ["../../../photos/x.png", "/x.png", "", ".", "a/..", "x\0.png", "\ud800.png"]
)
def test_names_stay_in_the_folder(name: str, folder: Path) -> None:
    change(folder, files=[read_unsealed(folder / HEADER)["files"][0], name])
    for read in (open_stored, verify):
        with pytest.raises(InputError, match=r"the image name '.*' is no path in .*built; rename"):
            read(folder)


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_links_that_lead_out_are_not_read(depth: int, folder: Path, tmp_path: Path) -> None:
    file = open_stored(folder).files[0]
    place = folder.joinpath(*("contrast", "1", *file.split("/"))[: depth + 1])
    place.rename(tmp_path / "elsewhere")
    place.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match=r"cannot read .*: a link leads out of .*built; put the"):
        open_stored(folder).chunk([0]).make(CONTRAST)
    place.unlink()
    (tmp_path / "elsewhere").rename(folder / "within")
    place.symlink_to(folder / "within")
    assert open_stored(folder).chunk([0]).make(CONTRAST).shape == (1, 224, 224, 3)


@pytest.mark.parametrize("format", ["jpeg", "tar", "npy"])
def test_nor_are_those_in_the_place_of_a_file(format: str, tmp_path: Path) -> None:
    photos, out = write_photos(tmp_path / "photos", 1), tmp_path / "built"
    built("imagenet_c", photos, out, "contrast", severities=(1,), format=format)
    (file,) = (path for path in out.rglob("*") if path.is_file() and "contrast" in path.as_posix())
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    for read in (lambda folder: open_stored(folder).chunk([0]).make(CONTRAST), verify):
        with pytest.raises(InputError, match=r"cannot read .*: a link leads out of .*built; put"):
            read(out)


@pytest.mark.parametrize("field", ["labels", "ids"])
def test_numbers_that_no_array_holds(field: str, folder: Path) -> None:
    change(folder, **{field: [0, 2**70]})
    with pytest.raises(InputError, match=rf"manifest\.json: {field}: expected a list of .*, got"):
        open_stored(folder)


@pytest.mark.parametrize("more", [{"bad": [99]}, {"bad": [1]}, {"sources": ["00" * 16] * 2}])
def test_lines_speak_of_their_own_images(more: dict[str, Any], folder: Path) -> None:
    lines = (folder / LINES).read_text().splitlines()
    entry = json.loads(lines[0]) | more
    (folder / LINES).write_text("\n".join((json.dumps(entry), *lines[1:], "")))
    photos = folder.parent / "photos"
    for read in (
        open_stored,
        verify,
        lambda out: built("imagenet_c", photos, out, "contrast", severities=(1,)),
    ):
        with pytest.raises(InputError, match=r"manifest\.jsonl: line 1 is damaged"):
            read(folder)


def test_pipes_are_not_waited_for(folder: Path, tmp_path: Path) -> None:
    (folder / LINES).rename(tmp_path / "lines")
    os.mkfifo(folder / LINES)
    for read in (open_stored, verify):
        with pytest.raises(InputError, match=r"cannot read .*manifest\.jsonl: it is no file"):
            read(folder)
    (folder / LINES).unlink()
    (tmp_path / "lines").rename(folder / LINES)
    first = open_stored(folder).files[0]
    (folder / "contrast/1" / first).unlink()
    os.mkfifo(folder / "contrast/1" / first)
    assert verify(folder).missing == [f"contrast/1/{first}"]


def test_a_pipe_in_the_place_of_a_shard(tmp_path: Path) -> None:
    photos, out = write_photos(tmp_path / "photos", 1), tmp_path / "built"
    built("imagenet_c", photos, out, "contrast", severities=(1,), format="tar")
    (shard,) = out.rglob("*.tar")
    shard.unlink()
    os.mkfifo(shard)
    with pytest.raises(InputError, match=r"cannot read .*\.tar: .*it is no file"):
        open_stored(out).chunk([0]).make(CONTRAST)


def test_a_pipe_in_the_place_of_an_array(tmp_path: Path) -> None:
    out = tmp_path / "built"
    built("cifar10_c", write_rows(tmp_path / "rows", 2), out, "contrast")
    (out / "contrast.npy").unlink()
    os.mkfifo(out / "contrast.npy")
    with pytest.raises(InputError, match=r"cannot read .*contrast\.npy: .*it is no file"):
        open_stored(out).chunk([0]).make(CONTRAST)
    assert len(verify(out).missing) == 5


@pytest.mark.parametrize("kind", ["pipe", "folder", "no name", "no file"])
def test_lines_of_corrupted_files_that_nobody_wrote(kind: str, tmp_path: Path) -> None:
    photos, lines = write_photos(tmp_path / "photos", 1), tmp_path / "out" / CORRUPTED
    lines.parent.mkdir()
    match kind:
        case "pipe":
            os.mkfifo(lines)
        case "folder":
            lines.mkdir()
        case _:
            lines.write_text(json.dumps({"output": "" if kind == "no name" else "."}) + "\n")
    with pytest.raises(InputError, match=r"corrupted\.jsonl: expected the lines that `hardy corr"):
        hardy.corrupt_files(photos, tmp_path / "out", "contrast:1")


def test_corrupted_files_have_only_so_many_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    photos, out = write_photos(tmp_path / "photos", 1), tmp_path / "out"
    hardy.corrupt_files(photos, out, "contrast:1")
    monkeypatch.setenv("HARDY_LARGEST_LISTING", "20")
    with pytest.raises(InputError, match=r"corrupted\.jsonl: expected at most 20 bytes in a list"):
        hardy.corrupt_files(photos, out, "contrast:1")


def test_an_output_that_is_a_pipe(tmp_path: Path) -> None:
    photos, out = write_photos(tmp_path / "photos", 1), tmp_path / "out"
    hardy.corrupt_files(photos, out, "contrast:1")
    (made,) = out.rglob("*.png")
    made.unlink()
    os.mkfifo(made)
    with pytest.raises(InputError, match=r"cannot read .*\.png: it is no file"):
        hardy.corrupt_files(photos, out, "contrast:1")


def test_a_pipe_in_the_place_of_a_video(tmp_path: Path) -> None:
    pytest.importorskip("av")
    os.mkfifo(tmp_path / "a.mp4")
    with pytest.raises(InputError, match=r"cannot read .*a\.mp4: .*it is no file"):
        read_video(tmp_path / "a.mp4")
