"""ImageNet-NOC: every corruption gives the bytes of its definition, and draws what it says."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

import hardy
from hardy.engine.ops import cpu_ops
from hardy.suites import edition, load
from tests.corrupt.noc_references import ONLY_224, REFERENCES
from tests.photos import photos, random_images

NAMES = load("noc_23").corruptions
WHOLE = {  # both ends of what is drawn as a whole number, at 224
    "quantization": (3, 8), "pixelate": (2, 4), "artifacts": (14, 170),
    "vertical_artifacts": (14, 180), "rhombus": (9, 76), "rain": (12, 120), "circle": (7, 50),
    "obstruction": (47, 125), "border": (9, 46), "shear": (12, 39), "elastic": (44, 110),
    "rotation": (7, 50),
}  # fmt: skip
REAL = {
    "gaussian": (0.05, 0.18), "salt_pepper": (0.003, 0.032), "blur": (0.40, 0.95),
    "thumbnail_resize": (1.1, 3.25), "backlight": (0.11, 0.44), "brightness": (0.16, 0.51),
    "contrast": (0.33, 0.74), "color_disortion": (0.09, 0.40), "gray_scale": (0.49, 1.0),
    "hue": (0.05, 0.5),
}  # fmt: skip


def assert_agreement(images: np.ndarray, name: str, seed: int = 0) -> None:
    ids = range(len(images))
    fields = hardy.draw(name, 1, images.shape[1:3], seed=seed, ids=ids)
    result = hardy.corrupt(images, name, 1, seed=seed)
    for i, image in enumerate(images):
        drawn = {key: values[i] for key, values in fields.items()}
        expected = REFERENCES[name](image, drawn)
        differing = np.count_nonzero(result[i] != expected)
        assert differing == 0, f"image {i}: {differing} of {expected.size} differ"


def test_every_corruption_has_a_definition():
    assert (
        set(NAMES)
        == set(REFERENCES)
        == {f"noc_{name}" for name in {**WHOLE, **REAL}} | {"noc_translation"}
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", [0, 1])
def test_photographs(name, seed):
    images = photos(224)[:4]
    assert_agreement(images, name, seed)
    # A corruption that returned its input would agree with a definition that does the same.
    changed = hardy.corrupt(images, name, 1, seed=seed) != images
    assert changed.any(axis=(1, 2, 3)).all()


@pytest.mark.parametrize("name", NAMES)
def test_noise_and_extremes(name):
    images = random_images(4, 224, 224)
    images[2:] = images[2:] // 128 * 255
    assert_agreement(images, name, 2)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ONLY_224])
@pytest.mark.parametrize("size", [(32, 32), (45, 37), (64, 96), (299, 310)])
def test_other_sizes(name, size):
    assert_agreement(np.concatenate([photos(*size), random_images(2, *size)])[::2], name)


@pytest.mark.parametrize("name", NAMES)
def test_the_range_is_the_editions(name):
    short = name.removeprefix("noc_")
    low, high = {**WHOLE, **REAL, "translation": (15, 62)}[short]
    assert edition("noc").params(name, 1) == {"low": low, "high": high}


@pytest.mark.parametrize("name", WHOLE)
def test_whole_strengths_are_uniform_with_both_ends(name):
    low, high = WHOLE[name]
    drawn = hardy.draw(f"noc_{name}", 1, (8, 8), ids=range(20_000))["strength"]
    seen, counts = np.unique(drawn, return_counts=True)
    assert seen.tolist() == list(range(low, high + 1))
    expected = 20_000 / len(seen)
    # Chi-squared with k degrees of freedom has mean k and variance 2 k.
    excess = ((counts - expected) ** 2 / expected).sum() - (len(seen) - 1)
    assert abs(excess) < 5 * np.sqrt(2 * len(seen))


@pytest.mark.parametrize("name", REAL)
def test_real_strengths_are_uniform(name):
    low, high = REAL[name]
    drawn = hardy.draw(f"noc_{name}", 1, (8, 8), ids=range(5_000))["strength"]
    assert drawn.shape == (5_000,)
    assert low < drawn.min() < low + 0.01 * (high - low)
    assert high - 0.01 * (high - low) < drawn.max() < high
    share = np.sort((drawn - low) / (high - low))
    gap = np.abs(share - (np.arange(5_000) + 0.5) / 5_000).max()  # Kolmogorov's
    assert gap < 2.2 / np.sqrt(5_000)


@pytest.mark.parametrize(
    ("name", "field", "choices"),
    [
        ("shear", "negative", 2),
        ("rotation", "negative", 2),
        ("hue", "negative", 2),
        ("brightness", "negative", 2),
        ("backlight", "negative", 2),
        ("backlight", "axis", 2),
        ("elastic", "axis", 2),
        ("translation", "left", 2),
        ("translation", "up", 2),
        ("color_disortion", "channel", 3),
        ("border", "grey", 255),
        ("artifacts", "trail", 7),
    ],
)
def test_choices_are_equally_likely(name, field, choices):
    drawn = hardy.draw(f"noc_{name}", 1, (64, 64), ids=range(10_000))[field]
    drawn = drawn if drawn.ndim == 1 else drawn[:, 0]
    counts = np.bincount(drawn, minlength=choices)
    assert len(counts) == choices
    sd = np.sqrt(10_000 / choices)
    assert abs(counts - 10_000 / choices).max() < 5 * sd


def test_draws_of_an_image_are_independent():
    """No draw of a corruption repeats another: streams have names of their own."""
    ids = range(4_000)
    for name in NAMES:
        drawn = hardy.draw(name, 1, (8, 8), ids=ids)
        flat = {key: values.reshape(4_000, -1)[:, 0].astype(float) for key, values in drawn.items()}
        keys = [key for key in flat if not (name == "noc_obstruction" and key in ("row", "column"))]
        for k, one in enumerate(keys):
            for other in keys[:k]:
                assert abs(np.corrcoef(flat[one], flat[other])[0, 1]) < 0.08, (name, one, other)


def test_translation_draws_its_axes_apart():
    drawn = hardy.draw("noc_translation", 1, (224, 224), ids=range(4_000))
    for field in ("right", "down"):
        assert sorted(set(drawn[field].tolist())) == list(range(15, 63))
    assert np.mean(drawn["right"] == drawn["down"]) < 0.04  # by chance 1 / 48


def test_places_reach_their_ends():
    """Discs and rhombi U{7..H-7}, lines U{1..H-2} and U{2..W-3}, at 224."""
    for name, row, column in (
        ("rain", (7, 217), (7, 217)),
        ("rhombus", (7, 217), (7, 217)),
        ("artifacts", (1, 222), (2, 221)),
        ("vertical_artifacts", (2, 221), (1, 222)),
    ):
        drawn = hardy.draw(f"noc_{name}", 1, (224, 224), ids=range(300))
        assert (drawn["row"].min(), drawn["row"].max()) == row, name
        assert (drawn["column"].min(), drawn["column"].max()) == column, name


def test_the_square_lies_inside_wherever_it_fits():
    drawn = hardy.draw("noc_obstruction", 1, (224, 224), ids=range(60_000))
    ends = drawn["row"] + drawn["strength"]
    assert drawn["row"].min() == 0
    assert ends.max() == 224
    room = 225 - drawn["strength"].astype(float)
    assert np.mean((drawn["row"] + 0.5) / room) == pytest.approx(0.5, abs=0.01)


def test_the_split_of_the_backlight():
    """At 224 from 112 - 45 to 112 + 44, as the reference's floors have it."""
    drawn = hardy.draw("noc_backlight", 1, (224, 224), ids=range(5_000))
    assert sorted(set(drawn["split"].tolist())) == list(range(90))
    drawn = hardy.draw("noc_backlight", 1, (50, 224), ids=range(5_000))
    rows = drawn["split"][drawn["axis"] == 0]
    assert sorted(set(rows.tolist())) == list(range(21))  # -10 .. 10


def test_one_severity():
    with pytest.raises(hardy.InputError, match="expected severity 1, got 2; each image draws"):
        hardy.corrupt(photos(32)[0], "noc_rain", 2)
    with pytest.raises(hardy.InputError, match='corruption of edition 224 "noc_rain"'):
        hardy.corrupt(photos(32)[0], "noc_rain", 1, edition="224")


def test_images_of_a_batch_have_strengths_of_their_own():
    flat = np.full((6, 224, 224, 3), 100, np.uint8)
    means = hardy.corrupt(flat, "noc_brightness", 1).mean((1, 2, 3))
    assert len(set(means.tolist())) == 6


@pytest.mark.slow
def test_every_colour_turns_as_in_pillow():
    levels = np.arange(256, dtype=np.uint8)
    ops = cpu_ops()
    for red in range(256):
        plane = np.stack(np.meshgrid([red], levels, levels, indexing="ij"), -1)[0]
        plane = np.ascontiguousarray(plane, dtype=np.uint8)
        shift = (red * 7 + 12) % 256
        assert_turned(ops, plane, shift)


def test_many_colours_turn_as_in_pillow():
    ops = cpu_ops()
    for shift in (0, 12, 64, 127, -12, -127):
        assert_turned(ops, random_images(1, 256, 256, seed=shift + 200)[0], shift)
        few = random_images(1, 64, 64, seed=shift + 300)[0] // 8 * 8  # many with equal channels
        assert_turned(ops, np.ascontiguousarray(few), shift)


def assert_turned(ops, plane: np.ndarray, shift: int) -> None:
    hsv = np.array(Image.fromarray(plane).convert("HSV"))
    hsv[..., 0] += np.uint8(shift % 256)
    back = Image.frombytes("HSV", plane.shape[1::-1], hsv.tobytes()).convert("RGB")
    turned = ops.fused["turn_hue"](plane[None], np.array([shift]))[0]
    np.testing.assert_array_equal(turned, np.asarray(back))
