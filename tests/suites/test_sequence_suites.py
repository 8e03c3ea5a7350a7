"""The suites of sequences: constants typed from the paper's recipe by hand, and what is refused."""

from typing import Any

import pytest

from hardy.errors import InputError
from hardy.suites import edition, editions, load, suite_names
from hardy.suites.edition_files import parse_edition
from hardy.suites.suite import parse_suite
from tests.suites.test_schema import changed, raw

COUNTED = [
    *("gaussian_noise", "shot_noise", "motion_blur", "zoom_blur", "snow", "brightness"),
    *("translate", "rotate", "tilt", "scale"),
]
VALIDATION = ["speckle_noise", "gaussian_blur", "spatter", "shear"]
SUITES = [name for name in suite_names() if load(name).kind == "perturbations"]

# Levels of noise, and single rows of the others, in the order of the editions.
NOISE = {
    "gaussian_noise": [
        *((0.03, 0.05, 0.08), (0.035, 0.055, 0.085), (0.025, 0.05, 0.075), (0.02, 0.04, 0.06)),
    ],
    "shot_noise": [(300, 120, 60), (250, 100, 50), (500, 250, 125), (700, 400, 200)],
    "speckle_noise": [(0.05, 0.1, 0.15), (0.06, 0.11, 0.16), (0.05, 0.1, 0.15), (0.05, 0.07, 0.1)],
}
FLOWING, DRIPPING = (0.05, 0.1, 0.15, 0.7), (0, 0.2, 0.8, 0)
ROWS = {
    "motion_blur": [(10, 3, 4, 30), (13, 3, 4, 30), (14, 3, 5, 30), (6, 1.8, 9, 20)],
    "zoom_blur": [(0.004,)] * 4,
    "snow": [
        (0.05, 0.3, 3, 0.5, 14, 4, 0.85, 4, 37.5),
        (0.05, 0.3, 3, 0.5, 14, 4, 0.85, 4, 37.5),
        (0.05, 0.28, 2, 0.5, 10, 2.5, 0.85, 4, 37.5),
        (0.05, 0.3, 2, 0.5, 10, 2, 0.85, 4, 37.5),
    ],
    "brightness": [(0.02, 15)] * 3 + [(0.015, 15)],
    "translate": [(1, 20), (1, 20), (1, 15), (1, 7)],
    "rotate": [(1, 15)] * 4,
    "tilt": [(1, 15)] * 3 + [(0.75, 15)],
    "scale": [(40, 2.5)] * 3 + [(70, 2)],
    "gaussian_blur": [(0.25, 0.035, 6), (0.35, 0.035, 6), (0.35, 0.014, 7), (0.3, 0.015, 7)],
    "spatter": [
        (0.65, 0.27, 3.7, 0.69, 0.6, *FLOWING),
        (0.65, 0.3, 4, 0.69, 0.6, *FLOWING),
        (0.6, 0.25, 1.75, 0.7, 0.6, *DRIPPING),
        (0.6, 0.265, 1.75, 0.7, 0.6, *DRIPPING),
    ],
    "shear": [(1, 15)] * 4,
}


@pytest.mark.parametrize("place", range(4), ids=editions("tilt"))
def test_constants(place: int):
    constants = edition(editions("tilt")[place])
    for name, values in NOISE.items():
        seen = [tuple(level.values()) for level in constants.steps(name).levels]
        assert seen == [(value,) for value in values[place]], name
    for name, rows in ROWS.items():
        (level,) = constants.steps(name).levels
        assert tuple(level.values()) == rows[place], name
    assert list(constants.perturbations) == COUNTED + VALIDATION


def test_what_is_moved():
    """The base image; at 299 two perturbations act on the crop, at 64 the blur on the picture."""
    moved = {"zoom_blur", "translate", "rotate", "tilt", "scale", "shear"}
    for name in editions("tilt"):
        steps = edition(name).perturbations
        on_crop = {"zoom_blur", "scale"} if name == "299" else set()
        assert {key for key, row in steps.items() if row.on == "base"} == moved - on_crop
        on_picture = {"motion_blur"} if name == "64" else set()
        assert {key for key, row in steps.items() if row.on == "picture"} == on_picture


VIDEO = ("x264:crf=20,preset=veryslow", "x264:crf=23,preset=veryslow,tune=grain")


@pytest.mark.parametrize(
    ("name", "chosen", "classes", "recipe", "id_rule", "storage"),
    [
        ("imagenet_p", "224", 1000, "resize256_rgb_crop224@1", "file_stem", VIDEO),
        ("imagenet_p_299", "299", 1000, "crop87.5_resize299@1", "file_stem", VIDEO),
        ("imagenet64_p", "64", 1000, "resize64_exact@1", "file_stem", VIDEO),
        ("tiny_imagenet_p", "64", 200, "resize64_crop64@1", "file_stem", VIDEO),
        ("cifar10_p", "cifar", 10, "none@1", "row_index", (None, None)),
        ("cifar100_p", "cifar", 100, "none@1", "row_index", (None, None)),
    ],
)
def test_suites(name, chosen, classes, recipe, id_rule, storage):
    suite = load(name)
    assert (suite.name, suite.kind) == (name, "perturbations")
    assert suite.version == (2 if chosen in ("64", "cifar") else 1)
    assert (suite.edition.name, suite.classes, suite.recipe) == (chosen, classes, recipe)
    assert (suite.id_rule, (suite.storage, suite.noise_storage)) == (id_rule, storage)
    assert list(suite.counted) == COUNTED
    assert list(suite.validation) == VALIDATION
    assert list(suite.perturbations) == COUNTED + VALIDATION
    assert suite.corruptions == ()
    assert suite.reference is None


def test_the_other_suites_have_none():
    assert len(SUITES) == 6
    for name in set(suite_names()) - set(SUITES):
        assert load(name).kind != "perturbations"
        assert load(name).perturbations == ()
        assert load(name).flips is None


def test_alexnet_is_the_reference_of_imagenet_p_alone():
    assert [name for name in SUITES if load(name).flips] == ["imagenet_p"]
    flips = load("imagenet_p").flips
    assert flips is not None
    assert flips.name == "AlexNet"
    assert list(flips.flips) == list(flips.top5_distance) == COUNTED + VALIDATION
    assert flips.flips["shot_noise"] == pytest.approx(0.3006)
    assert flips.top5_distance["scale"] == 4.48
    # the means stated beside the published table
    assert sum(flips.flips[name] for name in COUNTED) / 10 == pytest.approx(0.1405, abs=5e-5)
    assert sum(flips.top5_distance[name] for name in COUNTED) / 10 == pytest.approx(2.92, abs=0.005)


def test_unknown_names_and_levels():
    with pytest.raises(InputError, match='perturbation of edition 64 "tlit"; did you mean "tilt"'):
        edition("64").steps("tlit")
    for level in (0, 4, -1, 1.0, "1", None):
        with pytest.raises(InputError, match="expected level 1 or 2 or 3, got"):
            edition("224").steps("shot_noise").params(level)  # type: ignore[arg-type]
    edition("224").steps("tilt").params(1)["step"] = 99.0
    assert edition("224").steps("tilt").params(1)["step"] == 1.0


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("tilt/frames", 1, "frames: expected a whole number of 2 or more, got 1"),
        ("tilt/frames", None, "frames: expected a whole number of 2 or more, got nothing"),
        ("tilt/on", "crop", "on: expected view or base or picture, got 'crop'"),
        ("tilt/levels", [], "levels: expected a row of values per level, got \\[\\]"),
        ("tilt/levels/0", [1], r"expected 2 values per row, got \[1\]"),
        ("tilt/levels/0/1", "15", "expected numbers, got '15'"),
        ("tilt/severities", [], r'\[perturbations.tilt\] "severities"'),
    ],
)
def test_wrong_edition_is_refused(path: str, value: Any, message: str):
    data = changed("editions/224.toml", f"perturbations/{path}", value)
    with pytest.raises(InputError, match=message):
        parse_edition(data, "editions/224.toml")


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (
            "kind",
            "videos",
            "kind: expected corruptions or perturbations or shifts or outliers, got 'videos'",
        ),
        ("kind", "corruptions", 'storage: expected "jpeg:1" to'),
        ("storage", "jpeg:85", 'storage: expected such as "x264:crf=20'),
        ("noise_storage", "x264:crf=60,preset=fast", "noise_storage: expected such as"),
        ("counted/0", "fog", 'perturbation of edition 224 "fog"'),
        ("counted/0", "spatter", r"expected each perturbation once, got \['spatter'\]"),
        (
            "reference/flip_percent/tilt",
            None,
            r"every perturbation of the suite, got \"no \['tilt'",
        ),
        ("reference/flip_percent/tlit", 3.0, 'perturbation "tlit"; did you mean "tilt"'),
        ("reference/top5_distance/tilt", 19, "expected values above 0, up to 18, got 19"),
        ("reference/clean_percent", 43.5, '"clean_percent"'),
    ],
)
def test_wrong_suite_is_refused(path: str, value: Any, message: str):
    data = changed("imagenet_p.toml", path, value)
    with pytest.raises(InputError, match=message):
        parse_suite(data, "imagenet_p.toml", edition)


def parse_pair(name: str, its_edition: dict[str, Any]) -> str:
    constants = parse_edition(its_edition, "editions/224.toml")
    return parse_suite(raw(f"{name}.toml"), f"{name}.toml", lambda _: constants).content_hash()


def test_hash_covers_the_constants_of_its_own_kind():
    sequence = changed("editions/224.toml", "perturbations/tilt/levels/0/0", 2)
    corruption = changed("editions/224.toml", "corruptions/fog/severities/0/0", 9)
    for data, name, same in (
        (sequence, "imagenet_p", False),
        (sequence, "imagenet_c", True),
        (corruption, "imagenet_p", True),
        (corruption, "imagenet_c", False),
    ):
        assert (parse_pair(name, data) == load(name).content_hash()) is same
    frames = changed("editions/224.toml", "perturbations/tilt/frames", 30)
    assert parse_pair("imagenet_p", frames) != load("imagenet_p").content_hash()


@pytest.mark.parametrize("name", SUITES)
def test_noise_is_known_by_its_levels(name: str) -> None:
    """The reference evaluator knows it by its name, which comes to the same."""
    suite = load(name)
    noise = [one for one in suite.perturbations if suite.edition.steps(one).is_noise]
    assert noise == [one for one in suite.perturbations if "noise" in one] == [*NOISE]
