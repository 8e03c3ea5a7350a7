"""AugMix's operations against Pillow's, image by image."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image, ImageOps

from hardy.train.methods.augmix_operations import operate
from hardy.train.methods.image_operations import NOTHING, OPERATIONS
from tests.photos import flat_images, photos, random_images

LEVELS = (0.1, 0.7, 1.3, 1.9, 2.5, 2.99)


def by_pillow(image: np.ndarray, name: str, level: float, sign: int) -> np.ndarray:
    picture = Image.fromarray(image)
    width, height = picture.size

    def transformed(*matrix: float) -> Image.Image:
        return picture.transform(
            picture.size, Image.Transform.AFFINE, matrix, resample=Image.Resampling.BILINEAR
        )

    shear = sign * level * 0.3 / 10
    made = {
        "autocontrast": lambda: ImageOps.autocontrast(picture),
        "equalize": lambda: ImageOps.equalize(picture),
        "posterize": lambda: ImageOps.posterize(picture, 4 - int(level * 4 / 10)),
        "solarize": lambda: ImageOps.solarize(picture, 256 - int(level * 256 / 10)),
        "rotate": lambda: picture.rotate(
            sign * int(level * 30 / 10), resample=Image.Resampling.BILINEAR
        ),
        "shear_x": lambda: transformed(1, shear, 0, 0, 1, 0),
        "shear_y": lambda: transformed(1, 0, 0, shear, 1, 0),
        "translate_x": lambda: transformed(1, 0, sign * int(level * (width / 3) / 10), 0, 1, 0),
        "translate_y": lambda: transformed(1, 0, 0, 0, 1, sign * int(level * (height / 3) / 10)),
    }
    return np.asarray(made[name]())


def ours(images: np.ndarray, number: int, level: float, sign: int) -> np.ndarray:
    batch = torch.from_numpy(images.copy()).permute(0, 3, 1, 2).contiguous()
    count = len(images)
    made = operate(
        batch,
        torch.full((count,), number),
        torch.full((count,), level),
        torch.full((count,), sign),
    )
    return made.permute(0, 2, 3, 1).numpy()


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("sign", [1, -1])
def test_every_operation_is_pillows_to_one_level(name: str, sign: int) -> None:
    for images in (photos(32), photos(24, 40), random_images(2, 17, 16), flat_images(8, 8)[::51]):
        for level in LEVELS:
            made = ours(images, OPERATIONS.index(name), level, sign).astype(int)
            rounded = float(np.float32(level))  # levels are drawn in float32
            wanted = np.stack([by_pillow(image, name, rounded, sign) for image in images])
            assert np.abs(made - wanted).max() <= 1
            # The tables are exact; truncation can tip a level where the value is a whole one.
            assert (made != wanted).mean() <= (0.02 if name[:5] in ("rotat", "shear") else 0)


def test_images_of_a_batch_get_their_own_operation() -> None:
    images = photos(32)[np.arange(10) % 8]
    batch = torch.from_numpy(images.copy()).permute(0, 3, 1, 2)
    numbers = torch.tensor([NOTHING, *range(9)])
    levels, signs = torch.linspace(0.5, 2.9, 10), torch.tensor([1, -1] * 5)
    made = operate(batch, numbers, levels, signs).permute(0, 2, 3, 1).numpy()
    assert (made[0] == images[0]).all()
    for row in range(1, 10):
        alone = ours(images[row : row + 1], row - 1, float(levels[row]), int(signs[row]))
        np.testing.assert_array_equal(made[row], alone[0])
