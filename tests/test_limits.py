"""What claims more than Hardy takes is refused by its claim: before memory is spent on it."""

from __future__ import annotations

import io
import json
import os
import resource
import subprocess
import sys
import tracemalloc
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import hardy
from hardy.design.independent_sets import select_independent
from hardy.design.matrix import Matrix
from hardy.errors import LONGEST_LINE, HardyError, InputError, door
from hardy.images import open_images
from hardy.images.image_files import read_image
from hardy.limits import LIMITS, Limit
from tests.records import read_unsealed

DOCS = Path(__file__).parents[1] / "docs"
BUILT = Path(__file__).parent / "fixtures/v0_1/built"
FEW = Limit("HARDY_MOST_APPLES", 3, "apples", "the basket is small")


def test_a_limit_says_why_it_is_there_and_what_raises_it(monkeypatch: pytest.MonkeyPatch) -> None:
    FEW.check(3, "a tree")
    message = (
        r"a tree: expected at most 3 apples, got 4,000 \(the basket is small\); if that is right, "
        "set the environment variable HARDY_MOST_APPLES higher"
    )
    with pytest.raises(InputError, match=message):
        FEW.check(4000, "a tree")
    with pytest.raises(InputError, match="got very many"):
        FEW.check(10**5000, "a tree")
    monkeypatch.setenv("HARDY_MOST_APPLES", "4000")
    FEW.check(4000, "a tree")
    for text in ("none", "-1", "0", "1" * 30):
        monkeypatch.setenv("HARDY_MOST_APPLES", text)
        with pytest.raises(InputError, match="HARDY_MOST_APPLES as a whole number above 0, got"):
            FEW.check(1, "a tree")


def test_all_limits_are_documented() -> None:
    page = (DOCS / "reliability.md").read_text(encoding="utf-8")
    for limit in LIMITS:
        assert f"| `{limit.variable}` | {limit.usual:,} {limit.unit} | {limit.reason} |" in page


def png() -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (16, 16)).save(stream, "PNG")
    return stream.getvalue()


def repeated(path: Path, rows: int) -> Path:
    """Equal rows, which take no room in the file."""
    image = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), [png()])
    pq.write_table(pa.table({"image": image.cast(pa.binary()), "label": np.zeros(rows, int)}), path)
    return path


def test_equal_rows_of_a_parquet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = repeated(tmp_path / "many.parquet", 300_000)
    with pytest.raises(InputError, match=r"300,000 rows in a file of [\d,]+ bytes; fetch or write"):
        open_images(path)
    path = repeated(tmp_path / "few.parquet", 100)
    assert open_images(path).read(99).shape == (16, 16, 3)
    monkeypatch.setenv("HARDY_MOST_IMAGES", "99")
    with pytest.raises(InputError, match="expected at most 99 images, got 100"):
        open_images(path)
    monkeypatch.delenv("HARDY_MOST_IMAGES")
    monkeypatch.setenv("HARDY_LARGEST_ROW_GROUP", "5000")
    source = open_images(path)  # labels take less
    with pytest.raises(InputError, match="expected at most 5,000 bytes in a row group"):
        source.read(0)


def test_an_array_that_takes_no_room_on_the_disk(tmp_path: Path) -> None:
    shape, path = (2**31, 1, 1, 3), tmp_path / "sparse.npy"
    with path.open("wb") as file:
        header = {"descr": "|u1", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        file.truncate(file.tell() + 3 * 2**31)
    with pytest.raises(InputError, match="expected at most 10,000,000 images, got 2,147,483,648"):
        open_images(path)


def test_a_compressed_array_is_unpacked_once_and_away_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pickle
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "unpacked"))
    (tmp_path / "unpacked").mkdir()
    images = np.random.default_rng(0).integers(0, 256, (5, 8, 9, 3), np.uint8)
    np.savez_compressed(tmp_path / "set.npz", images=images, labels=range(5))
    source = open_images(tmp_path / "set.npz")
    sent = pickle.dumps(source)
    assert images[0].tobytes() not in sent  # where the pixels lie, and none of them
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    assert unpacked.stat().st_size == images.nbytes
    copy = pickle.loads(sent)
    assert [copy.read(row).tolist() for row in range(5)] == images.tolist()
    del copy
    assert (source.read(4) == images[4]).all()  # the copy took nothing with it
    del source
    assert not list((tmp_path / "unpacked").iterdir())


@pytest.mark.parametrize(("format", "place"), [("PNG", 33), ("JPEG2000", 32)])
def test_a_forged_length_in_a_picture_takes_no_memory(
    format: str, place: int, tmp_path: Path
) -> None:
    stream, path = io.BytesIO(), tmp_path / "forged.png"
    Image.new("RGB", (16, 16)).save(stream, format)
    data = bytearray(stream.getvalue())
    data[place : place + 4] = (2**31 - 1).to_bytes(4, "big")  # of a chunk, or of a box
    path.write_bytes(data)
    tracemalloc.start()
    try:
        with suppress(InputError):  # a PNG whose pixels are all there is taken
            read_image(path)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_the_pages_of_a_picture_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.BytesIO()
    pages = [Image.new("RGB", (16, 16)) for _ in range(4)]
    pages[0].save(stream, "TIFF", save_all=True, append_images=pages[1:])
    with Image.open(stream) as image:
        read: list[int] = []
        seek = type(image)._seek
        monkeypatch.setattr(type(image), "_seek", lambda self, n: (read.append(n), seek(self, n)))
        with pytest.raises(InputError, match="expected a still image, got TIFF of several frames"):
            hardy.corrupt(image, "contrast", 1)
        assert not read


def test_the_search_for_a_largest_set_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    clash = np.triu(np.random.default_rng(0).random((120, 120)) < 0.1, 1)
    matrix = Matrix(tuple(f"c{place}" for place in range(120)), np.eye(120) + clash + clash.T)
    monkeypatch.setenv("HARDY_MOST_SETS", "1000")
    with pytest.raises(InputError, match=r"largest set of 120 .* at most 1,000 sets to try"):
        select_independent(matrix, 0.5)


def test_archives_that_unpack_to_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    from hardy.design.proxy import read_features
    from hardy.models.weight_files import read_weights

    torch.save({"weight": torch.zeros(1000)}, tmp_path / "stored.pt")
    with (
        zipfile.ZipFile(tmp_path / "stored.pt") as stored,
        zipfile.ZipFile(tmp_path / "packed.pt", "w", zipfile.ZIP_DEFLATED) as packed,
    ):
        for name in stored.namelist():
            packed.writestr(name, stored.read(name))
    np.savez_compressed(tmp_path / "features.npz", names=np.zeros(1000))
    monkeypatch.setenv("HARDY_LARGEST_INFLATED", "3000")
    assert len(read_weights(tmp_path / "stored.pt", "")["weight"]) == 1000
    with pytest.raises(InputError, match=r"packed\.pt: expected at most 3,000 bytes when it is un"):
        read_weights(tmp_path / "packed.pt", "")
    with pytest.raises(InputError, match=r"features\.npz: expected at most 3,000 bytes when it"):
        read_features(tmp_path / "features.npz", ())


CHILD = """
import json, resource, sys
import hardy, hardy.images.parquet, hardy.store.reader, hardy.models.model
from hardy.images import open_images
from hardy.images.image_files import read_image
from pathlib import Path

hardy.draw("gaussian_noise", 1, (32, 32))
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 300_000_000,) * 2)
for work in (
    lambda: hardy.draw("gaussian_noise", 1, (10**9, 10**9)),
    lambda: hardy.draw("gaussian_noise", 1, (16, 10**9)),
    lambda: hardy.verify("built"),
    lambda: open_images("bomb.npz"),
    lambda: hardy.models.model.Preprocessing((0, 0, 0), (1, 1, 1), 10**9),
):
    try:
        work()
        print("nothing was refused")
    except hardy.InputError as error:
        print(error)
"""


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_AS"), reason="memory cannot be limited here")
def test_what_is_refused_took_no_memory(tmp_path: Path) -> None:
    (tmp_path / "built").mkdir()
    header = read_unsealed(BUILT / "manifest.json") | {"images": 10**9}
    (tmp_path / "built/manifest.json").write_text(json.dumps(header))
    claim = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        claim, {"descr": "|u1", "fortran_order": False, "shape": (10**6, 32, 32, 3)}
    )
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("images.npy", claim.getvalue() + bytes(10**7))
    done = subprocess.run(
        [sys.executable, "-c", CHILD], cwd=tmp_path, capture_output=True, text=True, env=os.environ
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    expected = (
        "size: expected at most 178,956,970 pixels in an image, got 1,000,000,000,000,000,000",
        "size: expected at most 178,956,970 pixels in an image, got 16,000,000,000",
        "built/manifest.json: files: expected 1,000,000,000, one per image, got [",
        "bomb.npz, images: expected 3,072,000,000 bytes of pixels, got 10,000,000",
        "images resized to 1000000000: expected at most 178,956,970 pixels in an image",
    )
    for line, start in zip(lines, expected, strict=True):
        assert line.startswith(start)


def test_a_message_can_be_read_whatever_a_file_brought_into_it() -> None:
    (text,) = HardyError("the file " + "x" * 10**6 + "; delete it").args
    assert len(text) <= LONGEST_LINE + 3
    assert text.startswith("the file xxx")
    assert text.endswith("xxx; delete it")
    assert len(str(InputError("\n" * 10**6))) <= LONGEST_LINE + 3


def test_whatever_a_library_raises_is_told_in_a_line_with_the_name_of_the_file() -> None:
    for error, told in (
        (ZeroDivisionError("of\nmany lines"), "ZeroDivisionError: of"),
        (MemoryError(), "MemoryError"),
        (OSError(5, "Input/output error"), r"OSError: \[Errno 5\] Input/output error"),
    ):
        message = rf"^cannot read a\.file: {told}; fetch it$"
        with pytest.raises(InputError, match=message), door("a.file", "fetch it"):
            raise error
    with pytest.raises(InputError, match=r"^ours$"), door("a.file"):
        raise InputError("ours")
