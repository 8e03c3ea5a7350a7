"""The error under corruptions, measured while a net trains: it changes nothing, and is recorded."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import nn

import hardy
from hardy import progress
from hardy.design.designed_suite import suite_toml
from hardy.errors import InputError
from hardy.train import NETS, checkpoint, loop, robust_errors
from hardy.train.hyperparameters import Hyperparameters
from hardy.train.loop import run_training
from hardy.train.measuring import Every
from hardy.train.robust_errors import RobustOn, choose_robust
from hardy.train.run_folder import MEASURED, read_log
from hardy.train.training_data import read_data
from tests.train.small import CPU, write_arrays
from tests.train.test_loop import killed_in, same, weights
from tests.train.tiny import tiny_net

SMALL = {"net": "tiny", "epochs": 3, "batch": 24, "device": "cpu"}


@pytest.fixture
def arrays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict:
    """`set.npz` to train with, `held.npz` to measure with, and a suite of two corruptions."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(NETS._objects, "tiny", lambda classes, halving: tiny_net(classes))
    monkeypatch.setattr(robust_errors, "_POINTS", 8.0)
    write_arrays(tmp_path, side=32)
    draws = np.random.default_rng(1)
    labels = np.arange(400) % 3
    images = draws.integers(0, 86, (400, 32, 32, 3)) + 85 * labels[:, None, None, None]
    np.savez("held.npz", images=images.clip(0, 255).astype(np.uint8), labels=labels)
    Path("two.toml").write_text(suite_toml("cifar10_c", "two", ["contrast", "brightness"], "x"))
    return {"data": "set.npz", "validation": "held.npz", **SMALL}


def test_nothing_changes_and_the_log_has_it(arrays) -> None:
    plain = hardy.train("gauss_single", out="plain", **arrays)
    made = hardy.train("gauss_single", out="out", robust="two.toml", **arrays)
    weights = [load_file(f"{out}/model.safetensors") for out in ("plain", "out")]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    timed = ("seconds", "images_per_second")
    for one, other in zip(plain.log, made.log, strict=True):
        assert all(one[name] == other[name] for name in one if name not in timed)
    last = made.log[-1]
    assert 0 <= last["robust_error_low"] <= last["robust_error"] <= last["robust_error_high"] <= 1
    assert last["robust_error_high"] - last["robust_error_low"] <= 0.17
    run = hardy.evaluate(
        "hardy:out", suite="two.toml", images="held.npz", own_classes=True, classes=3
    )
    whole = run.score()["mean error"].value / 100
    assert abs(last["robust_error"] - whole) < 0.15
    with open("out/log.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["robust_error"]) for row in rows] == [row["robust_error"] for row in made.log]
    record = json.loads(Path("out/run.json").read_text())["robust"]
    assert (record["suite"], record["until"]) == ("two", 8.0)
    assert {path.name for path in Path("out").glob("*")} == {
        "log.csv",
        "log.jsonl",
        "model.safetensors",
        "run.json",
    }
    assert not Path("out/.robust").exists()
    assert hardy.train("gauss_single", out="out", robust="two.toml", **arrays).log == made.log


def test_every_second_epoch_and_the_last(arrays, run, monkeypatch) -> None:
    monkeypatch.setattr(progress, "PAUSE", 0)
    words = [word for name, value in arrays.items() for word in (f"--{name}", str(value))]
    code, out, err = run(
        *("train", "standard", *words, "--out", "out", "--robust", "two.toml", "--every", "2")
    )
    assert code == 0, err
    rows = [json.loads(line) for line in Path("out/log.jsonl").read_text().splitlines()]
    assert ["robust_error" in row for row in rows] == [False, True, True]
    assert ["validation_accuracy" in row for row in rows] == [False, True, True]
    assert Path("out/log.csv").read_text().splitlines()[1].endswith(",,,,")
    told = r"epoch 2 of 3: .* right of 400 validation images, error under .* \d+\.\d ± \d\.\d %; ab"
    assert re.search(told, out)
    assert re.search(r"of the validation images are right, \d+\.\d % under two.toml", out)
    assert re.search(r"epoch 1 of 3: .* right of \d+ training images", out)


def test_a_resumed_run_measures_what_is_left(arrays, monkeypatch) -> None:
    monkeypatch.setattr(loop, "SAVE_SECONDS", 0.0)
    whole = loop.Training.run_epoch

    def stopped(training, track) -> None:
        if training.epoch == 1:
            raise KeyboardInterrupt
        whole(training, track)

    with monkeypatch.context() as patch:
        patch.setattr(loop.Training, "run_epoch", stopped)
        with pytest.raises(KeyboardInterrupt):
            hardy.train("standard", out="out", robust="two.toml", **arrays)
    cut = hardy.train("standard", out="out", robust="two.toml", **arrays)
    unbroken = hardy.train("standard", out="unbroken", robust="two.toml", **arrays)
    assert [row["robust_error"] for row in cut.log] == [row["robust_error"] for row in unbroken.log]


class Forgetful(nn.Module):
    """It draws random numbers while it trains, and has a batch norm: both could be disturbed."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(tiny_net(classes), nn.Dropout(0.5), nn.Linear(classes, classes))

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        return self.layers(pixels)


@pytest.mark.filterwarnings("ignore:forgetful:UserWarning")
@pytest.mark.parametrize("average", [0.0, 0.9])
def test_measured_within_epochs_nothing_changes(arrays, monkeypatch, average) -> None:
    """And a run that is stopped in between goes on, to the same weights and figures."""
    monkeypatch.setitem(NETS._objects, "forgetful", lambda classes, halving: Forgetful(classes))
    monkeypatch.setattr(checkpoint, "WITHIN_SECONDS", 0.0)
    data, held = (read_data(f"{name}.npz", CPU) for name in ("set", "held"))
    recipe = Hyperparameters(net="forgetful", epochs=2, batch=24, deterministic=True, ema=average)
    watched = {
        "validation": held,
        "robust": RobustOn("two.toml", "held.npz"),
        "every": Every(seconds=0.0),
    }
    run_training("gauss_single", data, Path("plain"), recipe)
    log = run_training("gauss_single", data, Path("out"), recipe, **watched).log
    assert same(weights(Path("plain")), weights(Path("out")))
    assert [row.get("step") for row in log] == [1, 2, None, 1, 2, None]
    assert [row["epoch"] for row in log] == pytest.approx([1 / 3, 2 / 3, 1, 4 / 3, 5 / 3, 2])
    assert all(row.keys() >= set(MEASURED) for row in log)
    with open("out/log.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["step"] for row in rows] == ["1", "2", "", "1", "2", ""]
    assert read_log(Path("out")) == log
    with pytest.raises(KeyboardInterrupt):
        run_training("gauss_single", data, Path("cut"), recipe, track=killed_in(2), **watched)
    cut = run_training("gauss_single", data, Path("cut"), recipe, **watched)
    assert same(weights(Path("plain")), weights(Path("cut")))
    figures = ("epoch", "loss", *MEASURED)
    assert [[row[name] for name in figures] for row in cut.log] == [
        [row[name] for name in figures] for row in log
    ]


def test_epochs_alone_have_rows_where_it_is_measured_after_epochs(arrays) -> None:
    log = hardy.train("standard", out="out", every="9m", **arrays).log
    assert [row["epoch"] for row in log] == [1, 2, 3]
    assert ["validation_accuracy" in row for row in log] == [False, False, True]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (("cifar10_c", None, None), "expected `validation` images for `robust`"),
        (("cifar10_c", "held.npz", "clahe"), "without the filter clahe of `input`"),
        (("cifar10_p", "held.npz", None), "expected a suite of corruptions as `robust`, got cifar"),
        (("cifar10c", "held.npz", None), "unknown suite"),
    ],
)
def test_what_cannot_be_measured(asked, message) -> None:
    with pytest.raises(InputError, match=message):
        choose_robust(*asked)


def test_known_data_sets_bring_their_test_part() -> None:
    found = choose_robust("cifar10_c", "cifar10", None)
    assert found is not None
    assert found.images == "cifar10:test"
