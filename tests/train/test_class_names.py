"""A net knows classes by their number: the images of a test must number them as in training."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from hardy import evaluate
from hardy.errors import InputError
from hardy.evaluation import Run
from hardy.train.data import read_data
from hardy.train.loop import train
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
    train("standard", data, tmp_path / "out", replace(NARROW, epochs=1))
    return tmp_path / "out"


def shown(trained: Path, images: Path | str, **options: object) -> Run:
    found = evaluate(
        f"hardy:{trained}",
        suite="cifar10_c",
        images=str(images),
        only="contrast",
        severities=1,
        own_classes=True,
        store=trained.parent / "runs" / Path(images).stem,
        device="cpu",
        warn=lambda text: None,
        **options,
    )
    assert isinstance(found, Run)
    return found


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("a_square", "m_stripe", "z_circle"), 'number 0 of them "circle", got "a_square"'),
        (("circle", "stripe"), 'number 1 of them "square", got "stripe"'),
        (("circle", "square"), "3 of them, got 2"),
    ],
)
def test_images_of_other_classes_are_refused(names, said, trained, tmp_path) -> None:
    others = write_folders(tmp_path / "others", names)
    for defence in (None, "median"):
        with pytest.raises(InputError, match="expected images of the classes that hardy:") as error:
            shown(trained, others, defend=defence)
        assert said in str(error.value)
    assert not (tmp_path / "runs").exists()


def test_the_same_classes_or_numbers_alone_are_taken(trained, tmp_path) -> None:
    assert json.loads((trained / "run.json").read_text())["data"]["names"] == list(NAMES)
    assert len(shown(trained, write_folders(tmp_path / "test", NAMES)).stored.ids) == 12
    numbered = tmp_path / "numbered.npz"
    np.savez(numbered, images=np.zeros((3, 32, 32, 3), np.uint8), labels=np.arange(3))
    assert len(shown(trained, numbered).stored.ids) == 3


def test_a_net_of_before_names_were_recorded(trained, tmp_path) -> None:
    about = json.loads((trained / "run.json").read_text())
    del about["data"]["names"]
    (trained / "run.json").write_text(json.dumps(about))
    assert shown(trained, write_folders(tmp_path / "test", ("a", "b", "c"))).model
    data = read_data(str(tmp_path / "train"), CPU)
    assert train("standard", data, trained, replace(NARROW, epochs=1)).epochs == 0
