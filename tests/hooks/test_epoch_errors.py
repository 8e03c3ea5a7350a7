"""What callbacks do at the end of an epoch, without a training library."""

from __future__ import annotations

import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import hardy
from hardy.errors import InputError
from hardy.hooks.epoch_errors import EpochErrors
from tests.hooks.toys import IMAGES, LABELS, MEAN, SAMPLED, STD, SUITE_SCORES, normalised, small_net

USUAL: dict[str, Any] = {
    "every": 1,
    "at_most": None,
    "mean": MEAN,
    "std": STD,
    "prepare": None,
    "store": None,
    "name": None,
}


def errors(**changed: Any) -> EpochErrors:
    wanted = {**USUAL, **SAMPLED, **changed}
    options = {key: wanted.pop(key) for key in [*wanted] if key not in (*USUAL, "suite", "until")}
    return EpochErrors(wanted.pop("suite"), **wanted, options=options)


class Drawing(torch.nn.Module):
    """A net that draws from every generator there is, in evaluation mode too."""

    def __init__(self) -> None:
        super().__init__()
        self.net = small_net(taught=True)

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        random.random()
        np.random.rand()
        torch.rand(1)
        assert not any(part.training for part in self.modules())
        assert not torch.is_grad_enabled()
        return self.net(pixels)


def test_the_values_are_those_of_an_evaluation(tmp_path: Path) -> None:
    net = small_net(taught=True)
    values = errors().measure(net, 3, tmp_path / "own")
    assert [*values] == [f"{name}{end}" for name in SUITE_SCORES for end in ("", "_low", "_high")]
    preprocessing = hardy.models.Override(mean=MEAN, std=STD)
    run = hardy.evaluate(net, **SAMPLED, store=tmp_path / "plain", preprocessing=preprocessing)
    score = run.score()["mean error"]
    low, high = score.interval
    assert [*values.values()][:3] == pytest.approx([score.value, low, high])
    (stored,) = hardy.runs(tmp_path / "own")
    assert stored.model == "Sequential epoch 003"
    assert stored.score().sampled is not None


def test_the_training_goes_on_as_if_nothing_had_been(tmp_path: Path) -> None:
    net = Drawing().train()
    net.net[3].eval()  # a part that is frozen
    states = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
    errors().measure(net, 1, tmp_path)
    assert states == (
        random.getstate(),
        np.random.get_state()[1].tolist(),
        torch.get_rng_state().tolist(),
    )
    assert [part.training for part in (net, net.net, net.net[3])] == [True, True, False]
    assert all(weight.requires_grad and weight.grad is None for weight in net.parameters())


def test_a_function_prepares_the_pixels(tmp_path: Path) -> None:
    net = small_net(taught=True)
    expected = errors().measure(net, 1, tmp_path / "a")
    prepared = errors(mean=None, std=None, prepare=normalised)
    assert prepared.measure(net, 1, tmp_path / "b") == pytest.approx(expected)
    identities = {run.stored.details["identity"] for run in hardy.runs(tmp_path / "b")}
    otherwise = errors(mean=None, std=None, prepare=lambda pixels: pixels * 2 - 1)
    otherwise.measure(net, 1, tmp_path / "c")
    (other,) = hardy.runs(tmp_path / "c")
    assert other.stored.details["identity"] not in identities


def test_weights_may_be_of_half_precision(tmp_path: Path) -> None:
    net = small_net(taught=True)
    expected = errors().measure(net, 1, tmp_path / "full")
    made = errors().measure(net.bfloat16(), 1, tmp_path / "half")
    assert made["cifar10_c/mean_error"] == pytest.approx(expected["cifar10_c/mean_error"], abs=5)


def test_each_epoch_is_a_run_of_the_store_that_was_named(tmp_path: Path) -> None:
    net, wanted = (
        small_net(taught=True),
        errors(store=tmp_path / "kept", name="net", every=2, workers=1),
    )
    assert [epoch for epoch in range(1, 7) if wanted.due(epoch)] == [2, 4, 6]
    for epoch in (2, 4):
        with torch.no_grad():
            net[2].weight += 0.1
        wanted.measure(net, epoch, tmp_path / "usual")
    models = sorted(run.model for run in hardy.runs(tmp_path / "kept"))
    assert models == ["net epoch 002", "net epoch 004"]
    assert not (tmp_path / "usual").exists()


def test_a_warning_is_told_once(tmp_path: Path) -> None:
    net, wanted = small_net(), errors()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        wanted.measure(net, 1, tmp_path)
    assert caught
    assert all(str(one.message).startswith("Sequential: ") for one in caught)
    with torch.no_grad():
        net[2].weight *= 1.1
        net[2].bias *= 1.1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wanted.measure(net, 2, tmp_path)  # says the same of epoch 2


def in_processes(rank: int, folder: Path) -> None:
    """One of two processes of a training; the second time, the first one's net gives no logits."""
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2
    )
    told: list[Any] = [errors().measure(small_net(taught=True), 1, folder / f"store{rank}")]
    broken = torch.nn.Identity() if rank == 0 else small_net()
    try:
        errors().measure(broken, 2, folder / f"store{rank}")
    except hardy.HardyError as error:
        told.append(str(error))
    torch.save(told, folder / f"{rank}.pt")
    torch.distributed.destroy_process_group()


def test_of_two_processes_the_first_evaluates_and_both_know(tmp_path: Path) -> None:
    context = torch.multiprocessing.get_context("spawn")
    workers = [context.Process(target=in_processes, args=(rank, tmp_path)) for rank in (0, 1)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
        assert worker.exitcode == 0
    first, second = (torch.load(tmp_path / f"{rank}.pt") for rank in (0, 1))
    assert first == second
    assert "Identity epoch 002: expected" in first[1]
    assert not (tmp_path / "store1").exists()


class DTensor(torch.nn.Parameter):
    """A stand-in for weights of which each process has a part."""


def test_a_module_that_is_shared_out_is_refused(tmp_path: Path) -> None:
    net = small_net(taught=True)
    net[2].weight = DTensor(net[2].weight.detach())
    with pytest.raises(InputError, match="each process holds as a whole"):
        errors().measure(net, 1, tmp_path)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"suite": "cifar10_d"}, 'unknown suite "cifar10_d"; did you mean "cifar10_p"'),
        ({"every": 0}, "`every` as a number of epochs, 1 or more, got 0"),
        ({"every": True}, "`every` as a number of epochs, 1 or more, got True"),
        ({"until": -1}, "expected `until` as points above 0"),
        ({"at_most": "soon"}, "at_most"),
        ({"subset": 10}, "`until` without `subset`"),
        ({"mean": None}, r"expected `mean` and `std`.*got std=\(0.25, 0.25, 0.25\)$"),
        ({"mean": None, "std": None}, "expected `mean` and `std`.*got none of them$"),
        ({"prepare": normalised}, r"got mean=.*, std=.*, prepare=<function normalised"),
        ({"mean": 0.5}, "expected `mean` and `std`.*got mean=0.5, std="),
        ({"mean": None, "std": None, "prepare": "imagenet"}, "got prepare='imagenet'$"),
        ({"mean": (125, 120, 110)}, "`mean` in units of 0..1, got 125,120,110"),
        ({"images": "nowhere", "labels": None}, "nowhere"),
        ({"labels": LABELS[:3]}, "one label per image, 400 in all, got 3"),
        ({"images": IMAGES[..., :1]}, "images"),
        ({"only": "fgo"}, 'did you mean "fog"'),
        ({"sevrities": 3}, 'unknown option.*"sevrities"; did you mean "severities"'),
        ({"device": "cuda"}, 'unknown option of `hardy.evaluate` here "device"'),
    ],
)
def test_refusals_come_before_the_training(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        errors(**changed)
