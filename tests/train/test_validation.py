"""Held-out images: their accuracy is shown and recorded after each epoch, and changes no weight."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import hardy
from hardy import progress
from hardy.errors import InputError
from hardy.models import load_model
from hardy.train import loop, training_data
from hardy.train.loop import run_training
from hardy.train.other_images import held_out
from hardy.train.training_data import Data, read_data
from tests.photos import random_images
from tests.train.small import CPU, NARROW, narrow, small_data, write_arrays

__all__ = ["narrow"]

pytestmark = pytest.mark.usefixtures("narrow")

SMALL = {"net": "narrow", "epochs": 2, "batch": 24, "device": "cpu"}


@pytest.fixture
def arrays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`set.npz` to train with, and `held.npz`, whose 50 labels are by chance."""
    monkeypatch.chdir(tmp_path)
    write_arrays(tmp_path)
    labels = np.random.default_rng(2).integers(0, 3, 50)
    np.savez("held.npz", images=random_images(50, 16, 16, seed=3), labels=labels)


@pytest.mark.usefixtures("arrays")
def test_each_epoch_has_the_accuracy_and_the_weights_are_the_same() -> None:
    plain = hardy.train("standard", data="set.npz", out="plain", **SMALL)
    shown = hardy.train("standard", data="set.npz", out="out", validation="held.npz", **SMALL)
    weights = [load_file(f"{out}/model.safetensors") for out in ("plain", "out")]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    held = np.load("held.npz")
    right = load_model("hardy:out").logits(held["images"]).argmax(1) == held["labels"]
    assert shown.log[-1]["validation_accuracy"] == pytest.approx(right.mean())
    assert 0 <= shown.log[0]["validation_accuracy"] <= 1
    with open("out/log.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["validation_accuracy"]) for row in rows] == [
        row["validation_accuracy"] for row in shown.log
    ]
    described, other = (json.loads(Path(out, "run.json").read_text()) for out in ("out", "plain"))
    assert described["validation"] == read_data("held.npz", CPU).sha256
    assert "validation" not in other
    assert tuple(plain.log[0]) == ("epoch", "loss", "lr", "seconds", "images_per_second")
    again = hardy.train("standard", data="set.npz", out="out", validation="held.npz", **SMALL)
    assert again.log == shown.log


@pytest.mark.usefixtures("arrays")
def test_what_is_shown(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PAUSE", 0)
    options = [word for name, value in SMALL.items() for word in (f"--{name}", value)]
    arguments = ("--data", "set.npz", "--out", "out", "--validation", "held.npz", *options)
    code, out, err = run("train", "standard", *arguments)
    assert code == 0
    told = (
        r"epoch 1 of 2: loss \d\.\d{4}, \d+\.\d % right of 50 validation images; about \d+ s left"
    )
    assert re.search(told, out)
    assert re.search(r" after epoch 2, \d+\.\d % of the validation images are right; corr", out)
    (share,) = re.findall(r"\d+\.\d % of the validation images are right", out)
    assert "2 of 3 batches of validation after epoch 1, about" in err
    assert "56 of 64 images read, about" in err
    assert f"out was finished before, {share}\n" in run("train", "standard", *arguments)[1]


@pytest.mark.usefixtures("arrays")
def test_a_resumed_run_goes_on_with_the_same_images(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "SAVE_SECONDS", 0.0)
    whole = loop.Training.run_epoch

    def stopped(training, track) -> None:
        if training.epoch == 1:
            raise KeyboardInterrupt
        whole(training, track)

    def train(validation: str | None, out: str = "out") -> list[float]:
        done = hardy.train("standard", data="set.npz", out=out, validation=validation, **SMALL)
        return [row["validation_accuracy"] for row in done.log]

    with monkeypatch.context() as patch:
        patch.setattr(loop.Training, "run_epoch", stopped)
        with pytest.raises(KeyboardInterrupt):
            train("held.npz")
    for other in (None, "set.npz"):
        with pytest.raises(InputError, match="out holds another run: validation is"):
            train(other)
    assert train("held.npz") == train("held.npz", "unbroken")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"images": torch.zeros(4, 8, 8, 3).byte()}, r"validation images of the shape of the oth"),
        ({"classes": 4}, "expected validation images of the classes of the others, 3, got 4"),
        ({"input": "clahe"}, "expected validation images of the input of the others, None, got"),
        ({"names": ("a", "c", "b")}, "label 1 is 'b', got 'c'; name the classes alike, or bring"),
    ],
)
def test_images_of_another_kind_are_refused(tmp_path, changed, message) -> None:
    data = replace(small_data(tmp_path), names=("a", "b", "c"))
    with pytest.raises(InputError, match=message):
        run_training(
            "standard", data, tmp_path / "out", NARROW, validation=replace(data, **changed)
        )
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("arrays")
def test_images_without_labels_are_refused_before_any_are_read(monkeypatch) -> None:
    np.save("bare.npy", random_images(5, 16, 16, seed=3))
    monkeypatch.setattr(training_data, "read_data", lambda *_, **__: pytest.fail("images read"))
    with pytest.raises(InputError, match=r"bare\.npy: expected validation images with their label"):
        hardy.train("standard", data="set.npz", out="out", validation="bare.npy", **SMALL)


def test_a_few_images_may_lack_the_last_class(tmp_path) -> None:
    data = small_data(tmp_path)
    few: Data = replace(data, images=data.images[:2], labels=data.labels[:2], classes=2)
    assert held_out(few, data).classes == 3
    with pytest.raises(InputError, match="classes of the others, 3, got 2"):
        held_out(replace(few, names=("a", "b")), data)


@pytest.mark.usefixtures("arrays")
def test_a_known_data_set_brings_its_test_part(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []

    def record(where: str, **options: object) -> None:
        opened.append(where)
        raise InterruptedError

    monkeypatch.setattr(training_data, "open_images", record)
    for part in ("train", "test"):
        with pytest.raises(InterruptedError):
            read_data("cifar10", CPU, part=part)
    assert opened == ["cifar10:train", "cifar10:test"]
