"""PRIME's primitives against SciPy's, and the laws of what it draws."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from scipy import ndimage, stats

from hardy.errors import InputError
from hardy.train.method import Draw, make_method
from hardy.train.methods.prime import (
    COLOUR,
    DEEPEST,
    FILTER,
    WARP,
    Prime,
    coloured,
    distort,
    filtered,
    warped,
)
from tests.photos import photos
from tests.train.small import CPU
from tests.train.tiny import bytes_of, no_waiting


def ready(height: int = 12, width: int = 12, **settings: str) -> Prime:
    method = make_method("prime", settings)
    assert isinstance(method, Prime)
    method.begin(Draw(0, CPU), (3, height, width))
    return method


def pixels_of(height: int = 12, width: int = 12) -> torch.Tensor:
    return torch.from_numpy(photos(height, width).copy()).permute(0, 3, 1, 2) / 255


def test_filters_are_correlations_with_zeros_around() -> None:
    pixels = pixels_of(12, 16)
    kernels = ready().filters(len(pixels))
    wanted = [
        [ndimage.correlate(channel, kernel, mode="constant") for channel in image]
        for image, kernel in zip(pixels.double().numpy(), kernels.numpy(), strict=True)
    ]
    np.testing.assert_allclose(filtered(pixels, kernels), np.clip(wanted, 0, 1), atol=1e-5)


def test_filters_lie_about_the_middle_tap() -> None:
    kernels = ready(sigma="3").filters(4000)
    middle = torch.zeros(3, 3)
    middle[1, 1] = 1
    assert torch.allclose(kernels.mean(0), middle, atol=0.15)
    assert kernels.std() ** 2 == pytest.approx(3**2 / 3, rel=0.1)  # of U(0, 3)²


def test_curves_are_sums_of_sines() -> None:
    method = ready(waves="30", temperature="0.02")
    coefficients: list[torch.Tensor] = []
    normal = method.draw.normal
    method.draw.normal = lambda *shape: coefficients.append(normal(*shape)) or coefficients[-1]
    method.draw.uniform = lambda *shape: torch.full(shape, 0.5)
    method.draw.integers = lambda below, *shape: torch.full(shape, 16)  # K = 17
    pixels = pixels_of()
    made = coloured(pixels, method.curves(len(pixels))).double().numpy()
    c, v = coefficients[0].double().numpy(), pixels.double().numpy()
    total = sum(c[:, :, k - 1, None, None] * np.sin(math.pi * k * v) for k in range(1, 18))
    wanted = np.clip(v + math.sqrt(0.5 * 0.02) * total, 0, 1)
    assert np.abs(made - wanted).max() < 2e-3


def test_warps_move_pixels_as_scipy_does() -> None:
    pixels = pixels_of(12, 16)
    field = 2 * torch.randn(len(pixels), 2, 12, 16, generator=torch.Generator().manual_seed(0))
    made = warped(pixels, field)
    rows, columns = np.mgrid[:12, :16]
    for image, (across, down), one in zip(pixels.numpy(), field.numpy(), made, strict=True):
        places = np.stack([(rows + down).clip(0, 11), (columns + across).clip(0, 15)])
        for channel, found in zip(image, one, strict=True):
            wanted = ndimage.map_coordinates(channel, places, order=1, mode="nearest")
            np.testing.assert_allclose(found, wanted, atol=1e-4)


def test_fields_are_sums_of_products_of_sines(monkeypatch: pytest.MonkeyPatch) -> None:
    method = ready(8, 10, cutoff="6")
    monkeypatch.setattr(
        method,
        "draw_warp",
        lambda count, side: (torch.full((count,), 4.0), torch.full((count,), 0.01)),
    )
    drawn: list[torch.Tensor] = []
    normal = method.draw.normal
    method.draw.normal = lambda *shape: drawn.append(normal(*shape)) or drawn[-1]
    made = method.warps(2).numpy()
    y, x = np.linspace(0, 1, 8), np.linspace(0, 1, 10)
    wanted = np.zeros((2, 2, 8, 10))
    for i in range(1, 7):
        for j in range(1, 7):
            if i**2 + j**2 < 4.5**2:
                wave = np.outer(np.sin(math.pi * i * y), np.sin(math.pi * j * x))
                c = drawn[0][:, :, i - 1, j - 1].numpy()[:, :, None, None]
                wanted += 0.1 * 10 * c * wave / math.hypot(i, j)
    np.testing.assert_allclose(made, wanted, atol=1e-5)


def test_cutoffs_and_temperatures() -> None:
    cutoff, temperature = ready(cutoff="20").draw_warp(5000, 12)
    q, t = cutoff.double().numpy(), temperature.double().numpy()
    assert q.min() == 2
    assert q.max() == 20
    assert (q == q.round()).all()
    least, most = 1 / (np.pi * 12**2 * np.log(q)), 4 / (np.pi**3 * q**2 * np.log(q))
    high = np.maximum(least, most)
    assert (t >= least * (1 - 1e-5)).all()
    assert (t <= high * (1 + 1e-5)).all()
    wide = high > 1.5 * least
    place = (t - least)[wide] / (high - least)[wide]
    assert stats.kstest(place, stats.beta(0.5, 0.5).cdf).pvalue > 1e-3


def test_each_image_gets_its_own_primitive() -> None:
    pixels, method = pixels_of()[:4], ready()
    fields = method.filters(4), method.curves(4), method.warps(4)
    made = distort(pixels, torch.tensor([-1, FILTER, COLOUR, WARP]), *fields)
    assert torch.equal(made[0], pixels[0])
    for row, primitive, field in ((1, filtered, 0), (2, coloured, 1), (3, warped, 2)):
        alone = primitive(pixels[row : row + 1], fields[field][row : row + 1])
        torch.testing.assert_close(made[row], alone[0])
        assert not torch.equal(made[row], pixels[row])


def test_mixtures_are_pixels_and_nothing_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    images, method = bytes_of(6, 12), ready()
    with no_waiting(monkeypatch):
        made = method.mixtures(images, 2)
    assert made.shape == (2, *images.shape)
    assert made.min() >= 0
    assert made.max() <= 1
    assert not torch.equal(made[0], made[1])


def test_draws_come_in_one_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another one would give another training with the same seed."""
    drawn: list[str] = []
    for name in ("filters", "curves", "warps"):
        draw = getattr(Prime, name)

        def noted(self: Prime, count: int, name: str = name, draw: Any = draw) -> torch.Tensor:
            drawn.append(name)
            return draw(self, count)

        monkeypatch.setattr(Prime, name, noted)
    ready().mixtures(bytes_of(6, 12), 1)
    assert drawn == ["filters", "curves", "warps"] * DEEPEST


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"waves": "0"}, "expected waves of at least 1, got 0"),
        ({"cutoff": "2"}, "expected cutoff of at least 3, got 2"),
        ({"sigma": "-1"}, "expected sigma above 0"),
    ],
)
def test_bad_settings_of_prime(settings: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_method("prime", settings)
