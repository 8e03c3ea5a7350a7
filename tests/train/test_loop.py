"""The loop: it learns, resumes to the same weights, and loses nothing."""

from __future__ import annotations

import csv
import errno
import json
import math
import os
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from hardy.errors import HardyError, InputError
from hardy.train import METHODS, loop
from hardy.train.hyperparameters import Hyperparameters, learning_rate
from hardy.train.loop import Training, run_training
from hardy.train.method import Draw, make_method
from hardy.train.methods.noise_baselines import Standard
from hardy.train.training_data import read_data
from tests.train.small import CPU, NARROW, narrow, small_data, write_arrays

__all__ = ["narrow"]

pytestmark = pytest.mark.usefixtures("narrow")

# So that what they do begins within a few steps.
FEW = {
    "pix_mix": {"fractals": "4"},
    "ant": {"restart_steps": "2"},
    "ant3x3": {"restart_steps": "2"},
    "corrupted": {"suite": "cifar10_c", "corruption": "fog"},
    "groupwise_inhibition": {"start": "1", "every": "2"},
}


@pytest.fixture(autouse=True)
def _save_every_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "SAVE_SECONDS", 0.0)


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model.safetensors")


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def killed_in(epoch: int):
    """Stops in the midst of that epoch, as Ctrl-C does."""

    def track(steps, total, unit):
        for number, step in enumerate(steps):
            if unit.startswith(f"steps of epoch {epoch} ") and number == 1:
                raise KeyboardInterrupt
            yield step

    return track


@pytest.mark.parametrize("method", METHODS)
def test_a_killed_run_resumes_to_the_same_weights(method, tmp_path) -> None:
    data, recipe = small_data(tmp_path), replace(NARROW, epochs=3, deterministic=True)
    settings = FEW.get(method)
    whole = run_training(method, data, tmp_path / "whole", recipe, settings=settings)
    with pytest.raises(KeyboardInterrupt):
        run_training(method, data, tmp_path / "cut", recipe, settings=settings, track=killed_in(3))
    assert not (tmp_path / "cut/model.safetensors").exists()
    resumed = run_training(method, data, tmp_path / "cut", recipe, settings=settings)
    assert (whole.epochs, resumed.epochs) == (3, 1)
    assert same(weights(tmp_path / "whole"), weights(tmp_path / "cut"))
    assert [row["loss"] for row in whole.log] == [row["loss"] for row in resumed.log]
    assert not torch.are_deterministic_algorithms_enabled()


@pytest.mark.parametrize("method", METHODS)
def test_settings_stay_those_that_were_asked_for(method, tmp_path) -> None:
    """Whatever else a method is told: of some, that may be the name of a setting."""
    asked = make_method(method, FEW.get(method))
    before = asked.described()
    Training(asked, small_data(tmp_path), NARROW, CPU)
    assert asked.described() == before


@pytest.mark.parametrize("method", [name for name in METHODS if name != "standard"])
def test_each_method_acts_in_so_short_a_run(method, tmp_path) -> None:
    """Else it would resume to the same weights whatever it forgets."""
    data, recipe = small_data(tmp_path), replace(NARROW, epochs=1)
    run_training("standard", data, tmp_path / "standard", recipe)
    run_training(method, data, tmp_path / "out", recipe, settings=FEW.get(method))
    assert not same(weights(tmp_path / "standard"), weights(tmp_path / "out"))


def test_another_seed_is_another_run_and_the_global_generator_is_left_alone(tmp_path) -> None:
    data = small_data(tmp_path)
    before = torch.random.get_rng_state()
    for seed in (0, 1):
        run_training("standard", data, tmp_path / str(seed), replace(NARROW, epochs=1, seed=seed))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert not same(weights(tmp_path / "0"), weights(tmp_path / "1"))


def test_the_generators_of_gpus_are_left_alone(tmp_path, monkeypatch) -> None:
    seeds: list[int] = []
    monkeypatch.setattr(torch.cuda, "manual_seed_all", seeds.append)
    run_training("standard", small_data(tmp_path), tmp_path / "out", replace(NARROW, epochs=1))
    assert not seeds


def test_it_learns_and_says_how(tmp_path) -> None:
    out = tmp_path / "out"
    recipe = replace(NARROW, epochs=6, batch=16)
    log = run_training(
        "gauss_mult", small_data(tmp_path), out, recipe, settings={"sigmas": "0.1"}
    ).log
    assert log[-1]["loss"] < 0.6 * math.log(3)
    run = json.loads((out / "run.json").read_text())
    assert run["method"] == {"name": "gauss_mult", "sigmas": [0.1]}
    assert run["seen_corruptions"] == ["gaussian_noise", "noc_gaussian"]
    assert run["recipe"]["net"] == "narrow"
    assert run["data"]["classes"] == 3
    assert run["versions"]["torch"] == version("torch")
    assert sorted(path.name for path in out.iterdir()) == [
        "log.csv", "log.jsonl", "model.safetensors", "run.json",
    ]  # fmt: skip
    lines = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    assert lines == log
    with (out / "log.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["loss"]) for row in rows] == [row["loss"] for row in log]
    assert [row["epoch"] for row in rows] == list("123456")
    again = run_training(
        "gauss_mult", small_data(tmp_path), out, recipe, settings={"sigmas": "0.1"}
    )
    assert again.epochs == 0


def test_weights_to_start_from(tmp_path) -> None:
    data, first = small_data(tmp_path), tmp_path / "first"
    run_training("standard", data, first, replace(NARROW, epochs=1))
    still, file = replace(NARROW, epochs=1, lr=1e-30), first / "model.safetensors"
    run_training("standard", data, tmp_path / "second", still, init=file)
    started, made = weights(first), weights(tmp_path / "second")
    learned = [name for name in made if "running" not in name and "tracked" not in name]
    assert all(torch.equal(started[name], made[name]) for name in learned)
    with pytest.raises(InputError, match=r"another run: init is None and was '\w+…;"):
        run_training("standard", data, tmp_path / "second", still)
    with pytest.raises(InputError, match=r"does not fit the model: .* missing \(blocks.0"):
        run_training(
            "standard", data, tmp_path / "third", replace(still, net="resnet_18"), init=file
        )
    assert not (tmp_path / "third").exists()


def test_mixed_precision_trains_float32_weights(tmp_path) -> None:
    recipe = replace(NARROW, epochs=1, precision="bfloat16")
    for method in ("augmix", "ant"):
        run_training(
            method, small_data(tmp_path), tmp_path / method, recipe, settings=FEW.get(method)
        )
        made = weights(tmp_path / method)
        assert made["stem.weight"].dtype == torch.float32
        assert all(torch.isfinite(tensor).all() for tensor in made.values())


def test_schedules() -> None:
    cosine, step = Hyperparameters(lr=0.1), Hyperparameters(lr=0.1, schedule="step")
    assert learning_rate(cosine, 0, 100) == pytest.approx(0.1)
    assert learning_rate(cosine, 50, 100) == pytest.approx((0.1 + 1e-6) / 2)
    assert learning_rate(cosine, 100, 100) == pytest.approx(1e-6)
    rates = [learning_rate(step, at, 90) for at in (0, 29, 30, 59, 60, 89)]
    assert rates == pytest.approx([0.1, 0.1, 0.01, 0.01, 0.001, 0.001])


class Exploding(Standard):
    def loss(self, model, images, labels):
        self.calls = getattr(self, "calls", 0) + 1
        return super().loss(model, images, labels) * (math.nan if self.calls == 5 else 1)


def test_a_loss_that_is_no_number_stops_and_keeps_the_last_checkpoint(
    tmp_path, monkeypatch
) -> None:
    monkeypatch.setitem(METHODS._objects, "exploding", Exploding)
    message = (
        "no number in epoch 2, step 2 of 3; what was saved after epoch 1 is kept; try, in another "
        "folder, a lower learning rate"
    )
    with pytest.raises(HardyError, match=message):
        run_training("exploding", small_data(tmp_path), tmp_path / "out", NARROW)
    kept = load_file(tmp_path / "out/checkpoint.safetensors")
    assert all(torch.isfinite(tensor.float()).all() for tensor in kept.values())
    assert not (tmp_path / "out/model.safetensors").exists()


def test_a_loss_that_is_no_number_before_anything_was_saved(tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(METHODS._objects, "exploding", Exploding)
    monkeypatch.setattr(loop, "SAVE_SECONDS", math.inf)
    message = (
        "in epoch 2, step 2 of 3; nothing has been saved yet; try a lower learning rate, or milder"
    )
    with pytest.raises(HardyError, match=message):
        run_training("exploding", small_data(tmp_path), tmp_path / "out", NARROW)
    assert not (tmp_path / "out/checkpoint.safetensors").exists()


def test_a_full_disk_keeps_what_was_saved(tmp_path, monkeypatch) -> None:
    data, out = small_data(tmp_path), tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        run_training("standard", data, out, NARROW, track=killed_in(2))
    before = {path.name: path.read_bytes() for path in out.iterdir()}

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(HardyError, match=r"could not be written \(No space left.*resumes"):
            run_training("standard", data, out, NARROW)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    assert run_training("standard", data, out, NARROW).epochs == 1


def test_a_folder_of_something_else_is_refused(tmp_path) -> None:
    data = small_data(tmp_path)
    with pytest.raises(InputError, match="holds other things than a training run; name a folder"):
        run_training("standard", data, tmp_path, NARROW)
    run_training("standard", data, tmp_path / "out", NARROW)
    other = replace(NARROW, lr=0.2)
    with pytest.raises(InputError, match=r"another run: recipe.lr is 0.2 and was 0.05; ask for"):
        run_training("standard", data, tmp_path / "out", other)
    with pytest.raises(InputError, match=r"method.name is 'augmix' and was 'standard'"):
        run_training("augmix", data, tmp_path / "out", NARROW)
    with pytest.raises(InputError, match=r"another run: the images or labels are not those"):
        run_training("standard", small_data(tmp_path / "more", count=65), tmp_path / "out", NARROW)


@pytest.mark.parametrize("content", [b"", b"no tensors at all" * 9])
def test_a_damaged_checkpoint_is_refused(content, tmp_path) -> None:
    data, out = small_data(tmp_path), tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        run_training("standard", data, out, NARROW, track=killed_in(2))
    (out / "checkpoint.safetensors").write_bytes(content)
    with pytest.raises(InputError, match=r"no checkpoint that can be read .*delete it to begin"):
        run_training("standard", data, out, NARROW)


def test_a_damaged_sidecar_is_refused(tmp_path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/run.json").write_text('{"format":')
    with pytest.raises(InputError, match=r"run.json: expected JSON, but .*train anew in another"):
        run_training("standard", small_data(tmp_path), tmp_path / "out", NARROW)
    (tmp_path / "out/run.json").write_text('{"format": 99}')
    with pytest.raises(InputError, match="expected format 1, got 99; update hardy"):
        run_training("standard", small_data(tmp_path), tmp_path / "out", NARROW)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epochs": 0}, "expected epochs from 1 to 1,000,000, got 0"),
        ({"batch": 0}, "expected batch from 1 to 1,000,000, got 0"),
        ({"seed": -1}, "expected a seed from 0 to"),
        ({"lr": math.nan}, "expected a learning rate above 0, got nan"),
        ({"momentum": 1.0}, "expected `momentum` between 0 and 1, got 1.0"),
        ({"weight_decay": -1.0}, "expected a weight decay of at least 0, got -1.0"),
        ({"schedule": "cosin"}, 'unknown schedule "cosin"; did you mean "cosine"'),
        ({"precision": "float16"}, 'unknown precision "float16"; did you mean "bfloat16"'),
    ],
)
def test_recipes_that_cannot_be(change, message) -> None:
    with pytest.raises(InputError, match=message):
        Hyperparameters(**change)


def test_the_same_data_elsewhere_is_the_same_run(tmp_path) -> None:
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        run_training("standard", small_data(tmp_path / "a"), out, NARROW, track=killed_in(2))
    moved = write_arrays(tmp_path / "b")
    assert run_training("standard", read_data(str(moved), CPU), out, NARROW).epochs == 1


def test_weights_that_are_no_numbers_are_not_written(tmp_path, narrow, monkeypatch) -> None:
    """No loss follows the last step that would tell."""
    step = Training._update

    def spoil(self, *arguments) -> None:
        step(self, *arguments)
        with torch.no_grad():
            self.net.head.bias[0] = torch.where(self.rate < 1e-3, math.nan, self.net.head.bias[0])

    monkeypatch.setattr(Training, "_update", spoil)
    monkeypatch.setattr(
        loop, "learning_rate", lambda recipe, step, steps: 0.05 * (step < steps - 1)
    )
    with pytest.raises(HardyError, match=r"no numbers after epoch 2; .* epoch 1 is kept"):
        run_training("standard", small_data(tmp_path), tmp_path / "run", NARROW)
    assert not (tmp_path / "run" / "model.safetensors").exists()


def test_a_finished_run_tells_its_log_again(tmp_path, narrow) -> None:
    data = small_data(tmp_path)
    first = run_training("standard", data, tmp_path / "run", NARROW)
    again = run_training("standard", data, tmp_path / "run", NARROW)
    assert again.epochs == 0
    assert again.log == first.log


def test_the_largest_seed_draws(tmp_path) -> None:
    seeds = (0, 1, 2**64 - 1)
    assert len({float(Draw(seed, CPU).normal(1)) for seed in seeds}) == 3
