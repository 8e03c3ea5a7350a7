"""A function as a model: what it gets, must return and may raise."""

from functools import partial

import numpy as np
import pytest

from hardy.errors import HardyError, InputError
from hardy.models import Model, load_model
from hardy.models.model import facts_of
from tests.photos import random_images

IMAGES = random_images(9, 20, 24)


def by_mean(images):
    return images.mean(axis=(1, 2)) / 255


def test_a_function_is_a_model():
    model = load_model(by_mean)
    assert isinstance(model, Model)
    assert model.name == "by_mean"
    np.testing.assert_array_equal(model.logits(IMAGES), by_mean(IMAGES).astype(np.float32))


def test_a_function_gets_the_batches_that_were_asked_for():
    sizes = []

    def count(images):
        sizes.append(len(images))
        return by_mean(images)

    whole = load_model(count).logits(IMAGES)
    np.testing.assert_array_equal(load_model(count, batch=4).logits(IMAGES), whole)
    assert sizes == [9, 4, 4, 1]


def test_a_function_is_told_apart_by_name_and_source():
    def by_max(images):
        return images.max(axis=(1, 2)) / 255

    def same_name(images):
        return by_mean(images)

    same_name.__name__ = "by_max"
    assert load_model(by_max).identity == load_model(by_max).identity
    assert load_model(by_max).identity != load_model(by_max, name="epoch 2").identity
    assert load_model(by_max).identity != load_model(same_name).identity


@pytest.mark.parametrize("unnamed", [lambda images: images, partial(by_mean)])
def test_a_function_without_a_name_needs_one(unnamed):
    with pytest.raises(InputError, match="expected a name for a model that has none of its own"):
        load_model(unnamed)
    assert load_model(unnamed, name="mine").name == "mine"


@pytest.mark.parametrize(
    ("function", "got"),
    [
        (lambda images: images.mean(axis=(1, 2, 3)), r"float64 \(9,\)"),
        (lambda images: by_mean(images)[:2], r"float64 \(2, 3\)"),
        (lambda images: [["cat"]] * len(images), r"<U3 \(9, 1\)"),
        (lambda images: by_mean(images) > 0, r"bool \(9, 3\)"),
        (lambda images: np.zeros((len(images), 0)), r"float64 \(9, 0\)"),
        (lambda images: [[1, 2], [3]], r"a list that makes no array \(ValueError: .*inhomogeneous"),
        (lambda images: None, r"object \(\)"),
    ],
)
def test_a_function_must_return_logits(function, got):
    with pytest.raises(InputError, match=rf"mine: expected logits \(9, classes\).*got {got}"):
        load_model(function, name="mine").logits(IMAGES)


def test_a_function_must_have_the_same_classes_in_every_batch():
    model = load_model(lambda images: np.zeros((len(images), len(images))), name="mine", batch=4)
    with pytest.raises(InputError, match=r"mine: expected logits for the same classes.*1 and 4"):
        model.logits(IMAGES)


def test_a_number_beyond_float32_is_infinite():
    logits = load_model(lambda images: np.full((len(images), 3), 1e300), name="mine").logits(IMAGES)
    assert np.isposinf(logits).all()


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (KeyError("x"), "KeyError: 'x'"),
        (RuntimeError("first line\nsecond"), "RuntimeError: first line"),
        (SystemExit(0), "SystemExit: 0"),
        (ValueError(), "ValueError"),
    ],
)
def test_what_a_function_raises_is_told_in_its_name(error, told):
    def fail(images):
        raise error

    message = rf"^fail raised {told}, given images \(9, 20, 24, 3\); expected a function of uint8"
    with pytest.raises(HardyError, match=message) as raised:
        load_model(fail).logits(IMAGES)
    assert raised.value.__cause__ is error


@pytest.mark.parametrize("error", [KeyboardInterrupt(), HardyError("our own words")])
def test_what_is_not_the_functions_fault_passes(error):
    def fail(images):
        raise error

    with pytest.raises(type(error)) as raised:
        load_model(fail).logits(IMAGES)
    assert raised.value is error


def test_a_function_may_change_what_it_gets():
    def greedy(images):
        images[...] = 255 - images
        return by_mean(images)

    images = IMAGES.copy()
    expected = by_mean(255 - IMAGES).astype(np.float32)
    np.testing.assert_array_equal(load_model(greedy).logits(images), expected)
    np.testing.assert_array_equal(images, IMAGES)
    images.setflags(write=False)
    np.testing.assert_array_equal(load_model(greedy).logits(images), expected)
    assert load_model("fake:5").logits(images).shape == (9, 5)


class Stating:
    """A model of the user's own that says something of itself in plain attributes."""

    name, identity, preprocessing = "stating", "s", None
    seen_corruptions, adapts_in = ("fog",), 8

    def logits(self, images, preprocessing=None):
        return np.zeros((len(images), 3), np.float32)


def test_plain_attributes_are_facts() -> None:
    facts = facts_of(Stating())
    assert (facts.seen_corruptions, facts.adapts_in, facts.class_names) == (("fog",), 8, None)
