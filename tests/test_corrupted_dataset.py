"""`hardy.torch.CorruptedDataset`: what an image becomes hangs on its index and the epoch."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from torch.utils.data import DataLoader, TensorDataset

import hardy
from hardy.errors import InputError
from hardy.torch import Corrupt, CorruptedDataset
from tests.photos import random_images

ROWS = np.repeat(random_images(1, 32, 40), 12, axis=0)  # one picture, twelve times
PIXELS = torch.from_numpy(ROWS).permute(0, 3, 1, 2)


def twelve(seed: int = 3, **options: Any) -> CorruptedDataset:
    pictures = TensorDataset(PIXELS, torch.arange(12))
    return CorruptedDataset(pictures, Corrupt("gaussian_noise", [1, 3], seed=seed), **options)


def shown(
    data: CorruptedDataset, epochs: range | tuple[int, ...] = range(2), **options: Any
) -> dict[tuple[int, int], bytes]:
    """What a loader gives, by epoch and label, which is the index."""
    workers = options.get("num_workers", 0)
    # Processes that are forked share what was imported and compiled.
    options["multiprocessing_context"] = "fork" if workers else None
    loader = DataLoader(data, **options)
    seen = {}
    for epoch in epochs:
        data.set_epoch(epoch)
        for images, labels in loader:
            for image, label in zip(images, labels.tolist(), strict=True):
                seen[epoch, label] = image.numpy().tobytes()
    return seen


@pytest.fixture(scope="module")
def plain() -> dict[tuple[int, int], bytes]:
    return shown(twelve())


def test_each_image_in_each_epoch_has_its_own(plain: dict[Any, bytes]) -> None:
    assert len(set(plain.values())) == 24
    assert shown(twelve()) == plain
    assert not {*plain.values()} & {*shown(twelve(seed=4)).values()}
    made = Corrupt("gaussian_noise", [1, 3], seed=3)(PIXELS[5], ids="1/5")
    assert made.numpy().tobytes() == plain[1, 5]


@pytest.mark.parametrize(
    "options",
    [
        {"num_workers": 2},
        {"num_workers": 2, "batch_size": 5, "shuffle": True},
        {"num_workers": 2, "persistent_workers": True, "shuffle": True},
    ],
)
def test_whatever_the_loader_is(plain: dict[Any, bytes], options: dict[str, Any]) -> None:
    assert shown(twelve(), **options) == plain


@settings(max_examples=20, deadline=None)
@given(st.permutations(range(12)), st.integers(0, 3))
def test_in_any_order(order: list[int], epoch: int) -> None:
    data, again = twelve(), twelve()
    data.set_epoch(epoch)
    again.set_epoch(epoch)
    in_turn = [image for image, _ in again]
    assert len(in_turn) == 12
    for index in order:
        assert torch.equal(data[index][0], in_turn[index])
        assert torch.equal(data[index - 12][0], in_turn[index]), "from the end"


def test_no_generator_is_read_or_written() -> None:
    torch.manual_seed(0)
    before, data = torch.get_rng_state(), twelve()
    first = data[3][0]
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(1)
    assert torch.equal(data[3][0], first)


class Sample(NamedTuple):
    picture: Any
    label: int


def test_items_of_other_forms() -> None:
    photos = [Image.fromarray(row) for row in ROWS]
    corrupt = Corrupt("contrast", 2)
    expected = hardy.corrupt(ROWS[0], "contrast", 2)
    (only,) = CorruptedDataset(photos[:1], corrupt)
    np.testing.assert_array_equal(np.asarray(only), expected)
    named = [{"label": 4, "picture": photos[0]}]
    (item,) = CorruptedDataset(named, corrupt, image="picture", then=np.asarray)
    np.testing.assert_array_equal(item["picture"], expected)
    assert item["label"] == 4
    assert named[0]["picture"] is photos[0], "the data set keeps its own"
    (pair,) = CorruptedDataset([[7, photos[0]]], corrupt, image=1)
    assert pair[0] == 7
    np.testing.assert_array_equal(np.asarray(pair[1]), expected)
    (sample,) = CorruptedDataset([Sample(photos[0], 4)], corrupt)
    assert isinstance(sample, Sample)
    assert sample.label == 4
    np.testing.assert_array_equal(np.asarray(sample.picture), expected)


class Stream(torch.utils.data.IterableDataset):
    def __iter__(self) -> Any:
        return iter(PIXELS)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CorruptedDataset(Stream(), Corrupt("fog", 1)), "items by index, got Stream"),
        (lambda: CorruptedDataset([], "fog"), r'expected Corrupt\("fog", 3\) .* got \'fog\''),
        (lambda: twelve().set_epoch(-1), "0 or more, got -1"),
        (lambda: twelve().set_epoch(0.5), "0 or more, got 0.5"),
        (lambda: twelve(image=2)[0], "a picture at 2, got 2 parts; say where"),
        (
            lambda: CorruptedDataset([{"pixels": PIXELS[0]}], Corrupt("fog", 1))[0],
            r"a picture at 0, got \['pixels'\]",
        ),
        (lambda: twelve(image=1)[0], r"expected a PIL image or a uint8 tensor .* got torch.int64"),
    ],
)
def test_refusals(make: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()
    with pytest.raises(IndexError, match="below 12, got 12"):
        twelve()[12]
