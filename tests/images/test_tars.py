"""Tar shards: WebDataset's layout, read in place; nothing climbs out, nothing is unpacked."""

import gzip
import io
import os
import pickle
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from hardy.errors import InputError
from hardy.images import Fault, open_images
from tests.photos import random_images

IMAGES = random_images(9, 10, 12)


def png(number: int) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(IMAGES[number]).save(stream, "PNG")
    return stream.getvalue()


def claiming(name: str, **headers: str) -> tarfile.TarInfo:
    """A member whose extended headers say what is not so."""
    info = tarfile.TarInfo(name)
    info.pax_headers = headers
    return info


def members(path: Path, files: dict[str, bytes | str | tarfile.TarInfo]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in files.items():
            if isinstance(content, tarfile.TarInfo):
                archive.addfile(content)
                continue
            data = content.encode() if isinstance(content, str) else content
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.tar")
    for given in (tmp_path / "a.tar", tmp_path / "*.tar"):
        with pytest.raises(InputError, match=r"a\.tar is neither a file nor a folder; expected"):
            open_images(given)
    with pytest.raises(InputError, match=r"cannot read .*a\.tar to its end: .*it is no file"):
        open_images(tmp_path)


def test_shards_of_a_folder_and_of_a_pattern(tmp_path: Path) -> None:
    long = "n01/" + "long" * 40
    members(
        tmp_path / "b.tar",
        {"n01/x.JPEG": png(2), "n01/x.cls": "4\n", f"{long}.png": png(3), f"{long}.cls": "0"},
    )
    members(
        tmp_path / "a.tar",
        {
            "./1.cls": "7",
            "./1.json": "{}",
            "./1.png": png(0),
            "._1.png": b"",
            "2.1.png": png(1),
            "2.cls": "7",
        },
    )
    source = open_images(tmp_path)
    assert list(source.files) == ["1.png", "2.1.png", "n01/x.JPEG", f"{long}.png"]
    assert source.ids == ["1", "2.1", "n01/x", long]
    assert open_images(tmp_path, id_rule="file_stem").ids == ["1", "2.1", "x", "long" * 40]
    assert source.labels is not None
    assert (source.labels.tolist(), source.classes) == ([7, 7, 4, 0], None)
    for index in (3, 0, 2, 1):
        np.testing.assert_array_equal(source.read(index), IMAGES[index])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(source)).read(3), IMAGES[3])
    assert source.describe() == f"4 images of 3 classes, 2 tar shards {tmp_path}"
    assert len(open_images(f"{tmp_path}/[b-z]*.tar")) == 2
    assert len(open_images(tmp_path / "a.tar")) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tar", "b.tar"]


def test_labels_may_be_names_or_missing(tmp_path: Path) -> None:
    named = members(
        tmp_path / "a.tar", {"1.png": png(0), "1.cls": "dog", "2.png": png(1), "2.cls": "cat"}
    )
    source = open_images(named)
    assert source.labels is not None
    assert (source.labels.tolist(), source.classes) == ([1, 0], ("cat", "dog"))
    assert open_images(members(tmp_path / "b.tar", {"1.png": png(0)})).labels is None


def link(name: str, kind: bytes, target: str) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


@pytest.mark.parametrize(
    ("extra", "reason"),
    [
        ({"../x": b"out"}, r"\.\./x: the path climbs out of its top; not used"),
        ({"a/../../x.png": png(2), "a/../../x.cls": "1"}, "climbs out"),
        ({"a": claiming("a", path="a\0b.png")}, "the name has a NUL character in it; not used"),
        ({"/etc/x.png": png(2)}, "/etc/x.png: the path climbs out"),
        ({"..\\x.png": png(2)}, "climbs out"),
        ({"C:x.png": png(2)}, "climbs out"),
        ({"l.png": link("l.png", tarfile.SYMTYPE, "/etc/passwd")}, "expected a file, got a link"),
        ({"l.png": link("l.png", tarfile.LNKTYPE, "1.png")}, "expected a file, got a link"),
        ({"l.png": link("l.png", tarfile.FIFOTYPE, "")}, "expected a file, got a link or device"),
        ({"3.png": png(2)}, r"3.png has no \.cls beside it; add its label"),
        (
            {"3.png": png(2), "3.jpg": png(2), "3.cls": "1"},
            "one image under the key /3, got 3.png, 3.jpg",
        ),
        ({"3.png": png(2), "3.cls": "1" * 2000}, "expected one short label per key"),
    ],
)
def test_what_is_wrong_in_a_tar_is_reported_and_the_rest_used(
    tmp_path: Path, extra: dict[str, bytes | str | tarfile.TarInfo], reason: str
) -> None:
    good = {"1.png": png(0), "1.cls": "0", "2.png": png(1), "2.cls": "1"}
    path = members(tmp_path / "in/a.tar", {**good, **extra})
    with pytest.raises(InputError, match=reason):
        open_images(path, id_rule="file_stem")
    faults: list[Fault] = []
    source = open_images(path, id_rule="file_stem", faults=faults)
    assert list(source.files) == ["1.png", "2.png"]
    np.testing.assert_array_equal(source.read(1), IMAGES[1])
    assert 1 <= len(faults) <= 2
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.tar", "in"]
    twins = members(tmp_path / "twins.tar", {**good, "d/1.png": png(2), "d/1.cls": "1"})
    with pytest.raises(InputError, match=r'twins.tar:1.png and .*:d/1.png have the same id "1"'):
        open_images(twins, id_rule="file_stem", faults=[])


def test_a_broken_image_in_a_tar(tmp_path: Path) -> None:
    path = members(tmp_path / "a.tar", {"1.png": png(0)[:-40], "2.png": b"", "3.png": b"text"})
    source = open_images(path)
    for index, reason in enumerate(
        ("1.png: .*truncated|broken", "2.png: the file is empty", "not an")
    ):
        with pytest.raises(InputError, match=f"cannot read {path}:.*{reason}"):
            source.read(index)


def test_broken_tars(tmp_path: Path) -> None:
    path = members(tmp_path / "a.tar", {"1.png": png(0), "2.png": png(1), "3.png": png(2)})
    data = path.read_bytes()
    (tmp_path / "cut.tar").write_bytes(data[: data.index(png(2)) + 100])
    with pytest.raises(
        InputError, match=r"cannot read .*cut.tar to its end: unexpected end of data"
    ):
        open_images(tmp_path / "cut.tar")
    faults: list[Fault] = []
    source = open_images(tmp_path / "cut.tar", faults=faults)
    assert list(source.files)[:2] == ["1.png", "2.png"]
    np.testing.assert_array_equal(source.read(1), IMAGES[1])

    (tmp_path / "z.tar").write_bytes(gzip.compress(data))
    with pytest.raises(InputError, match=r"is compressed, .*gunzip it"):
        open_images(tmp_path / "z.tar")
    (tmp_path / "text.tar").write_text("not a tar" * 100)
    with pytest.raises(InputError, match=r"cannot read .*text.tar to its end"):
        open_images(tmp_path / "text.tar")
    with pytest.raises(
        InputError, match=r"there are no images in .*: expected key.jpg and key.cls"
    ):
        open_images(members(tmp_path / "other.tar", {"data_batch_1": b"x"}))

    source = open_images(path)
    path.write_bytes(data[:700])
    with pytest.raises(InputError, match="the tar ends in the middle of it"):
        source.read(1)


def test_shards_of_two_kinds(tmp_path: Path) -> None:
    members(tmp_path / "a.tar", {"1.png": png(0)})
    (tmp_path / "b.parquet").touch()
    with pytest.raises(InputError, match=r"expected .tar or .parquet files, and not both"):
        open_images(tmp_path)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (claiming("3.png", size="-5"), "3.png has a negative size"),
        # So far back that the next header would be its own.
        (claiming("3.png", size="-1536"), "3.png has a negative size"),
        (claiming("3.png", size=str(10**15)), "end of data, in 3.png of 1,000,000,000,000,000 by"),
        (claiming("3.png", **{"GNU.sparse.map": "a,b"}), "invalid literal for int"),
    ],
)
@pytest.mark.parametrize("first", [False, True])
def test_members_of_impossible_sizes(
    tmp_path: Path, bad: tarfile.TarInfo, reason: str, first: bool
) -> None:
    members(tmp_path / "a.tar", {} if first else {"1.png": png(0), "2.png": png(1)})
    with tarfile.open(tmp_path / "a.tar", "a", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(bad)
    members(tmp_path / "b.tar", {"4.png": png(4)})
    with pytest.raises(InputError, match=rf"cannot read .*a.tar to its end: .*{reason}.*; fetch"):
        open_images(tmp_path)
    faults: list[Fault] = []
    source = open_images(tmp_path, faults=faults)
    assert list(source.files) == ([] if first else ["1.png", "2.png"]) + ["4.png"]
    np.testing.assert_array_equal(source.read(-1), IMAGES[4])
    assert len(faults) == 1


def test_headers_that_claim_more_than_the_file(tmp_path: Path) -> None:
    """An extended header is read whole: its size must not be believed either."""
    info = tarfile.TarInfo("x")
    info.type, info.size = tarfile.XHDTYPE, 10**15
    path = members(tmp_path / "a.tar", {"1.png": png(0)})
    data = path.read_bytes().rstrip(b"\0")
    blocks = data + bytes(-len(data) % 512) + info.tobuf(tarfile.GNU_FORMAT) + bytes(1024)
    path.write_bytes(blocks)
    with pytest.raises(InputError, match=r"cannot read .*a.tar to its end: "):
        open_images(path)


def test_a_broken_header_is_not_the_end(tmp_path: Path) -> None:
    path = members(tmp_path / "a.tar", {"1.png": png(0), "2.png": png(1), "3.png": png(2)})
    data = bytearray(path.read_bytes())
    place = data.index(b"2.png")
    data[place] = ord("x")
    path.write_bytes(data)
    faults: list[Fault] = []
    assert list(open_images(path, faults=faults).files) == ["1.png"]
    assert f"to its end: broken header at byte {place:,}; fetch it again" in faults[0].reason
    with pytest.raises(InputError, match="broken header at byte"):
        open_images(path)
