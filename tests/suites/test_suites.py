from typing import Any

import pytest

from hardy.errors import InputError
from hardy.suites import _nearest, edition, editions, load, nearest_edition, suite_names

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
    assert set(suite_names()) >= {
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
    others = {name for name in suite_names() if load(name).reference} - {"imagenet_c"}
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
