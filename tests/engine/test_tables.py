"""Host tables against the library calls whose arithmetic they hold."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from PIL import Image
from scipy import ndimage

from hardy.engine.tables import filter_weights as tables
from hardy.suites import edition, editions
from tests.exact import exact_exp


def rows(corruption: str) -> list[dict[str, float]]:
    return [row for name in editions(corruption) for row in edition(name).corruptions[corruption]]


BLURS = {(row["sigma"], 4.0) for c in ("gaussian_blur", "glass_blur") for row in rows(c)}
LAYERS = {(row["sigma"], 4.0) for row in rows("spatter")}
LAYERS |= {(row["strength"], 4.0) for row in rows("spatter") if row["mud"]}
WARPS = {(row["base"] * row["sigma"], 3.0) for row in rows("elastic_transform") if row["sigma"]}
GAUSSIANS = sorted(BLURS | LAYERS | WARPS)


@pytest.mark.parametrize(("sigma", "truncate"), GAUSSIANS)
def test_gaussian_weights(sigma, truncate):
    radius = int(truncate * sigma + 0.5)
    half = tables.gaussian_weights(sigma, truncate)
    assert len(half) == radius + 1
    impulse = np.zeros(4 * radius + 1)
    impulse[2 * radius] = 1.0
    response = ndimage.gaussian_filter1d(impulse, sigma, truncate=truncate, mode="constant")
    # SciPy takes NumPy's exp, which may be off by a last bit and differs between machines.
    np.testing.assert_allclose(half, response[2 * radius :][: radius + 1], rtol=4e-15, atol=0)
    whole = np.array(
        [exact_exp(-0.5 / (sigma * sigma) * (i * i)) for i in range(-radius, radius + 1)]
    )
    np.testing.assert_array_equal(half, (whole / whole.sum())[radius:])


def test_no_blur_is_the_identity():
    assert tables.gaussian_weights(0.0, 3.0).tolist() == [1.0]
    assert tables.gaussian_weights(0.05).tolist() == [1.0]


TRAILS = {(row["radius"], row["sigma"]) for c in ("motion_blur", "snow") for row in rows(c)}


@pytest.mark.parametrize(("radius", "sigma"), sorted(TRAILS))
def test_trail_weights(radius, sigma):
    taps = {6: 13, 8: 17, 9: 19, 10: 21, 12: 25, 14: 29, 15: 31, 17: 35, 20: 41, 22: 45}
    weights = tables.trail_weights(radius, sigma)
    assert len(weights) == taps[radius]
    bell = np.exp(-(np.arange(len(weights)) ** 2) / (2 * sigma**2))
    np.testing.assert_allclose(weights, bell / bell.sum(), rtol=1e-14)


DISKS = sorted({(row["radius"], row["alias"]) for row in rows("defocus_blur")})
# Where the disk touches its grid, reflection counts its border twice; nowhere else.
INFLATED = {7: 1.002859, 8: 1.012975, 10: 1.010786, 12: 1.007753}
INSIDE = {0.3: 1, 0.4: 1, 0.5: 1, 1: 5, 1.5: 9, 2.5: 21, 3: 29, 4: 49, 5: 81, 6: 113, 7: 149,
          8: 197, 10: 317, 12: 441}  # fmt: skip


@pytest.mark.parametrize(("radius", "alias"), DISKS)
def test_disk_kernel(radius, alias):
    reach, window = (8, 3) if radius <= 8 else (radius, 5)
    grid = np.arange(-reach, reach + 1)
    disk = (grid[:, None] ** 2 + grid**2 <= radius**2).astype(np.float32)
    assert disk.sum() == INSIDE[radius]
    disk /= disk.sum()
    expected = cv2.GaussianBlur(disk, (window, window), sigmaX=alias)
    kernel = tables.disk_kernel(radius, alias)
    assert kernel.dtype == np.float32
    # OpenCV's last bits hinge on its version and the processor; no byte of a photograph feels them.
    np.testing.assert_allclose(kernel, expected, rtol=5e-7, atol=0)
    total = kernel.sum(dtype=np.float64)
    assert total == pytest.approx(INFLATED.get(radius, 1.0), abs=5e-7)


# side, factor, crop, top, side of the enlarged crop
ZOOMS = [
    *((224, 3, 75, 74, 225), (224, 2, 112, 56, 224), (224, 4, 56, 84, 224)),
    *((224, 4.5, 50, 87, 225), (224, 2.5, 90, 67, 225)),
    *((299, 3, 100, 99, 300), (299, 2, 150, 74, 300), (299, 4, 75, 112, 300)),
    *((299, 4.5, 67, 116, 302), (299, 2.5, 120, 89, 300)),
    *((64, 1, 64, 0, 64), (64, 1.75, 37, 13, 65), (64, 2.25, 29, 17, 65), (64, 1.25, 52, 6, 65)),
    *((32, 1, 32, 0, 32), (32, 1.75, 19, 6, 33), (32, 2.25, 15, 8, 34), (32, 1.25, 26, 3, 32)),
    # An exact 1.25 enlarges 26 to 32; the range's 1.2500000000000002 to 33.
    (32, 1.2500000000000002, 26, 3, 33),
]


@pytest.mark.parametrize(("side", "factor", "crop", "top", "out"), ZOOMS)
def test_clipped_zoom_sizes(side, factor, crop, top, out):
    zoom = tables.clipped_zoom(side, factor)
    assert (zoom.crop, zoom.top) == (crop, top)
    places = ndimage.zoom(np.arange(float(crop)), factor, order=1)
    assert len(places) == out
    trim = (out - side) // 2
    np.testing.assert_allclose(zoom.first + zoom.weight, places[trim : trim + side], atol=1e-12)
    assert len(zoom.first) == side
    assert zoom.first.min() >= 0
    assert zoom.first.max() + 1 <= crop - 1
    assert np.all((zoom.weight >= 0) & (zoom.weight <= 1))


LISTS = {  # stop, step: how many factors, the last one
    (1.11, 0.01): (12, 1.11), (1.16, 0.01): (16, 1.15), (1.21, 0.02): (11, 1.20),
    (1.26, 0.02): (13, 1.24), (1.31, 0.03): (11, 1.30), (1.06, 0.01): (7, 1.06),
    (1.21, 0.01): (21, 1.20), (1.26, 0.01): (26, 1.25),
}  # fmt: skip


def test_zoom_factors():
    assert {(row["stop"], row["step"]) for row in rows("zoom_blur")} == set(LISTS)
    for (stop, step), (count, last) in LISTS.items():
        factors = tables.zoom_factors(stop, step)
        assert len(factors) == count
        assert factors[0] == 1.0
        assert factors[-1] == pytest.approx(last, abs=1e-12)
    assert tables.zoom_factors(1.26, 0.01)[-1] > 1.25


WINDOWS = {
    (224, 134): [(0, 2), (2, 1), (3, 2), (5, 2), (7, 1), (8, 2)],
    (224, 112): [(0, 2), (2, 2), (4, 2), (6, 2), (8, 2), (10, 2)],
    (224, 89): [(0, 3), (3, 2), (5, 3), (8, 2), (10, 3), (13, 2)],
    (224, 67): [(0, 3), (3, 4), (7, 3), (10, 3), (13, 4), (17, 3)],
    (224, 56): [(0, 4), (4, 4), (8, 4), (12, 4), (16, 4), (20, 4)],
    (299, 179): [(0, 2), (2, 1), (3, 2), (5, 2), (7, 1), (8, 2)],
    (64, 38): [(0, 2), (2, 1), (3, 2), (5, 2), (7, 1), (8, 2)],
    (32, 12): [(0, 3), (3, 2), (5, 3), (8, 3), (11, 2), (13, 3)],
}


@pytest.mark.parametrize(("sides", "windows"), WINDOWS.items())
def test_box_windows(sides, windows):
    box = tables.box_shrink(*sides)
    assert list(zip(box.first[:6].tolist(), box.taps[:6].tolist(), strict=True)) == windows


def test_box_tables_shrink_and_enlarge_as_pillow_does():
    pairs = [(int(side * scale), side)
             for e in editions("fog") for side in (edition(e).side, 45, 301)
             for scale in (row["scale"] for row in rows("pixelate"))]  # fmt: skip
    pairs += [(60, 299), (74, 299), (1, 8), (7, 8), (299, 300), (8, 8)]
    noise = np.random.default_rng(0).integers(0, 256, (301, 12), np.uint8)
    for small, side in set(pairs):
        column = Image.fromarray(noise[:side])
        shrunk = np.asarray(column.resize((12, small), Image.Resampling.BOX))
        box = tables.box_shrink(side, small)
        sums = [
            noise[a : a + n].sum(axis=0, dtype=int)
            for a, n in zip(box.first, box.taps, strict=True)
        ]
        rounded = (np.stack(sums) * box.weight[:, None] + (1 << 21)) >> 22
        np.testing.assert_array_equal(rounded, shrunk, err_msg=f"{side} to {small}")
        back = Image.fromarray(shrunk).resize((12, side), Image.Resampling.BOX)
        np.testing.assert_array_equal(shrunk[tables.box_enlarge(small, side)], np.asarray(back))


def test_tables_cannot_be_changed():
    # They are cached: a change would reach every later call.
    with pytest.raises(ValueError, match="read-only"):
        tables.gaussian_weights(1.0)[0] = 0.0
    with pytest.raises(ValueError, match="read-only"):
        tables.disk_kernel(3, 0.1)[0, 0] = 1.0
