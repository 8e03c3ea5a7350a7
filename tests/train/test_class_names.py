"""A net knows classes by their number: the images of a test must number them as in training."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from hardy import attack, evaluate
from hardy.errors import InputError
from hardy.scores.scoring import Run
from hardy.train.loop import run_training
from hardy.train.training_data import read_data
from tests.train.small import CPU, NARROW, narrow

__all__ = ["narrow"]

NAMES = ("circle", "square", "stripe")


def write_folders(folder: Path, names: tuple[str, ...]) -> Path:
    for level, name in enumerate(names):
        (folder / name).mkdir(parents=True)
        for number in range(4):
            pixels = np.full((32, 32, 3), 60 * level + number, np.uint8)
            Image.fromarray(pixels).save(folder / name / f"{number}.png")
    return folder


@pytest.fixture
def trained(tmp_path, narrow) -> Path:
    data = read_data(str(write_folders(tmp_path / "train", NAMES)), CPU)
    run_training("standard", data, tmp_path / "out", replace(NARROW, epochs=1))
    return tmp_path / "out"


def shown(trained: Path, images: Path | str, **options: object) -> Run:
    found = evaluate(
        f"hardy:{trained}",
        suite="cifar10_c",
        images=str(images),
        only="contrast",
        severities=1,
        store=trained.parent / "runs" / Path(images).stem,
        device="cpu",
        **{"own_classes": True, "warn": lambda text: None, **options},
    )
    assert isinstance(found, Run)
    return found


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("square", "stripe", "z_circle"), 'with "square" as number 1, which is 0 here'),
        (("circle", "stripe"), 'with "stripe" as number 2, which is 1 here'),
        (("circle", "square"), "on 3 classes, and these images have 2"),
    ],
)
def test_classes_of_other_numbers_are_refused(names, said, trained, tmp_path) -> None:
    others = write_folders(tmp_path / "others", names)
    for defence in (None, "median"):
        with pytest.raises(InputError, match="expected images of the classes that hardy:") as error:
            shown(trained, others, defend=defence)
        assert said in str(error.value)
        assert "bring images of all these classes and no others" in str(error.value)
    assert not (tmp_path / "runs").exists()


def test_forgotten_own_classes_are_named(tmp_path, narrow) -> None:
    """Some of the suite's, which the net has other numbers for than the suite."""
    data = write_folders(tmp_path / "train", ("cat", "dog", "frog"))
    run_training("standard", read_data(str(data), CPU), tmp_path / "out", replace(NARROW, epochs=1))
    assert shown(tmp_path / "out", data).model
    with pytest.raises(InputError, match=r"if these are its own classes, say `own_classes=True`"):
        shown(tmp_path / "out", data, own_classes=False)


def test_classes_of_other_names_are_warned_about(trained, tmp_path) -> None:
    told: list[str] = []
    others = write_folders(tmp_path / "others", ("a_square", "m_stripe", "z_circle"))
    shown(trained, others, warn=told.append)
    assert '"circle" where these images have "a_square": if they are not the same' in told[0]


def test_noise_is_not_fitted_on_other_classes(trained, tmp_path) -> None:
    numbered, told = tmp_path / "numbered.npz", []
    images = np.random.default_rng(0).integers(0, 256, (6, 32, 32, 3), np.uint8)
    np.savez(numbered, images=images, labels=np.arange(6) % 3)

    def attacked(names: tuple[str, ...]) -> None:
        others = write_folders(tmp_path / "".join(names), names)
        attack(f"hardy:{trained}", suite="cifar10_c", images=str(numbered), own_classes=True,
               attack_images=str(others), store=tmp_path / "runs", device="cpu", steps=1,
               warn=told.append)  # fmt: skip

    with pytest.raises(InputError, match=r"was trained with \"circle\" as number 0, which is 1"):
        attacked(("a", "circle", "square"))
    assert not told
    attacked(("a", "b", "c"))
    assert '"circle" where these images have "a"' in told[0]


def test_the_same_classes_or_numbers_alone_are_taken(trained, tmp_path) -> None:
    assert json.loads((trained / "run.json").read_text())["data"]["names"] == list(NAMES)
    assert len(shown(trained, write_folders(tmp_path / "test", NAMES)).stored.ids) == 12
    numbered = tmp_path / "numbered.npz"
    np.savez(numbered, images=np.zeros((3, 32, 32, 3), np.uint8), labels=np.arange(3))
    assert len(shown(trained, numbered).stored.ids) == 3
