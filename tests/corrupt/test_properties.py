"""What holds for every registered corruption, whatever its formula."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hardy
from hardy.corrupt import CORRUPTIONS
from hardy.suites import editions
from tests.cells import cells, middle, severities, small
from tests.photos import photos, random_images

NAMES = CORRUPTIONS.names()
FIXED = {"defocus_blur", "zoom_blur", "brightness", "contrast", "pixelate", "jpeg_compression",
         "gaussian_blur", "saturate", "circular_motion_blur"}  # fmt: skip
FEW_OUTCOMES = {"transverse_chromatic_abberation"}  # three channels in six orders
COARSE = {"noc_pixelate"}  # of squares of two pixels at this size, whatever is drawn
CATEGORIES = {"noise", "blur", "weather", "digital", "pattern", "artifact", "obstruction",
              "geometry", "lighting", "colour"}  # fmt: skip
every_corruption = pytest.mark.parametrize("name", NAMES)


def test_the_public_list_is_the_registry():
    assert set(hardy.corruptions()) == set(NAMES)
    assert len(NAMES) >= 19


@every_corruption
def test_input_stays_and_output_is_new(name):
    images = photos(32).copy()
    before = images.copy()
    chosen = small(name)
    for severity in severities(name):
        result = hardy.corrupt(images, name, severity, edition=chosen)
        assert result.shape == images.shape
        assert result.dtype == np.uint8
        assert result.flags.c_contiguous
        assert result.flags.writeable
        assert not np.shares_memory(result, images)
        np.testing.assert_array_equal(images, before)
        result[:] = 0  # no cached array may be handed out
        assert hardy.corrupt(images, name, severity, edition=chosen).any()


@every_corruption
def test_replayed_draws_give_the_same_bytes(name):
    images, ids = photos(45, 37), [f"photo {i}" for i in range(8)]
    for severity in severities(name):
        fields = hardy.draw(name, severity, (45, 37), seed=7, ids=ids)
        assert all(len(values) == len(ids) for values in fields.values())
        replayed = hardy.replay(images, name, severity, fields)
        result = hardy.corrupt(images, name, severity, seed=7, ids=ids)
        np.testing.assert_array_equal(replayed, result)


@every_corruption
def test_severities_differ(name):
    image = photos(64)[0]
    results = [hardy.corrupt(image, name, severity) for severity in severities(name)]
    assert len({result.tobytes() for result in results}) == len(results)


@every_corruption
def test_seed_and_id_matter_exactly_where_something_is_drawn(name):
    image = photos(64)[0]
    severity = middle(name)
    fields = hardy.draw(name, severity, (64, 64))
    assert (fields == {}) == (name in FIXED)

    def outcomes(*cells: tuple[int, int]) -> int:
        results = [hardy.corrupt(image, name, severity, seed=seed, ids=i) for seed, i in cells]
        return len({result.tobytes() for result in results})

    if name in FEW_OUTCOMES:
        assert outcomes(*((seed, 0) for seed in range(20))) > 2
        assert outcomes(*((0, i) for i in range(20))) > 2
    else:
        assert outcomes((0, 0), (1, 0), (0, 1)) == (1 if name in FIXED | COARSE else 3)


@pytest.mark.parametrize("name", sorted(set(NAMES) - FIXED))
def test_no_two_editions_share_their_randomness(name):
    draws = [
        hardy.draw(name, 1, (64, 64), ids=range(20), edition=chosen) for chosen in editions(name)
    ]
    assert len({next(iter(fields.values())).tobytes() for fields in draws}) == len(draws)


@every_corruption
@settings(max_examples=12, deadline=None, derandomize=True)
@given(
    height=st.integers(8, 70),
    width=st.integers(8, 70),
    number=st.integers(0, 19),
)
def test_any_size(name, height, width, number):
    chosen, severity = cells(name)[number % len(cells(name))]
    images = random_images(2, height, width)
    result = hardy.corrupt(images, name, severity, ids=[5, 6], edition=chosen)
    assert result.shape == images.shape
    alone = hardy.corrupt(images[1], name, severity, ids=6, edition=chosen)
    np.testing.assert_array_equal(alone, result[1])


@every_corruption
@pytest.mark.parametrize("size", [(8, 8), (8, 300), (300, 8), (31, 33)])
def test_extreme_shapes(name, size):
    images = random_images(2, *size)
    for chosen in editions(name):
        for severity in {1, severities(name)[-1]}:
            result = hardy.corrupt(images, name, severity, edition=chosen)
            assert result.shape == images.shape


@every_corruption
@pytest.mark.parametrize("level", [0, 128, 255])
def test_flat_images(name, level):
    # No warning either: warnings are errors.
    for side in (16, 64):
        flat = np.full((side, side, 3), level, np.uint8)
        for chosen, severity in cells(name):
            result = hardy.corrupt(flat, name, severity, edition=chosen)
            assert result.shape == flat.shape


@every_corruption
def test_the_summary_and_the_parameters(name):
    corruption = CORRUPTIONS[name]
    assert corruption.category in CATEGORIES
    assert corruption.summary.endswith(".")
    assert corruption.parameters
