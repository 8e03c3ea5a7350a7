from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from hardy.errors import InputError
from hardy.images.labels import imagenet_classes, spoken_class
from hardy.images.recipes import RECIPES
from hardy.models import load_model
from hardy.models.adapters.torch_model import prepared
from tests.models.spoiling import edit
from tests.photos import photos, random_images

pytest.importorskip("transformers", reason="Hugging Face's transformers are not installed")
pytestmark = pytest.mark.usefixtures("torchvision")

SQUARES = photos(40)
WORDNET = imagenet_classes()
SPELLINGS = tuple((name, spoken_class(name)) for name in WORDNET)
FRUIT = ["apple", "banana", "cherry", "date", "elder"]
FRUITS = tuple((name,) for name in FRUIT)


@pytest.fixture(scope="module", autouse=True)
def folders(torchvision: None) -> Any:
    """Imported late, since transformers import torchvision."""
    from tests.models import hf_folders

    return hf_folders


# Settings that make something square of a square image without cutting from it.
PLAIN: dict[str, tuple[str, dict[str, Any]]] = {
    "a number is both sides": ("ViTImageProcessor", {"size": 48, "resample": 2}),
    "height and width": (
        "ViTImageProcessor",
        {"size": {"height": 24, "width": 24}, "resample": 3, "image_mean": [0.1, 0.2, 0.3]},
    ),
    "an old name": (
        "",
        {"feature_extractor_type": "ViTFeatureExtractor", "size": 24, "resample": 0},
    ),
    "a list": ("ViTImageProcessor", {"size": [32, 32], "resample": 2}),
    "the shortest edge": (
        "CLIPImageProcessor",
        {"size": {"shortest_edge": 32}, "do_center_crop": False, "do_normalize": False},
    ),
    "between two edges": (
        "ViTImageProcessor",
        {"size": {"shortest_edge": 32, "longest_edge": 64}, "resample": 2},
    ),
    "no resize": ("ViTImageProcessor", {"do_resize": False}),
    "levels 0..255": (
        "ViTImageProcessor",
        {"size": 32, "do_rescale": False, "image_mean": [127.0] * 3, "image_std": [64.0] * 3},
    ),
    "another factor": ("ViTImageProcessor", {"size": 32, "rescale_factor": 1 / 127.5}),
    "squashed from 384 on": ("ConvNextImageProcessor", {"size": {"shortest_edge": 384}}),
    "EfficientNet's offset": (
        "EfficientNetImageProcessor",
        {"size": 32, "rescale_factor": 1 / 127.5, "rescale_offset": True, "resample": 2},
    ),
    "EfficientNet's second std": (
        "EfficientNetImageProcessor",
        {"size": 32, "image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]},
    ),
    "blue first": (
        "MobileViTImageProcessor",
        {"size": {"shortest_edge": 32}, "do_center_crop": False, "resample": 2},
    ),
    "BEiT's": ("BeitImageProcessor", {"size": 32, "do_center_crop": False}),
}


@pytest.mark.parametrize("case", PLAIN)
def test_logits_are_those_of_the_library(case: str, folders: Any, tmp_path: Path) -> None:
    processor, settings = PLAIN[case]
    folder = folders.save(tmp_path / "m", processor=processor, **settings)
    model = load_model(f"hf:{folder}")
    out = model.logits(SQUARES)
    assert np.ptp(out, axis=0).max() > 0.01, "images are told apart"
    for image, logits in zip(SQUARES, out, strict=True):
        wanted = folders.by_the_library(folder, Image.fromarray(image))
        np.testing.assert_allclose(logits[None], wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("make", ["resnet", "vit", "convnext"])
def test_architectures(make: str, folders: Any, tmp_path: Path) -> None:
    folder = folders.save(tmp_path / "m", getattr(folders, make), size=32, **folders.HALF)
    wanted = folders.by_the_library(folder, Image.fromarray(SQUARES[0]))
    out = load_model(f"hf:{folder}", batch=3).logits(SQUARES)
    np.testing.assert_allclose(out[:1], wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("resample", "side"), [(0, 24), (1, 24), (1, 57), (2, 24), (2, 57), (3, 24), (3, 57)]
)
def test_resizing_is_the_librarys_to_the_byte(
    resample: int, side: int, folders: Any, tmp_path: Path
) -> None:
    folder = folders.save(tmp_path / "m", size=side, resample=resample, **folders.HALF)
    model = load_model(f"hf:{folder}")
    assert model.preprocessing is not None
    ours = prepared(torch.tensor(SQUARES), model.preprocessing) * 127.5 + 127.5
    for image, pixels in zip(SQUARES, ours.permute(0, 2, 3, 1).numpy(), strict=True):
        theirs = folders.pixels_of_library(folder, Image.fromarray(image))
        np.testing.assert_array_equal(np.rint(pixels), theirs)


@pytest.mark.parametrize(
    ("processor", "settings"),
    [
        ("ConvNextImageProcessor", {"size": {"shortest_edge": 224}, "crop_pct": 0.875}),
        ("ConvNextImageProcessor", {"size": 224, "crop_pct": 0.875}),
        ("BitImageProcessor", {"size": {"shortest_edge": 256}, "crop_size": 224}),
        ("LevitImageProcessor", {"size": {"shortest_edge": 224}, "crop_size": 224}),
    ],
)
def test_a_whole_photograph_is_cropped_by_the_suite(
    processor: str, settings: dict[str, Any], folders: Any, tmp_path: Path
) -> None:
    """Where a model was tested as ImageNet's recipe has it, all is the library's, but where half a
    pixel is to be cut off: there the library begins one pixel further left or up."""
    folder = folders.save(
        tmp_path / "m", processor=processor, resample=2, **settings, **folders.IMAGENET
    )
    model = load_model(f"hf:{folder}")
    assert model.preprocessing is not None
    assert model.preprocessing.size == 224
    assert "its crop is left to the suite" in str(model.preprocessing)
    photo = Image.fromarray(photos(320, 480)[0])
    square = RECIPES["resize256_crop224@1"].prepare(photo)
    np.testing.assert_array_equal(square, folders.pixels_of_library(folder, photo))
    wanted = folders.by_the_library(folder, photo)
    np.testing.assert_allclose(model.logits(square[None]), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["caffe", "unit"])
def test_a_named_preprocessing_decides_which_colour_is_first(
    name: str, folders: Any, tmp_path: Path
) -> None:
    own = {"size": {"shortest_edge": 32}, "do_center_crop": False, "do_resize": False}
    folder = folders.save(tmp_path / "m", processor="MobileViTImageProcessor", **own)
    model = load_model(f"hf:{folder}", preprocessing=name)
    pixels = SQUARES / 255
    if name == "caffe":
        pixels = SQUARES[..., ::-1] - np.array([103.939, 116.779, 123.68])
    wanted = folders.of_pixels(folder, pixels)
    np.testing.assert_allclose(model.logits(SQUARES), wanted, rtol=1e-4, atol=1e-4)
    plain = load_model(f"hf:{folder}")
    assert ", blue first (preprocessor_config.json" in str(plain.preprocessing)
    edit(folder / "preprocessor_config.json", do_flip_channel_order=False)
    assert load_model(f"hf:{folder}").identity != plain.identity


def test_what_is_left_to_defaults_or_done_otherwise_is_said(folders: Any, tmp_path: Path) -> None:
    folder = folders.save(tmp_path / "a", size=32, resample=5)
    said = str(load_model(f"hf:{folder}").preprocessing)
    assert "which lacks image_mean and image_std: ViTImageProcessor's own" in said
    assert "with bicubic resizing for Pillow's filter 5" in said
    assert "mean 0.5 0.5 0.5, std 0.5 0.5 0.5" in said
    plain = folders.save(tmp_path / "b", size=32, **folders.HALF)
    assert str(load_model(f"hf:{plain}").preprocessing).endswith("(preprocessor_config.json)")


SYNSETS = [f"{spoken_class(name)}, Genus speciesii" for name in WORDNET]
SYNSETS[134] = "crane"  # as published: it is the word for both
ORDERS: dict[str, list[str]] = {
    "words": SYNSETS,
    "WordNet names": list(WORDNET),
    "both": [f"{name} {spoken_class(name)}" for name in WORDNET],
    "underscores": [spoken_class(name).replace(" ", "_") for name in WORDNET],
    "a few unknown": ["strange", *SYNSETS[1:]],
}


@pytest.mark.parametrize("case", ORDERS)
@pytest.mark.parametrize("moved", [False, True])
def test_classes_are_put_into_the_images_order(
    case: str, moved: bool, folders: Any, tmp_path: Path
) -> None:
    places = np.random.default_rng(0).permutation(1000) if moved else np.arange(1000)
    folder = folders.save(tmp_path / "m", labels=[ORDERS[case][place] for place in places], size=32)
    if moved and case in ("words", "a few unknown"):
        message = r"cannot be matched by name \(.*(crane|strange).*write WordNet names"
        with pytest.raises(InputError, match=message):
            load_model(f"hf:{folder}", classes=SPELLINGS)
        return
    model: Any = load_model(f"hf:{folder}", classes=SPELLINGS)
    assert model.facts.class_names == WORDNET
    wanted = folders.by_the_library(folder, Image.fromarray(SQUARES[0]))[0]
    out = model.logits(SQUARES[:1])[0]
    np.testing.assert_allclose(out[places], wanted, rtol=1e-4, atol=1e-4)
    order = "in another order, matched by name" if moved else "in the images' order by name"
    assert f"ResNetForImageClassification, 1,000 classes, {order}" in model.facts.found


def test_other_lists_of_classes(folders: Any, tmp_path: Path) -> None:
    def load(name: str, labels: list[str] | None, **how: Any) -> Any:
        return load_model(f"hf:{folders.save(tmp_path / name, labels=labels, size=32)}", **how)

    unnamed = load("a", None, classes=FRUITS).facts
    assert unnamed.class_names is None
    assert "5 classes without names, taken in the order of the images'" in unnamed.found
    assert load("b", FRUIT).facts.class_names == tuple(FRUIT)
    others = list("vwxyz")
    assert load("c", others, classes=FRUITS).facts.class_names == tuple(others)
    behind = load("d", ["background", *FRUIT], classes=FRUITS)
    assert behind.facts.class_names == tuple(FRUIT)
    assert "after one for the background, which is left out" in behind.facts.found
    wanted = folders.by_the_library(tmp_path / "d", Image.fromarray(SQUARES[0]))[:, 1:]
    np.testing.assert_allclose(behind.logits(SQUARES[:1]), wanted, rtol=1e-4, atol=1e-4)


def test_identity(folders: Any, tmp_path: Path) -> None:
    one = folders.save(tmp_path / "one", labels=FRUIT, size=32, **folders.HALF)
    same = folders.save(tmp_path / "same", labels=FRUIT, size=32, **folders.HALF)
    first = load_model(f"hf:{one}").identity
    assert load_model(f"hf:{same}", batch=2).identity == first
    in_place = load_model(f"hf:{same}", classes=FRUITS).identity
    assert in_place == first, "the order is the same"
    moved = load_model(f"hf:{same}", classes=FRUITS[::-1]).identity
    larger = folders.save(tmp_path / "larger", labels=FRUIT, size=40, **folders.HALF)
    other = folders.save(tmp_path / "other", folders.vit, labels=FRUIT, size=32, **folders.HALF)
    assert len({first, moved, load_model(f"hf:{larger}").identity}) == 3
    assert load_model(f"hf:{other}").identity != first


def test_how_a_config_is_written_is_no_part_of_the_identity(folders: Any, tmp_path: Path) -> None:
    folder = folders.save(tmp_path / "m", size=32)
    first = load_model(f"hf:{folder}").identity
    path = folder / "config.json"
    said = json.loads(path.read_text())
    said["torch_dtype"] = said.pop("dtype")  # as it was called before
    path.write_text(json.dumps(dict(reversed(said.items()))))
    assert load_model(f"hf:{folder}").identity == first
    path.write_text(json.dumps(said | {"hidden_act": "gelu"}))
    assert load_model(f"hf:{folder}").identity != first


def test_the_command_says_what_it_found(run: Any, folders: Any, tmp_path: Path) -> None:
    labels = ["frog", "truck", *"bcdefghi"]
    ten = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
    folder = folders.save(tmp_path / "m", labels=ten[::-1], size=32, **folders.HALF)
    np.savez("set.npz", images=random_images(40, 32, 32), labels=np.arange(40) % 10)
    rest = ("--suite", "cifar10_c", "--images", "set.npz", "--only", "fog", "--severities", "1")
    code, out, err = run("eval", f"hf:{folder}", *rest, "--store", "runs")
    assert code == 0, err
    assert "std 0.5 0.5 0.5 (preprocessor_config.json)" in out
    assert "ResNetForImageClassification, 10 classes, in another order, matched by name" in out
    folder = folders.save(tmp_path / "seven", labels=labels[:7], size=32)
    code, out, err = run("eval", f"hf:{folder}", *rest, "--store", "runs")
    assert code != 0
    assert "10 classes" in err


def test_it_says_nothing_of_its_own(folders: Any, tmp_path: Path, capfd: Any) -> None:
    from transformers.utils import logging

    folder = folders.save(tmp_path / "m", size=32)
    logging.enable_progress_bar()
    level = logging.get_verbosity()
    capfd.readouterr()
    load_model(f"hf:{folder}").logits(SQUARES)
    assert capfd.readouterr() == ("", "")
    assert (logging.is_progress_bar_enabled(), logging.get_verbosity()) == (True, level)
    logging.disable_progress_bar()
