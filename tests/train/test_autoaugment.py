"""AutoAugment: its policies and levels, that each pair is drawn, and what it shows."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image, ImageEnhance, ImageOps

from hardy.errors import InputError
from hardy.train import autoaugment
from hardy.train.autoaugment import SEEN, AutoAugment, operate_at, policy
from hardy.train.hyperparameters import POLICIES, Hyperparameters
from hardy.train.loop import run_training
from hardy.train.method import Draw
from hardy.train.methods.image_operations import NOTHING, NUMBER
from hardy.train.softening import Softening
from hardy.train.trained_model import trained_as
from tests.photos import photos
from tests.train.small import CPU, NARROW, narrow, small_data
from tests.train.test_loop import killed_in, same, weights
from tests.train.tiny import bytes_of, no_waiting

__all__ = ["narrow"]

LEVELLED = {"posterize", "rotate", "solarize", "color", "contrast", "brightness", "sharpness"} | {
    *("shear_x", "shear_y", "translate_x", "translate_y"),
}


def test_policies_are_torchvisions(torchvision: None) -> None:
    from torchvision.transforms import AutoAugment as Theirs
    from torchvision.transforms import AutoAugmentPolicy

    names = {name.replace("_", ""): name for name in (*NUMBER, "invert")}
    for ours, theirs in (("cifar", "CIFAR10"), ("imagenet", "IMAGENET")):
        pairs = Theirs(AutoAugmentPolicy[theirs]).policies
        wanted = [tuple((names[one.lower()], p, level) for one, p, level in pair) for pair in pairs]
        found = [
            tuple((one, p, level if one in LEVELLED else None) for one, p, level in pair)
            for pair in policy(ours)
        ]
        assert found == wanted
    assert tuple(SEEN) == POLICIES


def made(name: str, level: int, *, sign: int = 1, of_imagenet: bool = False) -> np.ndarray:
    image = torch.from_numpy(photos(16)[:1].copy()).permute(0, 3, 1, 2)
    number = torch.tensor([NUMBER["solarize" if name == "invert" else name]])
    inverts = torch.tensor([name == "invert"])
    done = operate_at(
        image, number, torch.tensor([level]), torch.tensor([sign]), inverts, of_imagenet
    )
    return done[0].permute(1, 2, 0).numpy().astype(int)


def test_levels_of_imagenet_are_those_of_assemble() -> None:
    image = photos(16)[0]
    picture = Image.fromarray(image)
    for level in range(10):
        bits = int(0.4 * level)
        kept = 256 - 2 ** (8 - bits)  # the highest bits
        np.testing.assert_array_equal(made("posterize", level, of_imagenet=True), image & kept)
        threshold = int(25.6 * level)
        solarised = np.where(image < threshold, image, 255 - image)
        np.testing.assert_array_equal(made("solarize", level, of_imagenet=True), solarised)
        np.testing.assert_array_equal(made("invert", level, of_imagenet=True), 255 - image)
        factor = 0.1 + 0.18 * level
        bright = np.asarray(ImageEnhance.Color(picture).enhance(factor)).astype(int)
        assert np.abs(made("color", level, of_imagenet=True) - bright).max() <= 1
        turned = picture.rotate(-3.0 * level, Image.Resampling.BILINEAR)
        there = made("rotate", level, sign=-1, of_imagenet=True)
        assert np.abs(there - np.asarray(turned).astype(int)).max() <= 1


def test_levels_of_cifar_are_those_of_its_authors() -> None:
    image = photos(16)[0]
    picture = Image.fromarray(image)
    for level in range(10):
        bits = 4 - int(0.4 * level)
        np.testing.assert_array_equal(made("posterize", level), ImageOps.posterize(picture, bits))
        threshold = 256 - int(25.6 * level)
        solarised = np.where(image < threshold, image, 255 - image)
        np.testing.assert_array_equal(made("solarize", level), solarised)
        np.testing.assert_array_equal(made("invert", level), 255 - image)


def test_each_pair_is_drawn_and_each_step_by_its_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []

    def noted(images, *more):
        calls.append(more)
        return images

    monkeypatch.setattr(autoaugment, "operate_at", noted)
    AutoAugment("cifar", Draw(0, CPU), 8)(bytes_of(20_000, 8))
    (first, *_), (second, levels, *_) = calls
    pairs = policy("cifar")
    for place, operations in enumerate((first, second)):
        share = float((operations != NOTHING).float().mean())
        assert share == pytest.approx(
            np.mean([pair[place].probability for pair in pairs]), abs=0.02
        )
    assert {*levels.tolist()} == {pair[1].level for pair in pairs}
    turned = float((first == NUMBER["rotate"]).float().mean())  # one pair of 25, at 0.7
    assert turned == pytest.approx(0.7 / 25, abs=0.005)


@pytest.mark.parametrize("name", POLICIES)
def test_images_stay_images_and_nothing_waits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    augment, images = AutoAugment(name, Draw(0, CPU), 40), bytes_of(40)
    with no_waiting(monkeypatch):
        done = augment(images)
    assert (done.shape, done.dtype) == (images.shape, torch.uint8)
    changed = (done != images).flatten(1).any(1)
    assert 10 < int(changed.sum()) < 40


def test_the_method_gets_what_it_makes() -> None:
    images, labels = bytes_of(12), torch.arange(12) % 3
    recipe = replace(NARROW, autoaugment="cifar")
    shown, told = Softening(recipe, 3, Draw(0, CPU), None)(images, labels, 0)
    assert torch.equal(shown, AutoAugment("cifar", Draw(0, CPU), 12)(images))
    assert told is labels


@pytest.mark.parametrize("method", ["standard", "augmix", "ant"])
def test_it_resumes_to_the_same_weights(method: str, narrow, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("hardy.train.loop.SAVE_SECONDS", 0.0)
    data = small_data(tmp_path)
    recipe = replace(NARROW, deterministic=True, autoaugment="cifar", mixup=0.2)
    settings = {"restart_steps": 1} if method == "ant" else {}
    run_training(method, data, tmp_path / "whole", recipe, settings=settings)
    with pytest.raises(KeyboardInterrupt):
        run_training(method, data, tmp_path / "cut", recipe, settings=settings, track=killed_in(2))
    run_training(method, data, tmp_path / "cut", recipe, settings=settings)
    assert same(weights(tmp_path / "whole"), weights(tmp_path / "cut"))
    without = replace(recipe, autoaugment=None)
    run_training(method, data, tmp_path / "plain", without, settings=settings)
    assert not same(weights(tmp_path / "whole"), weights(tmp_path / "plain"))


def test_what_it_shows_is_marked(narrow, tmp_path) -> None:
    recipe = replace(NARROW, epochs=1, autoaugment="imagenet")
    result = run_training("gauss_single", small_data(tmp_path), tmp_path / "out", recipe)
    assert {"gaussian_noise", "contrast", "saturate", "noc_rotation"} <= {*result.seen}
    assert not {"brightness", "translate", "gaussian_blur"} & {*result.seen}
    assert {"brightness", "translate", "gaussian_blur"} < {*SEEN["cifar"]}
    run = json.loads((tmp_path / "out/run.json").read_text())
    assert run["recipe"]["autoaugment"] == "imagenet"
    assert trained_as(run).methods == ("gauss_single", "AutoAugment")


def test_another_policy_is_refused() -> None:
    with pytest.raises(InputError, match=r'unknown policy of AutoAugment "svhn"'):
        Hyperparameters(autoaugment="svhn")
