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

import hardy
from hardy import progress
from hardy.design.designed_suite import suite_toml
from hardy.errors import InputError
from hardy.train import NETS, loop, robust_errors
from hardy.train.robust_errors import Every, choose_robust, read_every
from hardy.train.run_folder import MEASURED, check_log
from tests.train.small import write_arrays
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
    assert re.search(r"of the validation images are right, \d+\.\d% under two.toml", out)
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


def log_of(*seconds: float, measured: tuple[int, ...] = ()) -> list[dict[str, float]]:
    rows = []
    for epoch, one in enumerate(seconds, 1):
        row = {"epoch": epoch, "loss": 1.0, "lr": 0.1, "seconds": one, "images_per_second": 1.0}
        rows.append(row | dict.fromkeys(MEASURED, 0.5) if epoch in measured else row)
    return rows


def test_when_it_is_due() -> None:
    assert read_every("30m") == Every(seconds=1800)
    assert read_every(3) == Every(3)
    assert [Every(3).is_due(log_of(*[1] * n), 8) for n in range(1, 9)] == [
        *(False, False, True, False, False, True, False, True)
    ]
    minutes = Every(seconds=100)
    assert not minutes.is_due(log_of(60), 9)
    assert minutes.is_due(log_of(60, 60), 9)
    assert not minutes.is_due(log_of(60, 60, 60, measured=(2,)), 9)
    assert minutes.is_due(log_of(60, 60, 60, 60, measured=(2,)), 9)
    assert check_log(log_of(1, 1, measured=(2,)))
    for wrong in ("0", "m", "1.5", "-3", "5h", True):
        with pytest.raises(InputError, match="expected `every` as a number of epochs, 1 or more"):
            read_every(wrong)


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
