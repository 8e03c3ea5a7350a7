"""Images to look at: sheets with names beside the pictures, and sequences that move."""

import base64
import io
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import hardy
from hardy import pictures
from hardy.images.display import GAP, contact_sheet, write_clip
from hardy.images.recipes import eight_sevenths
from hardy.suites import load
from tests.photos import photos
from tests.report.pages import Parsed, check_safe


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    path = tmp_path / "photo.png"
    Image.fromarray(photos(90, 120)[0]).save(path)
    return path


def test_gif_has_every_frame(photo: Path):
    target = pictures.write_sequence(photo, photo.with_name("tilt.gif"), "tilt", side=64)
    with Image.open(target) as clip:
        assert (clip.format, clip.size) == ("GIF", (64, 64))
        assert getattr(clip, "n_frames") == 31  # noqa: B009
        assert clip.info["loop"] == 0
        clip.seek(30)
        last = np.asarray(clip.convert("RGB")).astype(int)
    picture, recipe = photos(90, 120)[0], eight_sevenths(64)
    frames = hardy.perturb(picture, "tilt", id="photo", recipe=recipe)
    assert np.abs(last - frames[30]).mean() < 8  # 256 colours


@pytest.mark.parametrize("side", [64, 45])
def test_mp4_has_every_frame(photo: Path, side: int):
    av = pytest.importorskip("av")
    target = pictures.write_sequence(photo, photo.with_name("t.mp4"), "translate", side=side)
    frames = hardy.perturb(photos(90, 120)[0], "translate", id="photo", recipe=eight_sevenths(side))
    with av.open(str(target)) as clip:
        seen = [frame.to_ndarray(format="rgb24") for frame in clip.decode(video=0)]
        assert clip.streams.video[0].average_rate == 10
    assert len(seen) == len(frames)
    for frame, expected in zip(seen, frames, strict=True):
        assert frame.shape == expected.shape
        assert np.abs(frame.astype(int) - expected).mean() < 8


def test_sheet_has_every_frame(tmp_path: Path):
    frames = [np.full((16, 16, 3), 8 * k, np.uint8) for k in range(11)]
    write_clip(tmp_path / "sheet.png", frames)
    sheet = np.asarray(Image.open(tmp_path / "sheet.png"))
    for level in range(11):
        same = (sheet == 8 * level).all(axis=2)
        assert same.sum() >= 16 * 16, level
    assert sheet.shape[1] > 8 * 16


def test_without_av(photo: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(hardy.MissingResource, match=r'pip install .*\[video\]"$'):
        pictures.write_sequence(photo, photo.with_name("tilt.mp4"), "tilt")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--sequence", "tilt", "-o", "t.avi"),
            "expected a name that ends in one of .gif .mp4 .bmp",
        ),
        (("--sequence", "tilt", "-o", "photo.png"), "it is the input itself"),
        (("--sequence", "tilt", "-o", "t.gif", "--level", "2"), "expected level 1, got 2"),
        (("-o", "t.gif", "--sequence", "fog"), 'unknown perturbation "fog"'),
    ],
)
def test_what_the_command_refuses(run, photo: Path, arguments, message):
    before = sorted(photo.parent.iterdir())
    code, _, err = run("show", "photo.png", *arguments)
    assert code == 2
    assert message in err
    assert sorted(photo.parent.iterdir()) == before


def test_the_command(run, photo: Path):
    arguments = ["--sequence", "shot_noise", "--level", "3", "--size", "32", "-o", "noise.gif"]
    assert run("show", "photo.png", *arguments) == (0, "wrote noise.gif\n", "")
    with Image.open("noise.gif") as clip:
        assert clip.size == (32, 32)


def test_perturbations_are_listed(run):
    _, out, _ = run("ls", "perturbations")
    lines = out.splitlines()
    assert tuple(line.split()[0] for line in lines) == hardy.perturbations()


def test_pictures_and_names_are_where_they_belong() -> None:
    side = 64
    shades = [
        [np.full((side, side, 3), 40 * row + 7 * column, np.uint8) for column in range(3)]
        for row in range(2)
    ]
    sheet = contact_sheet(["clean", "1", "2"], [("fog", shades[0]), ("a long name", shades[1])])
    left = sheet.shape[1] - 3 * (side + GAP)
    top = sheet.shape[0] - 2 * (side + GAP)
    for row in range(2):
        for column in range(3):
            y, x = top + row * (side + GAP), left + column * (side + GAP)
            np.testing.assert_array_equal(sheet[y : y + side, x : x + side], shades[row][column])
        assert (sheet[top + row * (side + GAP) :][:side, :left] < 128).any(), "row name"
    assert (sheet[top:, : 2 * GAP] == 255).all(), "the longest name fits its margin"
    for column in range(3):
        x = left + column * (side + GAP)
        assert (sheet[:top, x : x + side] < 128).any(), "column name"


def test_names_of_narrow_columns_do_not_overlap() -> None:
    picture = np.zeros((16, 16, 3), np.uint8) + np.array([255, 0, 0], np.uint8)
    sheet = contact_sheet(["openmoji-black", "openmoji-black"], [("tree", [picture, picture])])
    head = (sheet[: sheet.shape[0] - 16 - GAP] < 128).any(axis=(0, 2))
    columns = np.flatnonzero(head)
    assert np.diff(columns).max() >= GAP, "there is room between the names"
    assert (sheet == (255, 0, 0)).all(axis=2).sum() == 2 * 16 * 16, "and all pictures are whole"


def test_a_sheet_to_look_at(photo: Path):
    """A notebook shows the very pictures that a file has, in a table with their names."""
    sheet = hardy.show(photo, size=32)
    names = load("imagenet_c").corruptions
    assert repr(sheet) == f"PhotoSheet({len(names)} rows of 6 pictures)"
    parsed = Parsed(sheet._repr_html_().encode())
    check_safe(parsed)
    assert [image["alt"] for image in parsed.all("img")][:7] == [
        *(f"{names[0]}, {column}" for column in sheet.columns),
        f"{names[1]}, clean",
    ]
    # 32 pixels are stored without loss: what is shown is what `hardy.corrupt` makes.
    source = parsed.all("img")[5]["src"].partition("base64,")[2]
    with Image.open(io.BytesIO(base64.b64decode(source))) as image:
        made = np.array(image)
    clean = eight_sevenths(32).prepare(photos(90, 120)[0])
    np.testing.assert_array_equal(made, hardy.corrupt(clean, names[0], 5, ids=["photo"]))
    written = hardy.show(photo, photo.with_name("a.png"), size=32)
    assert sheet.write(photo.with_name("b.png")).read_bytes() == written.read_bytes()


def test_a_photograph_in_memory(photo: Path):
    pixels = photos(90, 120)[0]
    sheets = [hardy.show(one, size=32) for one in (pixels, Image.fromarray(pixels), pixels[None])]
    for sheet in sheets:
        np.testing.assert_array_equal(sheet.rows[3][1][4], sheets[0].rows[3][1][4])
    np.testing.assert_array_equal(sheets[0].rows[3][1][0], hardy.show(photo, size=32).rows[3][1][0])


def test_frames_to_look_at(photo: Path):
    sheet = hardy.show(photo, sequence="tilt", size=64)
    frames = hardy.perturb(photos(90, 120)[0], "tilt", id="photo", recipe=eight_sevenths(64))
    assert [name for name, _ in sheet.rows] == ["frame 0", "frame 8", "frame 16", "frame 24"]
    np.testing.assert_array_equal(sheet.rows[1][1][2], frames[10])


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((np.zeros((2, 32, 32, 3), np.uint8),), {}, "expected one photograph, got a batch of 2"),
        ((np.zeros((32, 32)),), {}, "expected a PIL image or a uint8 RGB array"),
        (("nowhere.png",), {}, "cannot read nowhere.png: there is no such file"),
        (("photo.png",), {"html": True}, "expected `output`, the file of the page, with `html`"),
        ((np.zeros((32, 32, 3), np.uint8), "a.html"), {"html": True}, "got ndarray; save it first"),
    ],
)
def test_what_cannot_be_shown(arguments: Any, options: Any, message: str):
    with pytest.raises(hardy.InputError, match=re.escape(message)):
        hardy.show(*arguments, **options)
