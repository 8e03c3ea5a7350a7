"""Defences that look at each image for itself, against formulas written down a second time."""

from __future__ import annotations

import importlib.metadata
import math
from importlib.metadata import EntryPoint
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from hardy.errors import InputError
from hardy.models import Model, Preprocessing, load_model
from hardy.models.defences import DEFENCES, Defended, defend, undefended
from hardy.models.defences.input_filters import input_filter, median, trained_behind
from hardy.models.defences.tencrop import views
from hardy.models.model import ModelFacts
from hardy.run.preflight import check
from tests.models.echo import Echo
from tests.models.tiny import tiny
from tests.photos import photos, random_images
from tests.plugins import forget_later

IMAGES = random_images(5, 16, 24, seed=3)
EACH_BY_ITSELF = ("clahe", "nlm", "median", "tencrop")


def test_the_defences() -> None:
    assert DEFENCES.names() == ("clahe", "nlm", "median", "tencrop", "bn_adapt")


@pytest.mark.parametrize(
    ("defence", "message"),
    [
        ("clhae", r'^unknown defence "clhae"; did you mean "clahe"\?$'),
        ("", r'^unknown defence "" \(all: clahe'),
        ("clahe:3", r'^clahe has no setting, got "clahe:3"; say clahe$'),
        ("median:", r'^median has no setting, got "median:"'),
        ("tencrop:12", "^tencrop has no setting"),
        (
            "bn_adapt",
            "^expected a torch model for bn_adapt, whose batch norm it adapts, got fake:5",
        ),
        ("bn_adapt:many", r'^expected bn_adapt or bn_adapt:N.*got "bn_adapt:many"'),
        ("bn_adapt:-1", r'from 0 to 999,999,999, got "bn_adapt:-1"'),
        ("bn_adapt:" + "9" * 5000, "^expected bn_adapt or bn_adapt:N"),
    ],
)
def test_what_is_no_defence_is_refused(defence, message) -> None:
    with pytest.raises(InputError, match=message):
        defend(load_model("fake:5"), defence)


def test_a_defended_model_is_another_model() -> None:
    plain = load_model("fake:5")
    found = [plain, *(defend(plain, name) for name in EACH_BY_ITSELF)]
    assert [one.name for one in found] == [
        *("fake:5", "fake:5+clahe", "fake:5+nlm", "fake:5+median", "fake:5+tencrop"),
    ]
    assert len({one.identity for one in found}) == 5
    assert all(isinstance(one, Model) for one in found)
    other = defend(load_model("fake:5:1"), "clahe")
    assert other.identity not in {one.identity for one in found}
    again = defend(load_model("fake:5"), "clahe")
    assert again.identity == found[1].identity


class Blurred(Defended):
    def logits(self, images: Any, preprocessing: Preprocessing | None = None) -> Any:
        return self.model.logits(images, preprocessing)


def test_settings_are_part_of_the_identity() -> None:
    plain = load_model("fake:5")
    one, two = (Blurred(plain, "blur", {"side": side}, "words") for side in (3, 5))
    assert one.identity != two.identity
    assert Blurred(plain, "smear", {"side": 3}, "words").identity != one.identity


@pytest.mark.parametrize("name", EACH_BY_ITSELF)
def test_each_image_by_itself(name) -> None:
    model = defend(load_model("fake:5"), name)
    images = IMAGES.copy()
    images.flags.writeable = False
    together = model.logits(images)
    alone = np.concatenate([model.logits(images[place : place + 1]) for place in range(5)])
    assert together.dtype == np.float32
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_array_equal(images, IMAGES)


@pytest.mark.parametrize("name", EACH_BY_ITSELF)
def test_tensors_as_arrays(name) -> None:
    model = defend(load_model(tiny(), name="tiny"), name)
    logits = model.logits(torch.from_numpy(IMAGES.copy()))
    assert isinstance(logits, torch.Tensor)
    np.testing.assert_allclose(logits.numpy(), model.logits(IMAGES), rtol=1e-5, atol=1e-6)


def test_more_images_than_a_thread_takes_at_a_time() -> None:
    images = random_images(37, 8, 8)
    echo = Echo()
    defend(echo, "median").logits(images)
    np.testing.assert_array_equal(echo.shown, np.stack([median(image) for image in images]))


def test_images_of_another_kind_are_refused() -> None:
    for name in EACH_BY_ITSELF:
        with pytest.raises(InputError, match=r"expected images as uint8 \(N, H, W, 3\)"):
            defend(load_model("fake:5"), name).logits(IMAGES[0])


def test_ten_crops_of_seven_eighths() -> None:
    images = photos(32)[:3]
    found = list(views(images))
    assert len(found) == 10
    for place, (x, y) in enumerate([(0, 0), (4, 0), (0, 4), (4, 4), (2, 2)]):
        for image, seen in zip(images, found[2 * place], strict=True):
            crop = Image.fromarray(image[y : y + 28, x : x + 28])
            expected = np.asarray(crop.resize((32, 32), Image.Resampling.BILINEAR))
            assert np.abs(seen.astype(int) - expected).max() <= 1
        np.testing.assert_array_equal(found[2 * place + 1], found[2 * place][:, :, ::-1])


def test_the_mean_of_ten_probabilities() -> None:
    plain = load_model("fake:5")
    probabilities = []
    for view in views(IMAGES):
        exponents = np.exp(plain.logits(view).astype(float))
        probabilities.append(exponents / exponents.sum(axis=1, keepdims=True))
    logits = defend(plain, "tencrop").logits(IMAGES)
    np.testing.assert_allclose(np.exp(logits), np.mean(probabilities, axis=0), rtol=1e-5)


def test_ten_certain_answers_stay_finite() -> None:
    def certain(images):
        return np.tile([1e4, 0.0, -1e4], (len(images), 1))

    logits = defend(load_model(certain), "tencrop").logits(IMAGES)
    np.testing.assert_allclose(logits, np.tile([0.0, -1e4, -2e4], (5, 1)), atol=1e-6)


def test_infinite_logits_are_left_to_be_refused() -> None:
    def broken(images):
        return np.tile([np.inf, 0.0], (len(images), 1))

    assert not np.isfinite(defend(load_model(broken), "tencrop").logits(IMAGES)).any()


def test_the_input_of_training_is_the_filter_of_the_defence() -> None:
    echo = Echo()
    defend(echo, "clahe").logits(IMAGES)
    np.testing.assert_array_equal(input_filter("clahe")(IMAGES), echo.shown)
    with pytest.raises(InputError, match=r'unknown input "tencrop"; expected one of clahe, nlm, m'):
        input_filter("tencrop")


def test_what_was_trained_behind_a_filter_keeps_its_name_and_filter() -> None:
    plain = load_model("fake:5")
    trained = trained_behind(plain, "clahe")
    assert trained.name == "fake:5"
    assert trained.identity == defend(plain, "clahe").identity != plain.identity
    (applied,) = trained.facts.defences
    assert "as it was trained" in applied.words
    np.testing.assert_array_equal(trained.logits(IMAGES), defend(plain, "clahe").logits(IMAGES))
    assert undefended(defend(trained, "median")) is trained
    for behind in (trained, defend(trained, "median")):
        with pytest.raises(InputError, match=r"fake:5.* is shown clahe images already; leave"):
            defend(behind, "clahe")
    two = defend(trained, "median")
    filtered = input_filter("clahe")(input_filter("median")(IMAGES))
    np.testing.assert_array_equal(two.logits(IMAGES), plain.logits(filtered))


def test_the_check_asks_the_model_itself_and_measures_the_defended_one() -> None:
    class Labelled(Echo):
        facts = ModelFacts(known_accuracy=0.0)

        def logits(self, images, preprocessing=None):
            return np.eye(256, dtype=np.float32)[images[:, 0, 0, 0]]

    images = random_images(40, 8, 8)
    model = Labelled()
    labels = images[:, 0, 0, 0].astype(np.int64)
    alone = check(model, images, labels)
    found = check(defend(model, "median"), images, labels)
    assert alone.accuracy == 1
    assert found.accuracy == np.mean([median(image)[0, 0, 0] for image in images] == labels)
    assert found.accuracy < 1
    assert found.warnings == alone.warnings != ()


def test_seen_corruptions_go_with_the_model() -> None:
    echo = Echo()
    echo.facts = ModelFacts(seen_corruptions=("fog",))
    assert defend(echo, "median").facts.seen_corruptions == ("fog",)


def test_a_plug_in(monkeypatch) -> None:
    point = EntryPoint("upside_down", "tests.models.test_defences:upside_down", "hardy.defences")
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [point])
    monkeypatch.setattr(DEFENCES, "_plugins", None)
    forget_later(monkeypatch, DEFENCES)
    model = defend(load_model("fake:5"), "upside_down:2")
    assert model.name == "fake:5+upside_down:2"
    np.testing.assert_array_equal(
        model.logits(IMAGES), load_model("fake:5").logits(IMAGES[:, ::-1])
    )


class UpsideDown(Defended):
    def logits(self, images, preprocessing=None):
        return self.model.logits(images[:, ::-1], preprocessing)


def upside_down(model: Model, setting: str | None) -> Model:
    return UpsideDown(model, f"upside_down:{setting}", {}, "turned over")


def test_logits_are_not_changed_by_a_constant_crop() -> None:
    grey = np.full((1, 32, 32, 3), 77, np.uint8)
    logits = load_model("fake:5").logits(grey)[0].astype(float)
    expected = logits - math.log(np.exp(logits).sum())
    np.testing.assert_allclose(
        defend(load_model("fake:5"), "tencrop").logits(grey)[0], expected, atol=1e-5
    )
