"""What the public functions take, refuse and promise, whichever corruption it is."""

import numpy as np
import pytest
from PIL import Image

import hardy
from hardy.engine.keys import image_ids

CANONICAL = (
    *("gaussian_noise", "shot_noise", "impulse_noise", "defocus_blur", "glass_blur"),
    *("motion_blur", "zoom_blur", "snow", "frost", "fog", "brightness", "contrast"),
    *("elastic_transform", "pixelate", "jpeg_compression"),
    *("speckle_noise", "gaussian_blur", "spatter", "saturate"),
)
RGB = np.random.default_rng(1).integers(0, 256, (24, 20, 3), dtype=np.uint8)
GREY = np.full((1, 40, 48, 3), 100, np.uint8)
BATCH = np.random.default_rng(2).integers(0, 256, (3, 16, 16, 3), dtype=np.uint8)


def test_the_names_are_in_the_benchmarks_order() -> None:
    assert hardy.corruptions()[: len(CANONICAL)] == CANONICAL
    c_bar, noc = ["blue_noise_sample", "lines", "ripple"], ["noc_blur", "noc_hue", "noc_rain"]
    assert sorted(c_bar + noc, key=hardy.corruptions().index) == c_bar + noc
    assert hardy.perturbations()[0] == "gaussian_noise"


@pytest.mark.parametrize("name", CANONICAL)
def test_the_same_type_comes_back_and_the_input_stays(name: str) -> None:
    before = RGB.copy()
    result = hardy.corrupt(RGB, name, 3)
    assert type(result) is np.ndarray
    assert (result.dtype, result.shape) == (np.uint8, RGB.shape)
    assert not np.shares_memory(result, RGB)
    np.testing.assert_array_equal(RGB, before)

    image = hardy.corrupt(Image.fromarray(RGB), name, np.int64(3))
    assert isinstance(image, Image.Image)
    np.testing.assert_array_equal(np.asarray(image), result)

    read_only = np.frombuffer(RGB.tobytes(), np.uint8).reshape(RGB.shape)
    np.testing.assert_array_equal(hardy.corrupt(read_only, name, 3), result)
    flipped = np.ascontiguousarray(RGB[:, ::-1])[:, ::-1]
    np.testing.assert_array_equal(hardy.corrupt(flipped, name, 3), result)

    nothing = np.zeros((0, 24, 20, 3), np.uint8)
    empty = hardy.corrupt(nothing, name, 3)
    assert empty is not nothing
    assert (empty.dtype, empty.shape) == (np.uint8, (0, 24, 20, 3))


@pytest.mark.parametrize("name", CANONICAL)
def test_replaying_the_draws_is_corrupting(name: str) -> None:
    draws = hardy.draw(name, 3, (16, 16), seed=5, ids=("a", "b", "c"))
    assert all(len(field) == 3 for field in draws.values())
    result = hardy.corrupt(BATCH, name, 3, seed=5, ids=("a", "b", "c"))
    np.testing.assert_array_equal(hardy.replay(BATCH, name, 3, draws), result)
    one = {field: values[1:2] for field, values in draws.items()}
    np.testing.assert_array_equal(hardy.replay(BATCH[1], name, 3, one), result[1])


@pytest.mark.parametrize("name", CANONICAL)
def test_draws_that_do_not_fit_are_refused(name: str) -> None:
    draws = hardy.draw(name, 3, (16, 16), ids=range(3))
    for field, values in draws.items():
        for wrong in (values[:2], values[..., None], values.astype(complex)):
            with pytest.raises(hardy.InputError, match=rf"expected the draw '{field}' as .*fits"):
                hardy.replay(BATCH, name, 3, {**draws, field: wrong})
        rest = {other: draws[other] for other in draws if other != field}
        with pytest.raises(hardy.InputError, match=f"expected draws of {name} with '{field}', got"):
            hardy.replay(BATCH, name, 3, rest)


def test_seed_id_severity_edition_and_name_each_change_the_words() -> None:
    size = (16, 16)
    draws = [
        hardy.draw("gaussian_noise", 1, size),
        hardy.draw("gaussian_noise", 1, size, seed=1),
        hardy.draw("gaussian_noise", 1, size, ids=1),
        hardy.draw("gaussian_noise", 1, size, ids="cat"),
        hardy.draw("gaussian_noise", 2, size),
        hardy.draw("gaussian_noise", 1, size, edition="224"),
        hardy.draw("speckle_noise", 1, size),
    ]
    assert len({draw["word"].tobytes() for draw in draws}) == len(draws)
    first = hardy.corrupt(BATCH[0], "gaussian_noise", 1, seed=1)
    assert (first != hardy.corrupt(BATCH[0], "gaussian_noise", 1)).any()


def test_a_row_of_a_batch_is_the_image_alone() -> None:
    whole = hardy.corrupt(BATCH, "gaussian_noise", 2, seed=9, ids=["a", 7, "c"])
    for row, name in enumerate(["a", 7, "c"]):
        alone = hardy.corrupt(BATCH[row], "gaussian_noise", 2, seed=9, ids=name)
        np.testing.assert_array_equal(whole[row], alone)
    numbered = hardy.corrupt(BATCH, "gaussian_noise", 2)
    given = hardy.corrupt(BATCH, "gaussian_noise", 2, ids=np.arange(3, dtype=np.int32))
    np.testing.assert_array_equal(numbered, given)


def test_auto_takes_the_nearest_edition() -> None:
    for shape, edition in (((32, 40), "cifar"), ((64, 90), "64"), ((230, 300), "224")):
        image = np.full((*shape, 3), 128, np.uint8)
        automatic = hardy.corrupt(image, "gaussian_noise", 1)
        named = hardy.corrupt(image, "gaussian_noise", 1, edition=edition)
        np.testing.assert_array_equal(automatic, named)


@pytest.mark.parametrize(
    ("severity", "got"),
    [
        (0, ", got 0; name one of these, or leave a clean image as it is$"),
        (6, ", got 6; name one of these$"),
        (-1, ", got -1; name one of these$"),
        (np.int64(9), ", got 9; name one of these$"),
        *((one, " as an int, got ") for one in (2.5, 3.0, True, np.True_, "3", None, [3])),
    ],
)
def test_severities_that_are_none(severity: object, got: str) -> None:
    """A number may have been typed in a shell, where nobody knows of types."""
    message = f"^expected a severity of 1, 2, 3, 4 or 5{got}"
    for images in (RGB, BATCH, BATCH[:0]):
        with pytest.raises(hardy.InputError, match=message):
            hardy.corrupt(images, "fog", severity)
    with pytest.raises(hardy.InputError, match=message):
        hardy.draw("fog", severity, (16, 16))
    with pytest.raises(hardy.InputError, match=message):
        hardy.replay(RGB, "fog", severity, {})


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("fgo", 'unknown corruption "fgo"; did you mean "fog"'),
        ("Gaussian Noise", 'did you mean "gaussian_noise"'),
        ("", 'unknown corruption ""'),
        (3, 'expected the name of a corruption such as "fog", got 3'),
        (None, "expected the name of a corruption"),
    ],
)
def test_names_that_are_none(name: object, message: str) -> None:
    with pytest.raises(hardy.InputError, match=message):
        hardy.corrupt(RGB, name, 3)
    with pytest.raises(hardy.InputError, match=message):
        hardy.draw(name, 3, (16, 16))
    with pytest.raises(hardy.InputError, match=message):
        hardy.replay(RGB, name, 3, {})


@pytest.mark.parametrize("seed", [-1, 2**64, 1.0, True, "1", None])
def test_seeds_that_are_none(seed: object) -> None:
    with pytest.raises(hardy.InputError, match=r"expected a seed from 0 to 2\*\*64 - 1 as an int"):
        hardy.corrupt(RGB, "fog", 3, seed=seed)
    # One for each image is for `corrupt` alone.
    with pytest.raises(hardy.InputError, match=r"from 0 to 2\*\*64 - 1 as an int, got"):
        hardy.draw("fog", 3, (16, 16), seed=seed)


@pytest.mark.parametrize(
    ("seed", "ids", "message"),
    [
        ([0, 1], None, "expected a seed, or one per image, 3 in all, got 2 of them"),
        ([], None, "3 in all, got 0 of them"),
        ([0, 1, -1], None, r"expected a seed from 0 to 2\*\*64 - 1 as an int.* got -1"),
        (np.array([0.0, 1.0, 2.0]), None, "as an int.* got 0.0"),
        ([0, 1, 1], ["a", "b"], "expected one id per image, 3 in all, got 2"),
        ([0, 1, 1], ["a", "b", "b"], "expected a different id for each image, got 'b' twice"),
        ({0, 1, 2}, None, "expected a seed from 0"),
        ([0, 1, 2], {0, 1, 2}, r"expected ids in a list or array.*\(set\)"),
        (
            range(2**63),
            None,
            "expected a seed, or one per image, 3 in all, got 9223372036854775807",
        ),
        pytest.param(10**5000, None, "got one of int too long to print", id="long seed"),
        (0, range(2**63), "expected one id per image, 3 in all, got 9223372036854775807"),
        (0, [0, 1, 10**5000], r"got one of int too long to print \(int\)"),
    ],
)
def test_seeds_of_images_that_are_none(seed: object, ids: object, message: str) -> None:
    with pytest.raises(hardy.InputError, match=message):
        hardy.corrupt(BATCH, "fog", 3, seed=seed, ids=ids)


def test_each_image_may_have_its_seed() -> None:
    """The order is free, and ids may be equal where the seeds differ."""
    seeds, ids = [5, 2**64 - 1, 5], [7, 7, "cat"]
    made = hardy.corrupt(BATCH, "gaussian_noise", 3, seed=seeds, ids=ids)
    for place, (seed, name) in enumerate(zip(seeds, ids, strict=True)):
        alone = hardy.corrupt(BATCH[place], "gaussian_noise", 3, seed=seed, ids=name)
        np.testing.assert_array_equal(made[place], alone)
    for same in (np.array([4, 4, 4]), (4, 4, 4)):
        expected = hardy.corrupt(BATCH, "fog", 2, seed=4)
        np.testing.assert_array_equal(hardy.corrupt(BATCH, "fog", 2, seed=same), expected)
    assert hardy.corrupt(BATCH[:0], "fog", 2, seed=[]).shape == (0, 16, 16, 3)


@pytest.mark.parametrize(
    ("edition", "message"),
    [
        ("225", 'unknown edition "225"; did you mean "22'),
        (224, 'expected an edition such as "224" or "auto", got 224'),
        (None, "expected an edition"),
    ],
)
def test_editions_that_are_none(edition: object, message: str) -> None:
    with pytest.raises(hardy.InputError, match=message):
        hardy.corrupt(RGB, "fog", 3, edition=edition)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([0, 1], "expected one id per image, 3 in all, got 2; leave ids out"),
        ([], "expected one id per image, 3 in all, got 0"),
        (range(4), "3 in all, got 4"),
        ("cat", "3 in all, got 1"),
        (7, "3 in all, got 1"),
        ([1, 2, 1], "expected a different id for each image, got 1 twice"),
        (["a", "b", "a"], "got 'a' twice; equal ids would give equal randomness"),
        ([0, 1, -2], r"name or an int from 0 to 2\*\*64 - 1, got -2 \(int\)"),
        ([0, 1, 2**64], r"name or an int from 0 to 2\*\*64 - 1, got 18446744073709551616"),
        ([0, 1, 2.0], r"got 2.0 \(float\)"),
        (np.array([0.0, 1.0, 2.0]), r"got 0.0 \(float\)"),
        (np.array([True, False, True]), r"got True \(bool\)"),
        ([0, 1, True], r"got True \(bool\)"),
        ([0, 1, None], r"got None \(NoneType\)"),
        (np.arange(6).reshape(3, 2), r"got \[0, 1\] \(list\)"),
        (b"cat", r"expected ids in a list or array.*got b'cat' \(bytes\)"),
        ({0, 1, 2}, r"expected ids in a list or array.*\(set\)"),
        (["a", "b", "\ud800"], "expected ids in Unicode"),
    ],
)
def test_ids_that_are_none(ids: object, message: str) -> None:
    with pytest.raises(hardy.InputError, match=message):
        hardy.corrupt(BATCH, "fog", 3, ids=ids)


def test_ids_of_one_image() -> None:
    alone = hardy.corrupt(RGB, "gaussian_noise", 3, ids="cat")
    for ids in (["cat"], ("cat",), np.array(["cat"])):
        np.testing.assert_array_equal(hardy.corrupt(RGB, "gaussian_noise", 3, ids=ids), alone)
    with pytest.raises(hardy.InputError, match="1 in all, got 2"):
        hardy.corrupt(RGB, "gaussian_noise", 3, ids=["cat", "dog"])


def test_ids_are_64_bits() -> None:
    assert image_ids([2**64 - 1, 0]).tolist() == [2**64 - 1, 0]
    assert image_ids(np.array([2**64 - 1], np.uint64)).tolist() == [2**64 - 1]
    assert image_ids(None, 3).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ((7, 16), "expected sides of at least 8 pixels, got"),
        (16, "expected a size .* of two ints, got 16"),
        ((16, 16, 3), "expected a size"),
        ((16.0, 16), "expected a size"),
    ],
)
def test_sizes_that_are_none(size: object, message: str) -> None:
    with pytest.raises(hardy.InputError, match=message):
        hardy.draw("fog", 3, size)


def test_the_door_guards_both_functions() -> None:
    with pytest.raises(hardy.InputError, match="float32"):
        hardy.corrupt(RGB.astype(np.float32), "fog", 3)
    with pytest.raises(hardy.InputError, match="channels go last"):
        hardy.replay(np.moveaxis(RGB, -1, 0), "fog", 3, {})


@pytest.mark.parametrize(
    ("name", "fields", "message"),
    [
        ("shot_noise", {"count": np.ones((1, 7, 7, 3))}, r"'count' as float64 \(1, 40, 48, 3\)"),
        ("gaussian_noise", {"normal": np.ones((1, 1, 1, 1))}, "'normal' as float64"),
        ("gaussian_noise", {"normal": np.full((1, 40, 48, 3), None)}, "got object"),
        ("gaussian_noise", {"nomral": np.ones((1, 40, 48, 3))}, "among word, normal, got 'nomral'"),
        ("contrast", {"word": np.ones((1, 40, 48, 3))}, "among none at all"),
    ],
)
def test_replayed_draws_must_fit(name: str, fields: dict, message: str) -> None:
    with pytest.raises(hardy.InputError, match=message):
        hardy.replay(GREY, name, 1, fields)
