from __future__ import annotations

import base64
import io

import numpy as np
from PIL import Image

import hardy
from hardy.images.display import encode
from hardy.images.image_files import read_image
from hardy.images.recipes import eight_sevenths
from hardy.report.gallery import make_gallery
from hardy.report.page import render_galleries
from hardy.suites import load
from tests.photos import paths
from tests.report.conftest import MARKUP
from tests.report.pages import Parsed, check_safe


def _pixels(uri: str) -> np.ndarray:
    data = base64.b64decode(uri.removeprefix("data:image/webp;base64,"))
    with Image.open(io.BytesIO(data)) as opened:
        return np.asarray(opened.convert("RGB"))


def test_strips_are_the_corrupted_images_side_by_side() -> None:
    """At 32 pixels they are kept without loss."""
    photo = paths()[0]
    gallery = make_gallery(load("cifar10_c"), photo)
    clean = read_image(photo, eight_sevenths(32).prepare)
    np.testing.assert_array_equal(_pixels(gallery.clean), clean)
    strip = next(one for one in gallery.strips if one.name == "fog")
    wanted = [hardy.corrupt(clean, "fog", s, ids=photo.stem, edition="cifar") for s in range(1, 6)]
    np.testing.assert_array_equal(_pixels(strip.uri), np.concatenate(wanted, axis=1))
    assert [one.name for one in gallery.strips] == list(load("cifar10_c").corruptions)


def test_sequences_have_all_their_frames() -> None:
    gallery = make_gallery(load("cifar10_p"), paths()[0])
    assert gallery.unit == "frame"
    for strip in gallery.strips:
        assert _pixels(strip.uri).shape == (32, 32 * strip.length, 3)
        assert strip.length == load("cifar10_p").edition.steps(strip.name).frames


def test_page_by_itself_is_safe() -> None:
    gallery = make_gallery(load("cifar10_c"), paths()[0])
    page = render_galleries(MARKUP, [gallery])
    parsed = Parsed(page)
    check_safe(parsed)
    assert MARKUP in "".join(parsed.text)
    assert len(page) < 1_000_000


def test_photographs_are_small_and_pixels_exact() -> None:
    generator = np.random.default_rng(0)
    tiny = generator.integers(0, 256, (32, 32, 3), dtype=np.uint8)
    with Image.open(io.BytesIO(encode(tiny))) as opened:
        np.testing.assert_array_equal(np.asarray(opened.convert("RGB")), tiny)
    photo = read_image(paths()[0], eight_sevenths(224).prepare)
    assert len(encode(photo)) < 20_000
