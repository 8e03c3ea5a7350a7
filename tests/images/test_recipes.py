"""Recipes against Pillow called by hand, offsets worked out on paper, and torchvision."""

import numpy as np
import pytest
from PIL import Image

import hardy
from hardy.errors import InputError
from hardy.images.recipes import RECIPES
from hardy.suites import load
from tests.photos import random_images

BILINEAR = Image.Resampling.BILINEAR
SIZES = [(375, 500), (500, 375), (256, 341), (257, 259), (300, 1000), (1000, 300), (64, 64), (9, 8)]


def picture(height: int, width: int) -> Image.Image:
    return Image.fromarray(random_images(1, height, width)[0])


def by_hand(name: str, image: Image.Image) -> np.ndarray:
    """The formulas, written without Hardy's helpers: PIL sizes are (width, height)."""
    width, height = image.size
    shorter = {"resize256_crop224@1": (256, 224), "resize64_crop64@1": (64, 64)}
    if name in shorter:
        short, side = shorter[name]
        if width < height:
            image = image.resize((short, int(short * height / width)), BILINEAR)
        else:
            image = image.resize((int(short * width / height), short), BILINEAR)
        left, top = (int(np.rint((length - side) / 2)) for length in image.size)
        image = image.crop((left, top, left + side, top + side))
    elif name == "crop87.5_resize299@1":
        wide, high = int(0.875 * width), int(0.875 * height)
        left, top = int(np.rint((width - wide) / 2)), int(np.rint((height - high) / 2))
        image = image.crop((left, top, left + wide, top + high)).resize((299, 299), BILINEAR)
    elif name in ("resize64_exact@1", "resize32_exact@1"):
        side = 64 if name.startswith("resize64") else 32
        image = image.resize((side, side), BILINEAR)
    return np.asarray(image)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", [n for n in RECIPES if n != "resize256_rgb_crop224@1"])
def test_recipes_equal_pillow_by_hand(name: str, size: tuple[int, int]) -> None:
    image = picture(*size)
    recipe = RECIPES[name]
    prepared = recipe.prepare(image)
    np.testing.assert_array_equal(prepared, by_hand(name, image))
    np.testing.assert_array_equal(recipe.prepare(np.asarray(image)), prepared)
    np.testing.assert_array_equal(recipe.finish(recipe.base(image)), prepared)
    assert prepared.dtype == np.uint8
    assert prepared.flags.c_contiguous
    assert prepared.shape == ((recipe.side, recipe.side, 3) if recipe.side else (*size, 3))


@pytest.mark.parametrize(
    ("side", "offset"), [(224, 0), (225, 0), (256, 16), (257, 16), (259, 18), (341, 58)]
)
def test_crop_offsets_round_halves_to_even(side: int, offset: int) -> None:
    recipe = RECIPES["resize256_crop224@1"]
    assert recipe.window(side, 224) == (offset, 0, 224, 224)
    assert recipe.window(224, side) == (0, offset, 224, 224)
    rows = np.zeros((side, 224, 3), np.uint8)
    rows[offset] = 1
    assert recipe.finish(rows)[0].all()
    assert recipe.finish(rows.transpose(1, 0, 2))[:, 0].all()


@pytest.mark.parametrize(
    ("size", "base"), [((375, 500), (256, 341)), ((500, 375), (341, 256)), ((333, 500), (256, 384))]
)
def test_the_base_is_what_perturbations_move(size: tuple[int, int], base: tuple[int, int]) -> None:
    image = picture(*size)
    assert RECIPES["resize256_crop224@1"].base(image).shape == (*base, 3)
    assert RECIPES["crop87.5_resize299@1"].base(image).shape == (*size, 3)
    assert RECIPES["resize64_exact@1"].base(image).shape == (64, 64, 3)


@pytest.mark.parametrize("mode", ["1", "L", "P", "CMYK", "RGB"])
def test_when_colours_are_converted(mode: str) -> None:
    image = picture(300, 350).convert(mode)
    first, last = RECIPES["resize256_crop224@1"], RECIPES["resize256_rgb_crop224@1"]
    box = (37, 16, 37 + 224, 16 + 224)
    early = image.convert("RGB").resize((298, 256), BILINEAR).crop(box)
    late = image.resize((298, 256), BILINEAR).convert("RGB").crop(box)
    np.testing.assert_array_equal(first.prepare(image), np.asarray(early))
    np.testing.assert_array_equal(last.prepare(image), np.asarray(late))
    assert np.array_equal(np.asarray(early), np.asarray(late)) == (mode in ("L", "RGB"))


def test_the_door_is_asked_before_a_late_conversion() -> None:
    with pytest.raises(InputError, match="transparent pixels"):
        RECIPES["resize256_rgb_crop224@1"].prepare(Image.new("RGBA", (300, 300), (1, 2, 3, 4)))


@pytest.mark.parametrize("name", hardy.suites())
def test_every_suite_names_a_recipe_and_describes_it_alike(name: str) -> None:
    suite = load(name)
    recipe = RECIPES[suite.recipe]
    assert recipe.name == suite.recipe
    assert recipe.summary == suite.recipe_description
    assert suite.id_rule == ("relative_path" if suite.shift else recipe.id_rule)
    assert recipe.side in (None, suite.edition.side)


def test_unknown_recipes() -> None:
    with pytest.raises(InputError, match='unknown recipe "none"; did you mean "none@1"'):
        RECIPES["none"]


@pytest.mark.usefixtures("torchvision")
@pytest.mark.parametrize("size", SIZES)
def test_recipes_equal_torchvision(size: tuple[int, int]) -> None:
    from torchvision.transforms import CenterCrop, Compose, Resize

    height, width = size
    image = picture(height, width)
    theirs = {
        "resize256_crop224@1": Compose([Resize(256), CenterCrop(224)]),
        "resize64_crop64@1": Compose([Resize(64), CenterCrop(64)]),
        "resize64_exact@1": Resize((64, 64)),
        "crop87.5_resize299@1": Compose(
            [CenterCrop((int(height * 0.875), int(width * 0.875))), Resize((299, 299))]
        ),
    }
    for name, transform in theirs.items():
        np.testing.assert_array_equal(RECIPES[name].prepare(image), np.asarray(transform(image)))
