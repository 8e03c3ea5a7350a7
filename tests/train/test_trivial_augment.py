"""TrivialAugment, and the operations that change colours, against Pillow and torchvision."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image, ImageEnhance, ImageOps

from hardy.train.method import Draw, make_method
from hardy.train.methods.image_operations import ENHANCEMENTS, NOTHING, NUMBER, enhance
from hardy.train.methods.trivial_augment import LEVELS, TrivialAugment, apply_levels
from tests.photos import flat_images, photos, random_images
from tests.train.small import CPU
from tests.train.tiny import bytes_of, no_waiting

KINDS = (ImageEnhance.Color, ImageEnhance.Contrast, ImageEnhance.Brightness, ImageEnhance.Sharpness)


def batch_of(images: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(images.copy()).permute(0, 3, 1, 2)


@pytest.mark.parametrize("name", ENHANCEMENTS)
def test_every_enhancement_is_pillows_to_one_level(name: str) -> None:
    kind = KINDS[ENHANCEMENTS.index(name)]
    for images in (photos(32), photos(24, 40), random_images(2, 17, 16), flat_images(8, 8)[::51]):
        for factor in (0.0, 0.118, 0.64, 1.0, 1.5, 1.99):
            count = len(images)
            numbers = torch.full((count,), NUMBER[name])
            made = enhance(batch_of(images), numbers, torch.full((count,), factor))
            rounded = float(np.float32(factor))
            wanted = np.stack(
                [np.asarray(kind(Image.fromarray(image)).enhance(rounded)) for image in images]
            )
            difference = np.abs(made.permute(0, 2, 3, 1).numpy().astype(int) - wanted)
            assert difference.max() <= 1
            assert (difference > 0).mean() <= 0.01


def test_levels_are_torchvisions(torchvision: None) -> None:
    from torchvision.transforms import TrivialAugmentWide

    space = TrivialAugmentWide()._augmentation_space(LEVELS)
    images = photos(16)[:1]
    for level in (0, 7, 14, 30):

        def made(name: str, sign: int = 1, level: int = level) -> np.ndarray:
            done = apply_levels(
                batch_of(images), torch.tensor([NUMBER[name]]), torch.tensor([level]),
                torch.tensor([sign]),
            )  # fmt: skip
            return done[0].permute(1, 2, 0).numpy().astype(int)

        picture = Image.fromarray(images[0])
        bits = int(space["Posterize"][0][level])
        np.testing.assert_array_equal(made("posterize"), ImageOps.posterize(picture, bits))
        threshold = float(space["Solarize"][0][level])
        solarised = np.where(images[0] < threshold, images[0], 255 - images[0])
        np.testing.assert_array_equal(made("solarize"), solarised)
        for sign in (1, -1):
            factor = 1 + sign * float(space["Brightness"][0][level])
            bright = np.asarray(ImageEnhance.Brightness(picture).enhance(factor)).astype(int)
            assert np.abs(made("brightness", sign) - bright).max() <= 1
        pixels = int(space["TranslateX"][0][level])
        moved = np.zeros_like(images[0])
        moved[:, : max(16 - pixels, 0)] = images[0][:, min(pixels, 16) :]
        np.testing.assert_array_equal(made("translate_x"), moved)
        turned = picture.rotate(float(space["Rotate"][0][level]), Image.Resampling.BILINEAR)
        assert np.abs(made("rotate") - np.asarray(turned).astype(int)).max() <= 1


def test_every_operation_and_level_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    from hardy.train.methods import trivial_augment

    method = make_method("trivial_augment")
    assert isinstance(method, TrivialAugment)
    calls = []

    def noted(images, operations, levels, signs):
        calls.append((operations, levels, signs))
        return images

    monkeypatch.setattr(trivial_augment, "apply_levels", noted)
    method.begin(Draw(0, CPU), (3, 8, 8))
    images = bytes_of(3000)
    assert torch.equal(method.view(images), images / 255)
    operations, levels, signs = calls[0]
    assert sorted(set(operations.tolist())) == [NOTHING, *NUMBER.values()]
    assert sorted(set(levels.tolist())) == list(range(LEVELS))
    assert set(signs.tolist()) == {-1, 1}


def test_views_of_trivial_augment(monkeypatch: pytest.MonkeyPatch) -> None:
    method = make_method("trivial_augment")
    method.begin(Draw(0, CPU), (3, 8, 8))
    images = bytes_of(20)
    with no_waiting(monkeypatch):
        made = method.view(images)
    assert made.shape == images.shape
    assert 0 <= made.min() <= made.max() <= 1
