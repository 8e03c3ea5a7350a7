"""Every row of the door's table: what is taken comes back alike, a refusal says what to do."""

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from PIL import Image

from hardy.engine import door
from hardy.errors import InputError

RGB = np.random.default_rng(3).integers(0, 256, (10, 12, 3), dtype=np.uint8)


def through(images: object) -> object:
    batch, restore = door.enter(images)
    assert batch.dtype == np.uint8
    assert batch.ndim == 4
    assert batch.flags.c_contiguous
    assert batch.flags.writeable
    return restore(batch.copy())


@pytest.mark.parametrize(
    "images",
    [
        RGB,
        RGB[None],
        np.stack([RGB, 255 - RGB]),
        RGB[::-1, ::-1],
        np.asfortranarray(RGB),
        np.moveaxis(np.ascontiguousarray(np.moveaxis(RGB, -1, 0)), 0, -1),
        np.frombuffer(RGB.tobytes(), np.uint8).reshape(RGB.shape),
        RGB.view(np.dtype(">u1")),
        np.zeros((0, 10, 12, 3), np.uint8),
    ],
)
def test_uint8_rgb_arrays_pass(images: np.ndarray) -> None:
    before = images.copy()
    result = through(images)
    assert type(result) is np.ndarray
    assert result.shape == images.shape
    assert not np.shares_memory(result, images)
    np.testing.assert_array_equal(result, before)
    np.testing.assert_array_equal(images, before)


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "CMYK", "YCbCr", "HSV", "LAB", "RGBX"])
def test_pil_images_come_back_as_rgb(mode: str) -> None:
    image = Image.fromarray(RGB).convert(mode)
    result = through(image)
    assert isinstance(result, Image.Image)
    assert (result.mode, result.size) == ("RGB", image.size)
    np.testing.assert_array_equal(np.asarray(result), np.asarray(image.convert("RGB")))


def test_grey_pil_is_replicated() -> None:
    grey = through(Image.fromarray(RGB[..., 0]))
    np.testing.assert_array_equal(np.asarray(grey), np.repeat(RGB[..., :1], 3, axis=-1))


@pytest.mark.parametrize("mode", ["RGBA", "LA", "PA"])
def test_opaque_alpha_is_dropped(mode: str) -> None:
    image = Image.fromarray(RGB).convert(mode)
    theirs = image.convert("RGBA").convert("RGB")
    np.testing.assert_array_equal(np.asarray(through(image)), np.asarray(theirs))


def transparent(mode: str) -> Image.Image:
    image = Image.fromarray(RGB).convert("RGBA")
    image.putpixel((2, 3), (9, 9, 9, 254))
    if mode == "P":
        image = Image.fromarray(RGB).convert("P")
        image.info["transparency"] = image.getpixel((2, 3))
    elif mode == "RGB":
        image = Image.fromarray(RGB)
        image.info["transparency"] = tuple(map(int, RGB[3, 2]))
    elif mode == "LA":
        image = image.convert("LA")
    return image


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P", "RGB"])
def test_transparent_pixels_are_refused(mode: str) -> None:
    with pytest.raises(InputError, match=r"transparent pixels; paste it on a background.*convert"):
        door.enter(transparent(mode))


@pytest.mark.parametrize("mode", ["I", "F", "I;16", "I;16B"])
def test_deep_pil_images_are_refused(mode: str) -> None:
    with pytest.raises(InputError, match=rf"8 bits per channel, got .* mode {mode}; scale it"):
        door.enter(Image.new(mode, (12, 10)))


def test_a_mode_pillow_cannot_convert_is_refused() -> None:
    with pytest.raises(InputError, match=r"got PIL mode La .*not supported"):
        door.enter(Image.new("La", (12, 10)))


def test_animations_are_refused_and_their_frames_taken(tmp_path: Path) -> None:
    frames = [Image.new("RGB", (12, 10), (shade, 0, 0)) for shade in (0, 90, 180)]
    frames[0].save(tmp_path / "a.gif", save_all=True, append_images=frames[1:])
    with Image.open(tmp_path / "a.gif") as image:
        with pytest.raises(InputError, match="still image, got GIF of several frames; take"):
            door.enter(image)
        image.seek(1)
        assert np.asarray(through(image.copy()))[0, 0].tolist() == [90, 0, 0]


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (RGB[..., 0], r"uint8 \(10, 12\); grey becomes RGB by np.repeat\(image\[..., None\], 3"),
        (RGB[..., :1], r"uint8 \(10, 12, 1\); grey becomes RGB by np.repeat\(images, 3"),
        (RGB[None, ..., :1], r"uint8 \(1, 10, 12, 1\); grey becomes RGB"),
        (np.dstack([RGB, RGB[..., :1]]), r"uint8 \(10, 12, 4\); drop alpha with images\[..., :3\]"),
        (np.moveaxis(RGB, -1, 0), r"\(3, 10, 12\); channels go last: np.moveaxis\(images, 0, -1\)"),
        (
            np.moveaxis(RGB, -1, 0)[None],
            r"\(1, 3, 10, 12\); channels go last: np.moveaxis\(images, 1, -1\)",
        ),
        (RGB[None, None], r"uint8 \(1, 1, 10, 12, 3\); reshape it"),
        (np.uint8(3), "uint8; convert it with np.asarray"),
        (np.zeros((10, 12, 5), np.uint8), r"\(10, 12, 5\); reshape it"),
        (
            np.zeros((7, 12, 3), np.uint8),
            "at least 8 pixels per side, got width 12, height 7; enlarge",
        ),
        (np.zeros((4, 12, 7, 3), np.uint8), "at least 8 pixels per side, got width 7, height 12"),
        (np.zeros((0, 12, 7, 3), np.uint8), "at least 8 pixels per side, got width 7, height 12"),
        (Image.new("RGB", (7, 12)), "at least 8 pixels per side, got width 7, height 12"),
        (
            RGB / np.float32(255),
            r"float32 \(10, 12, 3\); its values go from 0 to 1; .*np.clip\(images \* 255, 0, 255\)",
        ),
        (RGB.astype(np.float64), r"float64 .*np.clip\(images, 0, 255\).astype\(np.uint8\)"),
        (RGB * np.float16(np.nan), "float16 .*values go from nan to nan"),
        (RGB.astype(np.int64), r"int64 .*values go from 0 to 255.*astype\(np.uint8\)"),
        (RGB > 5, r"bool .*if True is white: images.astype\(np.uint8\) \* 255"),
        (np.zeros((0, 10, 12, 3)), r"float64 .*convert it with .astype"),
        (RGB.astype(object), r"object \(10, 12, 3\); np.stack images of one size"),
        (RGB.astype(complex), "complex128 .*convert it"),
        ([RGB, RGB], "got a list; np.stack images of one size, else pass them one by one"),
        ((Image.fromarray(RGB),), "got a tuple; np.stack"),
        ("cat.jpg", r"got a path; open it first: PIL.Image.open\('cat.jpg'\)"),
        (Path("cat.jpg"), r"got a path; open it first: PIL.Image.open\('cat.jpg'\)"),
        (None, "got NoneType; convert it with np.asarray"),
        (b"abc", "got bytes"),
    ],
)
def test_refusals_say_what_to_do(images: object, message: str) -> None:
    with pytest.raises(InputError, match=r"expected (a PIL image|at least)") as caught:
        door.enter(images)
    assert caught.match(message)


def test_pillow_is_not_imported_to_look_at_an_array() -> None:
    code = (
        "import sys, numpy as np; from hardy.engine import door; "
        "door.enter(np.zeros((8, 8, 3), np.uint8)); print('PIL.Image' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
    assert isinstance(sys.modules["PIL.Image"], ModuleType)
