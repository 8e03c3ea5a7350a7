from typing import Any

import pytest

from hardy.errors import InputError
from hardy.suites import (
    SEVERITIES,
    _nearest,
    edition,
    editions,
    load,
    names,
    nearest_edition,
)

COUNTED = [
    "gaussian_noise",
    "shot_noise",
    "impulse_noise",
    "defocus_blur",
    "glass_blur",
    "motion_blur",
    "zoom_blur",
    "snow",
    "frost",
    "fog",
    "brightness",
    "contrast",
    "elastic_transform",
    "pixelate",
    "jpeg_compression",
]
VALIDATION = ["speckle_noise", "gaussian_blur", "spatter", "saturate"]
SHARED_WITH_299 = ["zoom_blur", "snow", "frost", "brightness", "contrast", "saturate"]

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

ALEXNET = {
    "gaussian_noise": 0.886428,
    "shot_noise": 0.894468,
    "impulse_noise": 0.922640,
    "defocus_blur": 0.819880,
    "glass_blur": 0.826268,
    "motion_blur": 0.785948,
    "zoom_blur": 0.798360,
    "snow": 0.866816,
    "frost": 0.826572,
    "fog": 0.819324,
    "brightness": 0.564592,
    "contrast": 0.853204,
    "elastic_transform": 0.646056,
    "pixelate": 0.717840,
    "jpeg_compression": 0.606500,
    "speckle_noise": 0.845,
    "gaussian_blur": 0.787,
    "spatter": 0.718,
    "saturate": 0.658,
}


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
        assert list(table)[:19] == COUNTED + VALIDATION
        for corruption in COUNTED + VALIDATION:
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


def test_editions_that_have_a_name():
    assert editions("noc_rain") == ("noc",)
    assert editions("tilt") == editions("fog") == ("224", "299", "64", "cifar")
    assert editions("nothing") == ()
    assert set(editions()) >= {*editions("fog"), "noc"}
    assert "fog" in edition("224")
    assert "tilt" in edition("224")
    assert "noc_rain" not in edition("224")


def test_one_severity_where_images_draw_their_strength():
    assert edition("noc").severities("noc_rain") == (1,)
    assert edition("224").severities("fog") == (1, 2, 3, 4, 5)
    assert edition("noc").params("noc_rain", 1) == {"low": 12.0, "high": 120.0}
    with pytest.raises(InputError, match="expected severity 1, got 2; each image draws"):
        edition("noc").params("noc_rain", 2)
    assert load("cifar10_noc_23").edition.side == 32
    assert edition("noc").side == 224


@pytest.mark.parametrize("severity", [0, -1, 6, 2.0, "3", None])
def test_severity_outside_1_to_5_is_refused(severity: Any):
    with pytest.raises(InputError, match=r"severity from 1 \(weak\) to 5 \(strong\), got"):
        edition("224").params("fog", severity)


def test_params_are_a_copy():
    edition("224").params("fog", 1)["amount"] = 99.0
    assert edition("224").params("fog", 1)["amount"] == 1.5


def test_unknown_names_offer_the_nearest():
    with pytest.raises(InputError, match='unknown suite "imagenet-c"; did you mean "imagenet_c"'):
        load("imagenet-c")
    with pytest.raises(InputError, match='unknown edition "cifr"; did you mean "cifar"'):
        edition("cifr")
    with pytest.raises(InputError, match='corruption of edition 224 "fgo"; did you mean "fog"'):
        edition("224").params("fgo", 1)


@pytest.mark.parametrize(
    ("name", "its_edition", "side", "classes", "recipe", "id_rule", "storage"),
    [
        ("imagenet_c", "224", 224, 1000, "resize256_crop224@1", "file_stem", "jpeg:85"),
        ("imagenet_c_299", "299", 299, 1000, "crop87.5_resize299@1", "file_stem", "jpeg:85"),
        ("imagenet64_c", "64", 64, 1000, "resize64_exact@1", "file_stem", "jpeg:85"),
        ("tiny_imagenet_c", "64", 64, 200, "resize64_exact@1", "file_stem", "jpeg:85"),
        ("cifar10_c", "cifar", 32, 10, "none@1", "row_index", None),
        ("cifar100_c", "cifar", 32, 100, "none@1", "row_index", None),
    ],
)
def test_suites(name, its_edition, side, classes, recipe, id_rule, storage):
    suite = load(name)
    assert (suite.name, suite.version) == (name, 1)
    assert (suite.edition.name, suite.edition.side) == (its_edition, side)
    assert (suite.classes, suite.recipe) == (classes, recipe)
    assert (suite.id_rule, suite.storage) == (id_rule, storage)
    assert list(suite.counted) == COUNTED
    assert list(suite.validation) == VALIDATION
    assert list(suite.corruptions) == COUNTED + VALIDATION
    assert suite.title
    assert suite.recipe_description


def test_names_lists_the_files():
    assert set(names()) >= {
        "imagenet_c",
        "imagenet_c_299",
        "imagenet64_c",
        "tiny_imagenet_c",
        "cifar10_c",
        "cifar100_c",
        "imagenet_p",
        "imagenet_p_299",
        "imagenet64_p",
        "tiny_imagenet_p",
        "cifar10_p",
        "cifar100_p",
        "imagenet_noc",
        "noc_23",
        "cifar10_noc_23",
    }


def test_alexnet_is_the_reference_of_imagenet_c_alone():
    reference = load("imagenet_c").reference
    assert reference is not None
    assert reference.name == "AlexNet"
    assert reference.clean_error == 0.435
    assert reference.errors == pytest.approx(ALEXNET, abs=1e-12)
    others = {name for name in names() if load(name).reference} - {"imagenet_c"}
    assert others == {"imagenet_noc", "noc_23"}


def test_fine_reference_errors_round_to_those_of_the_paper():
    reference = load("imagenet_c").reference
    assert reference is not None
    assert list(reference.paper) == COUNTED + VALIDATION
    assert list(reference.fine) == COUNTED
    for name, fine in reference.fine.items():
        assert abs(fine - reference.paper[name]) <= 0.0005 + 1e-9, name
    # means stated beside the published tables
    assert sum(reference.paper[name] for name in COUNTED) / 15 == pytest.approx(0.7890, abs=5e-5)
    assert sum(reference.paper.values()) / 19 == pytest.approx(0.7812, abs=5e-5)


@pytest.mark.parametrize(
    ("size", "name"),
    [
        ((224, 224), "224"),
        ((299, 299), "299"),
        ((64, 64), "64"),
        ((32, 32), "cifar"),
        ((8, 8), "cifar"),
        # between two sides the border is their geometric mean: 45.3, 119.7 and 258.8
        ((45, 45), "cifar"),
        ((46, 46), "64"),
        ((119, 119), "64"),
        ((120, 120), "224"),
        ((258, 258), "224"),
        ((259, 259), "299"),
        ((3000, 2000), "299"),
        # the shorter side decides, whichever it is
        ((40, 1000), "cifar"),
        ((1000, 40), "cifar"),
    ],
)
def test_nearest_edition(size: tuple[int, int], name: str):
    assert nearest_edition(*size, editions("fog")) == name


@pytest.mark.parametrize("sides", [{"small": 2, "large": 8}, {"large": 8, "small": 2}])
def test_nearest_edition_takes_the_smaller_in_a_tie(sides: dict[str, int]):
    assert _nearest(4, sides) == "small"


def test_nearest_edition_of_nothing_is_refused():
    with pytest.raises(InputError, match="at least one pixel, got height 0 and width 5"):
        nearest_edition(0, 5, ["224"])
