"""The corruptions of both C-bar benchmarks: against slow references, their constants and draws."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy import stats

import hardy
from hardy.suites import edition, editions, load, published
from tests.corrupt.c_bar_references import REFERENCES
from tests.photos import photos

SUITES = ("imagenet_c_bar", "cifar10_c_bar")
EVERY = [
    (name, chosen) for chosen in ("c_bar", "c_bar_cifar") for name in edition(chosen).corruptions
]
IDS = range(400)


def expected(images: np.ndarray, name: str, severity: int, chosen: str) -> np.ndarray:
    fields = hardy.draw(name, severity, images.shape[1:3], ids=range(len(images)), edition=chosen)
    params = edition(chosen).params(name, severity)
    return np.stack([
        REFERENCES[name](image, {key: values[i] for key, values in fields.items()}, **params)
        for i, image in enumerate(images)
    ])  # fmt: skip


def assert_agreement(images: np.ndarray, name: str, severity: int, chosen: str) -> None:
    result = hardy.corrupt(images, name, severity, edition=chosen)
    off = np.abs(result.astype(int) - expected(images, name, severity, chosen))
    assert off.max() == 0, f"{np.count_nonzero(off)} values differ, by up to {off.max()}"
    assert not np.array_equal(result, images)


def test_every_corruption_has_a_reference():
    assert {name for name, _ in EVERY} == set(REFERENCES)
    assert len(REFERENCES) == 15


@pytest.mark.parametrize(("name", "chosen"), EVERY)
@pytest.mark.parametrize("severity", [1, 5])
def test_photographs(name, chosen, severity):
    assert_agreement(photos(32)[1:3], name, severity, chosen)


@pytest.mark.parametrize(("name", "chosen"), EVERY)
@pytest.mark.parametrize("size", [(21, 34), (26, 17)])
def test_any_shape(name, chosen, size):
    assert_agreement(photos(*size)[:1], name, 3, chosen)


@pytest.mark.slow
@pytest.mark.parametrize("name", load("imagenet_c_bar").counted)
def test_full_size(name):
    assert_agreement(photos(224)[1:2], name, 4, "c_bar")


# Parameters from the published magnitudes.

MAGNITUDES = {
    ("c_bar", "blue_noise_sample"): (0.8, 1.6, 2.4, 4.0, 5.6),
    ("c_bar", "plasma_noise"): (4.75, 7.0, 8.5, 9.25, 10.0),
    ("c_bar", "checkerboard_cutout"): (2, 3, 4, 5, 6),
    ("c_bar", "cocentric_sine_waves"): (3, 5, 8, 9, 10),
    ("c_bar", "single_frequency_greyscale"): (1, 1.5, 2, 4.5, 5),
    ("c_bar", "brownish_noise"): (1, 2, 3, 4, 5),
    ("c_bar", "perlin_noise"): (4.6, 5.2, 5.8, 7.6, 8.8),
    ("c_bar", "sparkles"): (1, 2, 3, 5, 6),
    ("c_bar", "inverse_sparkles"): (1, 2, 4, 9, 10),
    ("c_bar", "caustic_refraction"): (2.35, 3.2, 4.9, 6.6, 9.15),
    ("c_bar_cifar", "blue_noise_sample"): (0.7, 1.4, 2.1, 3.5, 4.2),
    ("c_bar_cifar", "checkerboard_cutout"): (1.0, 2.0, 3.0, 4.0, 5.0),
    ("c_bar_cifar", "inverse_sparkles"): (1.0, 1.5, 2.5, 4.5, 5.0),
    ("c_bar_cifar", "pinch_and_twirl"): (5.5, 6.0, 6.5, 8.5, 10.0),
    ("c_bar_cifar", "ripple"): (5.5, 6.0, 6.5, 7.5, 8.0),
    ("c_bar_cifar", "brownish_noise"): (2.5, 4.0, 5.5, 6.5, 7.0),
    ("c_bar_cifar", "circular_motion_blur"): (2.8, 3.6, 4.4, 5.2, 6.0),
    ("c_bar_cifar", "lines"): (0.5, 1.0, 1.5, 2.0, 2.5),
    ("c_bar_cifar", "sparkles"): (0.7, 3.5, 5.6, 6.3, 7.0),
    ("c_bar_cifar", "transverse_chromatic_abberation"): (1.0, 2.0, 5.0, 9.0, 10.0),
}
SCALED = {  # parameter: factor and offset of the magnitude
    "blue_noise_sample": {"threshold": (0.3, -2.5)},
    "plasma_noise": {"strength": (6.4, 0)},
    "checkerboard_cutout": {"share": (0.1, 0)},
    "cocentric_sine_waves": {"strength": (12.8, 0)},
    "single_frequency_greyscale": {"strength": (19.6, 0)},
    "brownish_noise": {"strength": (6.4, 0)},
    "perlin_noise": {"weight": (0.05, 0)},
    "sparkles": {"radius": (0.01, 0)},
    "inverse_sparkles": {"exponent": (0.13, 0)},
    "caustic_refraction": {"lens": (0.05, 0), "light": (0.2, 0)},
    "pinch_and_twirl": {"tiles": (0, 3), "twirl": (9, 0), "pinch": (0.04, 0.1)},
    "ripple": {"reach": (0.0025, 0)},
    "circular_motion_blur": {"degrees": (1.5, 0)},
    "lines": {"density": (0.1, 0)},
    "transverse_chromatic_abberation": {"spread": (0.025, 0)},
}


def test_constants_are_those_of_the_magnitudes():
    assert set(MAGNITUDES) == {(chosen, name) for name, chosen in EVERY}
    for (chosen, name), magnitudes in MAGNITUDES.items():
        for severity, m in enumerate(magnitudes, start=1):
            made = {key: a * m + b for key, (a, b) in SCALED[name].items()}
            assert edition(chosen).params(name, severity) == pytest.approx(made, abs=1e-12)


def test_the_suites():
    imagenet, cifar = (load(name) for name in SUITES)
    assert (imagenet.storage, imagenet.recipe) == ("jpeg:85", "resize256_crop224@1")
    assert (cifar.storage, cifar.recipe) == (None, "none@1")
    for suite, table in ((imagenet, "cbar_imagenet"), (cifar, "cbar_cifar10")):
        assert suite.counted == published.load_table(table).entries
        assert published.load_table(table).suite == suite.name
        assert set(suite.counted) == set(suite.edition.corruptions)
        assert not suite.validation
        # The published score is the plain mean error, which needs no reference.
        assert suite.reference is None


def test_auto_takes_the_edition_that_has_it():
    image = photos(32)[0]
    for name in ("plasma_noise", "lines"):
        (only,) = editions(name)
        np.testing.assert_array_equal(
            hardy.corrupt(image, name, 3), hardy.corrupt(image, name, 3, edition=only)
        )
    near = hardy.corrupt(image, "sparkles", 3, edition="c_bar_cifar")
    np.testing.assert_array_equal(hardy.corrupt(image, "sparkles", 3), near)
    with pytest.raises(hardy.InputError, match='corruption of edition cifar "sparkles"'):
        hardy.corrupt(image, "sparkles", 3, edition="cifar")


# What is drawn.

RANGES = {  # at 224 x 200: low, high
    "plasma_noise": {
        "time": (0, 6 * np.pi), "rounds": (0, 2), "sharpness": (0.5, 1), "scale": (15, 40),
    },
    "checkerboard_cutout": {"angle": (0, 2 * np.pi), "cell": (20, 50), "chances": (0, 1)},
    "cocentric_sine_waves": {
        "row": (0, 224), "column": (0, 200), "frequency": (0, 10), "wobble": (0, 20),
        "width": (0, 20),
    },
    "single_frequency_greyscale": {
        "frequency": (-np.pi, np.pi), "ratio": (-1, 1), "swapped": (0, 1), "phase": (0, 2 * np.pi),
    },
    "perlin_noise": {"order": (0, 255), "gradients": (0, 511)},
    "sparkles": {"row": (0, 224), "column": (0, 200), "rays": (0, 149)},
    "inverse_sparkles": {"row": (56, 168), "column": (50, 150), "rays": (0, 149)},
    "caustic_refraction": {"time": (0.5, 2), "scale": (150, 250)},
    "pinch_and_twirl": {"turns": (0, 1)},
    "ripple": {"wavelength": (20, 60), "phase": (0, 2 * np.pi)},
    "lines": {
        "row": (0, 224), "column": (0, 200), "angle": (0, 2 * np.pi), "spread": (0.1, 1),
        "turn": (-0.5, 0.5),
    },
    "transverse_chromatic_abberation": {"order": (0, 2)},
}  # fmt: skip


@pytest.mark.parametrize("name", RANGES)
def test_ranges(name):
    fields = hardy.draw(name, 3, (224, 200), ids=IDS)
    assert set(fields) - {"lengths"} == set(RANGES[name])
    for field, (low, high) in RANGES[name].items():
        values = fields[field].astype(float)
        whole = fields[field].dtype.kind in "iu"
        assert low <= values.min()
        assert values.max() <= high
        start, width = (low - 0.5, high - low + 1) if whole else (low, high - low)
        shares = np.histogram(values, 2, (start, start + width))[0] / values.size
        if not whole or (high - low) % 2:
            # One draw per image at least; five deviations of their share.
            np.testing.assert_allclose(shares, 0.5, atol=2.5 / np.sqrt(len(IDS)))
        assert values.max() > high - 0.05 * width
        assert values.min() < low + 0.05 * width or whole


def test_phases_fill_half_a_spectrum():
    for size, half in (((32, 32), (32, 16)), ((21, 34), (21, 17)), ((26, 17), (26, 9))):
        assert hardy.draw("blue_noise_sample", 1, size)["phases"].shape == (1, 1, *half)
        assert hardy.draw("brownish_noise", 1, size)["phases"].shape == (1, 3, *half)
    phases = hardy.draw("brownish_noise", 1, (64, 64))["phases"].reshape(-1)
    assert stats.kstest(phases / (2 * np.pi), "uniform").pvalue > 1e-4


def test_permutations_are_permutations():
    orders = hardy.draw("perlin_noise", 1, (32, 32), ids=range(50))["order"]
    assert np.all(np.sort(orders, axis=1) == np.arange(256))
    assert len({order.tobytes() for order in orders}) == 50
    threes = hardy.draw("transverse_chromatic_abberation", 1, (32, 32), ids=range(600))["order"]
    found = [tuple(order) for order in threes.tolist()]
    counts = [found.count(order) for order in permutations(range(3))]
    assert sum(counts) == 600
    assert stats.chisquare(counts).pvalue > 1e-4
