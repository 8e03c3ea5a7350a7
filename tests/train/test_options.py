"""Options of the loop: each does what it says, and resumes to the same weights."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
import torch

from hardy.errors import InputError
from hardy.train import loop
from hardy.train.averaging import Average
from hardy.train.hyperparameters import ADDED, Hyperparameters, learning_rate
from hardy.train.loop import Training, run_training
from hardy.train.method import Draw, as_labels, as_shares, make_method
from hardy.train.softening import mix_neighbours
from tests.train.small import CPU, NARROW, narrow, small_data
from tests.train.test_loop import FEW, killed_in, same, weights
from tests.train.tiny import bytes_of, linear_net, tiny_net

__all__ = ["narrow"]

pytestmark = pytest.mark.usefixtures("narrow")
ALL = {"label_smoothing": 0.1, "mixup": 0.4, "warmup": 0.5, "ema": 0.9, "accumulate": 2}


@pytest.fixture(autouse=True)
def _save_every_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "SAVE_SECONDS", 0.0)


# Those that use labels otherwise than by cross-entropy.
@pytest.mark.parametrize("method", ["ant", "alp", "groupwise_inhibition"])
def test_all_at_once_resume_to_the_same_weights(method, tmp_path) -> None:
    data, recipe = small_data(tmp_path), replace(NARROW, deterministic=True, **ALL)
    settings = FEW.get(method)
    run_training(method, data, tmp_path / "whole", recipe, settings=settings)
    with pytest.raises(KeyboardInterrupt):
        run_training(method, data, tmp_path / "cut", recipe, settings=settings, track=killed_in(2))
    run_training(method, data, tmp_path / "cut", recipe, settings=settings)
    assert same(weights(tmp_path / "whole"), weights(tmp_path / "cut"))


@pytest.mark.parametrize("name", ALL)
def test_each_changes_the_net_and_is_recorded(name, tmp_path) -> None:
    data = small_data(tmp_path)
    run_training("standard", data, tmp_path / "plain", NARROW)
    run_training("standard", data, tmp_path / "other", replace(NARROW, **{name: ALL[name]}))
    assert not same(weights(tmp_path / "plain"), weights(tmp_path / "other"))
    recorded = json.loads((tmp_path / "other/run.json").read_text())["recipe"]
    assert recorded[name] == ALL[name]


def test_a_record_from_before_them_resumes(tmp_path) -> None:
    data, out = small_data(tmp_path), tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        run_training("standard", data, out, NARROW, track=killed_in(2))
    record = json.loads((out / "run.json").read_text())
    del record["sha256"]
    for name in ADDED:
        del record["recipe"][name]
    (out / "run.json").write_text(json.dumps(record))
    (out / "checkpoint.safetensors").unlink()  # it knows its record by a hash
    with pytest.raises(InputError, match=r"recipe.mixup is 0.2 and was 0.0"):
        run_training("standard", data, out, replace(NARROW, mixup=0.2))
    assert run_training("standard", data, out, NARROW).epochs == 2


def test_parts_add_up_to_the_batch(tmp_path, monkeypatch) -> None:
    """One step of 3 parts is the step of the whole batch, for a net without batch norm."""
    made = []
    for parts in (1, 3):
        hyper = replace(NARROW, accumulate=parts, batch=64, epochs=1)
        monkeypatch.setattr(loop, "make_net", lambda *_: linear_net(768))
        training = Training(make_method("standard"), small_data(tmp_path), hyper, CPU)
        training.run_epoch(lambda steps, total, unit: steps)
        made.append([training.log[0]["loss"], *training.net[1].bias.tolist()])
    assert made[0] == pytest.approx(made[1], rel=1e-5)


def test_the_learning_rate_rises_first() -> None:
    hyper = Hyperparameters(lr=1.0, epochs=10, schedule="step", warmup=2)
    rates = [learning_rate(hyper, step, 100) for step in (0, 9, 19, 20, 32)]
    assert rates == pytest.approx([0.05, 0.5, 1, 1, 1])


def test_the_learning_rate_drops_after_epochs() -> None:
    hyper = Hyperparameters(lr=1.0, epochs=10, schedule="step", drops=(3, 9))
    rates = [learning_rate(hyper, step, 100) for step in (0, 29, 30, 89, 90)]
    assert rates == pytest.approx([1, 1, 0.1, 0.1, 0.01])


def test_shares_of_classes() -> None:
    labels = torch.tensor([2, 0])
    shares = as_shares(labels, 4, 0.2)
    assert shares[0].tolist() == pytest.approx([0.05, 0.05, 0.85, 0.05])
    assert torch.equal(as_labels(shares), labels)
    assert as_labels(labels) is labels


def test_mixtures_of_neighbours() -> None:
    images, shares = bytes_of(3), as_shares(torch.tensor([0, 1, 2]), 3)
    mixed, theirs = mix_neighbours(images, shares, 0.75)
    expected = 0.75 * images[1].double() + 0.25 * images[0].double()
    assert (mixed[1].double() - expected).abs().max() <= 0.5
    assert theirs[1].tolist() == pytest.approx([0.25, 0.75, 0])
    assert mixed.dtype == torch.uint8


def test_a_part_hangs_on_seed_and_step_alone() -> None:
    parts = [Draw(0, CPU).beta(0.2, step) for step in range(200)]
    assert parts[7] == Draw(0, CPU).beta(0.2, 7) != Draw(1, CPU).beta(0.2, 7)
    assert all(0 <= part <= 1 for part in parts)
    assert sum(min(part, 1 - part) < 0.05 for part in parts) > 80  # α = 0.2 mixes little


def test_the_average_follows() -> None:
    net = tiny_net()
    average = Average(net, 0.9)
    first = net[0].bias.detach().clone()
    with torch.no_grad():
        net[0].bias += 1
        net[1].num_batches_tracked += 5
    average.follow(1000)
    assert torch.allclose(average.net[0].bias, first + 0.1)
    assert average.net[1].num_batches_tracked == 5
    average.follow(0)  # the first steps look back less far
    assert torch.allclose(average.net[0].bias, first + 0.91)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label_smoothing": 1.0}, "`label_smoothing` from 0 to below 1, got 1.0"),
        ({"ema": math.nan}, "expected `ema` from 0 to below 1, got nan"),
        ({"mixup": -1.0}, r"expected `mixup` from 0 to 1000.0, got -1.0"),
        ({"warmup": 100.0}, "expected `warmup` from 0 to below the 100 epochs, got 100.0"),
        ({"accumulate": 0}, "expected `accumulate` from 1 to the batch of 128, got 0"),
        ({"drops": (3,)}, '`drops` with the `schedule` "step", got cosine'),
        ({"drops": (6, 3), "schedule": "step"}, "numbers of epochs that rise, got 6,3"),
        ({"accumulate": 129}, "expected `accumulate` from 1 to the batch of 128, got 129"),
    ],
)
def test_options_that_cannot_be(change, message) -> None:
    with pytest.raises(InputError, match=message):
        Hyperparameters(**change)
