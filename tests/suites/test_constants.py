"""The constants of the editions are those of the benchmarks, and each has its formula."""

import pytest

from hardy.suites import SEVERITIES, edition, editions

PARAMETERS = {
    "gaussian_noise": "sigma",
    "shot_noise": "photons",
    "impulse_noise": "amount",
    "defocus_blur": "radius alias",
    "glass_blur": "sigma reach passes",
    "motion_blur": "radius sigma",
    "zoom_blur": "stop step",
    "snow": "mean sd zoom threshold radius sigma keep",
    "frost": "image_weight frost_weight texture_scale",
    "fog": "amount decay",
    "brightness": "shift",
    "contrast": "gain",
    "elastic_transform": "base alpha sigma affine",
    "pixelate": "scale",
    "jpeg_compression": "quality",
    "speckle_noise": "sigma",
    "gaussian_blur": "sigma",
    "spatter": "mean sd sigma threshold strength mud",
    "saturate": "gain offset",
}
ZOOM_LARGE = [(1.11, 0.01), (1.16, 0.01), (1.21, 0.02), (1.26, 0.02), (1.31, 0.03)]
ZOOM_SMALL = [(1.06, 0.01), (1.11, 0.01), (1.16, 0.01), (1.21, 0.01), (1.26, 0.01)]
# Typed from the fact sheet by hand, not from the TOML files. Whole columns of one parameter each.
COLUMNS = [
    ("224", "gaussian_noise", "sigma", (0.08, 0.12, 0.18, 0.26, 0.38)),
    ("299", "gaussian_noise", "sigma", (0.09, 0.13, 0.19, 0.27, 0.40)),
    ("64", "gaussian_noise", "sigma", (0.04, 0.08, 0.12, 0.15, 0.18)),
    ("cifar", "gaussian_noise", "sigma", (0.04, 0.06, 0.08, 0.09, 0.10)),
    ("224", "shot_noise", "photons", (60, 25, 12, 5, 3)),
    ("cifar", "shot_noise", "photons", (500, 250, 100, 75, 50)),
    ("64", "impulse_noise", "amount", (0.01, 0.02, 0.05, 0.08, 0.14)),
    ("224", "defocus_blur", "radius", (3, 4, 6, 8, 10)),
    ("299", "defocus_blur", "radius", (4, 5, 7, 10, 12)),
    ("cifar", "defocus_blur", "alias", (0.4, 0.5, 0.6, 0.2, 0.1)),
    # passes go down from severity 1 to 2, and the small editions barely blur at severity 1
    ("224", "glass_blur", "passes", (2, 1, 3, 2, 2)),
    ("299", "glass_blur", "reach", (1, 3, 2, 4, 5)),
    ("64", "glass_blur", "sigma", (0.1, 0.5, 0.6, 0.7, 0.9)),
    ("cifar", "glass_blur", "sigma", (0.05, 0.25, 0.4, 0.25, 0.4)),
    ("224", "motion_blur", "sigma", (3, 5, 8, 12, 15)),
    ("64", "motion_blur", "radius", (10, 10, 10, 10, 12)),
    ("224", "snow", "zoom", (3, 2, 4, 4.5, 2.5)),
    ("cifar", "snow", "keep", (0.95, 0.9, 0.9, 0.85, 0.8)),
    ("64", "snow", "keep", (0.8, 0.8, 0.7, 0.65, 0.6)),
    ("299", "frost", "image_weight", (1, 0.8, 0.7, 0.65, 0.6)),
    ("cifar", "frost", "frost_weight", (0.2, 0.3, 0.4, 0.4, 0.45)),
    ("224", "frost", "texture_scale", (1,) * 5),
    ("299", "frost", "texture_scale", (1,) * 5),
    ("64", "frost", "texture_scale", (0.3,) * 5),
    ("cifar", "frost", "texture_scale", (0.2,) * 5),
    ("224", "fog", "decay", (2, 2, 1.7, 1.5, 1.4)),
    ("299", "fog", "decay", (2, 2, 1.8, 1.6, 1.5)),
    ("64", "brightness", "shift", (0.1, 0.2, 0.3, 0.4, 0.5)),
    ("cifar", "brightness", "shift", (0.05, 0.1, 0.15, 0.2, 0.3)),
    ("64", "contrast", "gain", (0.4, 0.3, 0.2, 0.1, 0.05)),
    ("cifar", "contrast", "gain", (0.75, 0.5, 0.4, 0.3, 0.15)),
    # 244 is a slip for 224 in the reference, and part of the benchmark
    ("224", "elastic_transform", "base", (244,) * 5),
    ("299", "elastic_transform", "base", (360,) * 5),
    ("64", "elastic_transform", "base", (64,) * 5),
    ("cifar", "elastic_transform", "base", (32,) * 5),
    ("224", "elastic_transform", "alpha", (2, 2, 0.05, 0.07, 0.12)),
    ("299", "elastic_transform", "sigma", (0.7, 0.08, 0.01, 0.01, 0.01)),
    ("64", "elastic_transform", "alpha", (0, 0.05, 0.1, 0.1, 0.16)),
    ("cifar", "elastic_transform", "affine", (0.08, 0.07, 0.06, 0.05, 0.03)),
    ("299", "pixelate", "scale", (0.5, 0.4, 0.3, 0.25, 0.2)),
    ("cifar", "pixelate", "scale", (0.95, 0.9, 0.85, 0.75, 0.65)),
    ("224", "jpeg_compression", "quality", (25, 18, 15, 10, 7)),
    ("64", "jpeg_compression", "quality", (65, 58, 50, 40, 25)),
    ("299", "speckle_noise", "sigma", (0.16, 0.21, 0.36, 0.46, 0.61)),
    ("64", "gaussian_blur", "sigma", (0.5, 0.75, 1, 1.25, 1.5)),
    ("224", "spatter", "mud", (0, 0, 0, 1, 1)),
    ("cifar", "spatter", "mud", (0, 0, 0, 1, 1)),
    ("299", "spatter", "strength", (0.9, 0.9, 0.8, 1.8, 1.8)),
    ("64", "spatter", "threshold", (0.7, 0.7, 0.69, 0.68, 0.67)),
    ("cifar", "spatter", "threshold", (0.7, 0.7, 0.69, 0.69, 0.68)),
    # 30 in the 64 edition only
    ("224", "saturate", "gain", (0.3, 0.1, 2, 5, 20)),
    ("299", "saturate", "gain", (0.3, 0.1, 2, 5, 20)),
    ("64", "saturate", "gain", (0.3, 0.1, 2, 5, 30)),
    ("cifar", "saturate", "gain", (0.3, 0.1, 1.5, 2, 2.5)),
]


def column(name: str, corruption: str, parameter: str) -> tuple[float, ...]:
    return tuple(edition(name).params(corruption, s)[parameter] for s in SEVERITIES)


@pytest.mark.parametrize(("name", "corruption", "parameter", "values"), COLUMNS)
def test_constants(name: str, corruption: str, parameter: str, values: tuple[float, ...]):
    assert column(name, corruption, parameter) == values


@pytest.mark.parametrize(
    ("name", "rows"),
    [("224", ZOOM_LARGE), ("299", ZOOM_LARGE), ("64", ZOOM_SMALL), ("cifar", ZOOM_SMALL)],
)
def test_zoom_lists_have_their_nominal_ends(name: str, rows: list[tuple[float, float]]):
    assert [tuple(row.values()) for row in edition(name).corruptions["zoom_blur"]] == rows


@pytest.mark.parametrize(
    "corruption", ["zoom_blur", "snow", "frost", "brightness", "contrast", "saturate"]
)
def test_299_shares_these_with_224(corruption: str):
    assert edition("299").corruptions[corruption] == edition("224").corruptions[corruption]


def test_elastic_products_are_those_of_the_recipe():
    row = edition("224").params("elastic_transform", 1)
    assert row["base"] * row["sigma"] == 170.79999999999998


def test_every_edition_has_every_corruption_with_the_agreed_parameters_in_order():
    assert editions("fog") == ("224", "299", "64", "cifar")
    for name in editions("fog"):
        table = edition(name).corruptions
        assert list(table)[:19] == list(PARAMETERS)
        for corruption in PARAMETERS:
            assert len(table[corruption]) == 5
            for row in table[corruption]:
                assert " ".join(row) == PARAMETERS[corruption]
                assert all(type(value) is float for value in row.values())


def test_every_row_has_its_formula_and_every_formula_its_row():
    from hardy.corrupt import CORRUPTIONS

    assert set(CORRUPTIONS) == {one for name in editions() for one in edition(name).corruptions}
    for name in editions():
        for corruption in edition(name).corruptions:
            declared = CORRUPTIONS[corruption].parameters
            assert declared == tuple(edition(name).params(corruption, 1)), corruption
