"""Files are read in a few formats, whatever their names: for others a decoder may start programs or
open further files."""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import EpsImagePlugin, Image, ImageFile

import hardy
from hardy.engine.door import FORMATS
from hardy.errors import InputError
from hardy.images.dataset_objects import source_of_dataset
from hardy.images.image_files import SUFFIXES, decode_image
from hardy.images.readers import open_images
from hardy.report.worst_section import reencode
from hardy.variants.disk.encode import read_video, video

SOURCE = Path(__file__).parents[2] / "src" / "hardy"
RGB = np.full((16, 16, 3), 90, np.uint8)


def encoded(format: str) -> bytes:
    data = io.BytesIO()
    Image.fromarray(RGB).save(data, format)
    return data.getvalue()


@pytest.fixture
def eps(monkeypatch: pytest.MonkeyPatch) -> bytes:
    """A file for which Pillow would start Ghostscript: here that fails the test."""

    def started(*given: object, **named: object) -> None:
        pytest.fail("Ghostscript was started")

    monkeypatch.setattr(EpsImagePlugin, "Ghostscript", started)
    return encoded("EPS")


def test_an_eps_file_called_png_is_no_image(eps: bytes, tmp_path: Path) -> None:
    folder = tmp_path / "images"
    folder.mkdir()
    (folder / "cat.png").write_bytes(eps)
    pq.write_table(pa.table({"image": [eps]}), tmp_path / "a.parquet")
    for source in (open_images(folder), open_images(tmp_path / "a.parquet")):
        with pytest.raises(InputError, match=r"not an image of a known format .*JPEG, PNG"):
            source.read(0)


def test_no_thumbnail_of_a_run_is_one(eps: bytes) -> None:
    with pytest.raises(OSError, match="cannot identify"):
        reencode(eps)


def test_nor_a_picture_that_was_opened_elsewhere(eps: bytes) -> None:
    picture = Image.open(io.BytesIO(eps))
    with pytest.raises(InputError, match=r"got EPS, .*image = image.copy\(\)"):
        hardy.corrupt(picture, "contrast", 1)
    with pytest.raises(InputError, match="got EPS"):
        source_of_dataset([(picture, 0)]).read(0)


@pytest.mark.parametrize("format", FORMATS)
def test_all_listed_formats_are_read(format: str) -> None:
    if format not in Image.SAVE:  # of a Pillow that was built without it
        Image.init()
    if format not in Image.SAVE:
        pytest.skip(f"this Pillow writes no {format}")
    assert decode_image(encoded(format), "x").shape == RGB.shape


def test_an_old_pillow_that_has_no_avif(monkeypatch: pytest.MonkeyPatch) -> None:
    Image.init()
    monkeypatch.delitem(Image.OPEN, "AVIF", raising=False)
    assert decode_image(encoded("WEBP"), "x").shape == RGB.shape
    with pytest.raises(InputError, match="not an image of a known format"):
        decode_image(b"no image", "x")


def test_every_suffix_belongs_to_a_listed_format() -> None:
    Image.init()
    known = {".avif": "AVIF"} | Image.EXTENSION  # Pillow has it since 11.3
    assert {known[suffix] for suffix in SUFFIXES} == set(FORMATS)


def test_pillow_opens_files_in_one_place() -> None:
    calls = re.compile(r"\bImage\.open\(|\bimread\(|ImageFile\.Parser\(")
    found = [path for path in SOURCE.rglob("*.py") if calls.search(path.read_text())]
    told = "PIL.Image.open({str(thing)!r})"  # what a message says
    assert [path.name for path in found] == ["door.py"]
    assert len(calls.findall(found[0].read_text().replace(told, ""))) == 1
    assert ImageFile.LOAD_TRUNCATED_IMAGES is False


def test_a_list_of_other_files_is_no_video(tmp_path: Path) -> None:
    pytest.importorskip("av")
    secret, path = tmp_path / "secret.mp4", tmp_path / "a.mp4"
    secret.write_bytes(video(np.stack([RGB, RGB]), "x264:crf=20,preset=veryfast"))
    assert len(read_video(secret)) == 2
    path.write_text("ffconcat version 1.0\nfile secret.mp4\n")
    with pytest.raises(InputError, match="Invalid data"):
        read_video(path)
